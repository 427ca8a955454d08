"""Figures in prose are references: a typed one is a second copy, that nobody corrects with the first.

Names are no figures: 4K and 1M, C4, K5, TP2, versions, dates, times, ids and whatever stands in `code`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from dossier.catalog import Catalog
from dossier.checks.registry import Wrong, record_rule
from dossier.derive.items import compared, known
from dossier.derive.latest import latest
from dossier.derive.references import references
from dossier.derive.walk import Place, prose
from dossier.errors import Severity
from dossier.model.base import Quantity, Range
from dossier.model.finding import Finding
from dossier.model.measurement import Measurement
from dossier.model.workload import Population

_UNITS = {
    "tok/s": r"tok/s|tokens?/s(?:ec(?:ond)?)?|tokens? (?:a|per) second|t/s",
    "req/s": r"req/s|requests? (?:a|per) second",
    "tokens": r"tokens?|tok",
    "requests": r"requests?",
    "ms": r"ms|milliseconds?",
    "s": r"s|sec|seconds?",
    "min": r"min|minutes?",
    "h": r"h|hours?",
    "%": r"%|percent|per cent",
    "points": r"(?:percentage )?points?",
    "GiB": r"GiB", "MiB": r"MiB", "KiB": r"KiB", "TiB": r"TiB", "GB": r"GB", "MB": r"MB", "TB": r"TB",
    "x": r"x|×|times",
    "W": r"W|watts?",
}  # fmt: skip
_NUMBER = r"(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+|0|[1-9][0-9]*)(?:\.[0-9]+)?"
_NAMED = "|".join(f"(?P<u{index}>{form})" for index, form in enumerate(_UNITS.values()))
_BEFORE = r"(?<![\w.,:/#=@-])"
_FIGURE = re.compile(
    rf"{_BEFORE}(?P<sign>[+−±-]?)(?P<number>{_NUMBER})"
    rf"(?:[ \u00a0\u202f-]?(?:{_NAMED})(?![\w/]|-[A-Za-z])|(?![\w%/:]|[.,-]\w))"
)
_FRACTION = re.compile(rf"{_BEFORE}([0-9]{{1,6}})(?:/| of )([0-9]{{1,6}})(?![\w/-]|[.,][0-9])")
_DIGIT = re.compile(r"[0-9]")
_CODE = re.compile(r"(`+)(?:(?!\1)[\s\S])+\1|https?://\S+|\]\([^)\s]*\)")
_QUOTED = {"sources", "discrepancies"}
_BARE_DIGITS = 4
"""A number without a unit is taken for a figure from so many digits on: 206,630, and not 12."""


class _Typed(NamedTuple):
    text: str
    value: Decimal
    unit: str


class _Held(NamedTuple):
    value: Decimal
    unit: str
    reference: str


@lru_cache(maxsize=1024)
def typed_figures(text: str) -> tuple[_Typed, ...]:
    """Every number with a unit, and every long one without, outside of references and code."""
    return tuple(_typed(_plain(text)))


def _typed(plain: str) -> Iterator[_Typed]:
    for match in _FIGURE.finditer(plain) if _DIGIT.search(plain) else ():
        unit = _unit(match)
        digits = sum(c.isdigit() for c in match["number"])
        if unit or (digits >= _BARE_DIGITS and not _is_year(match["number"])):
            value = Decimal(match["number"].replace(",", ""))
            yield _Typed(match[0].strip(), -value if match["sign"] in {"-", "−"} else value, unit)


@lru_cache(maxsize=64)
def _plain(text: str) -> str:
    for match, reference in references(text):
        text = text.replace(match[0], reference.words or "…")
    return _CODE.sub("…", text) if "`" in text or "://" in text or "](" in text else text


def _unit(match: re.Match[str]) -> str:
    return next((name for index, name in enumerate(_UNITS) if match[f"u{index}"]), "")


def _is_year(number: str) -> bool:
    return re.fullmatch(r"(?:19|20)[0-9]{2}", number) is not None


def _held(finding: Finding, catalog: Catalog) -> Iterator[_Held]:
    for measurement in finding.measurements:
        yield from _of_measurement(measurement)
    for population in finding.populations:
        yield from _of_population(population)
    for comparison in finding.comparisons:
        result = compared(comparison, finding, catalog.finding, catalog.metric).difference
        if comparison.stated is not None:
            yield _Held(comparison.stated.signed, comparison.stated.unit, comparison.id)
        if result is not None:
            shown = re.sub(r"[^0-9.]", "", result.text)
            yield _Held(Decimal(shown or "0").copy_sign(result.value), result.unit, comparison.id)


def _of_measurement(measurement: Measurement) -> Iterator[_Held]:
    if isinstance(measurement.value, Quantity):
        yield _Held(measurement.value.value, measurement.value.unit, measurement.id)


_COUNTS = {
    "planned": "requests", "completed": "requests", "failed": "requests", "passed": "requests",
    "prompt_tokens": "tokens", "output_tokens": "tokens", "target_tokens": "tokens", "output_budget": "tokens",
    "reserve_tokens": "tokens",
}  # fmt: skip


def _of_population(population: Population) -> Iterator[_Held]:
    for name, unit in _COUNTS.items():
        value = known(getattr(population, name))
        if isinstance(value, Range):
            yield from (_Held(Decimal(v), unit, f"{population.id}.{name}") for v in {value.low, value.high})
        elif isinstance(value, int):
            yield _Held(Decimal(value), unit, f"{population.id}.{name}")
    if isinstance(duration := known(population.duration), Quantity):
        yield _Held(duration.value, duration.unit, f"{population.id}.duration")


def _same(typed: _Typed, held: _Held) -> bool:
    if not typed.unit:
        return typed.value == held.value and _digits(held.value) >= _BARE_DIGITS
    return typed.unit == held.unit and abs(typed.value) == abs(held.value)


def _digits(value: Decimal) -> int:
    return len(value.as_tuple().digits)


@latest
def _texts(finding: Finding) -> list[tuple[Place, str, tuple[_Typed, ...]]]:
    """Prose in which figures are ours, with those typed; what a source is quoted with is its own.

    Allowed figures are taken out.
    """
    found = []
    for place, text in prose(finding):
        if place[0] not in _QUOTED:
            for allowed in finding.allowed_figures:
                text = text.replace(allowed.text, "…")  # noqa: PLW2901
            found.append((place, text, typed_figures(text)))
    return found


@record_rule("prose/typed-figure", Finding)
def figure_is_a_reference(finding: Finding, catalog: Catalog) -> Iterator[Wrong]:
    """A figure that the finding holds as data stands in prose by reference, or the two will come to disagree."""
    held: list[_Held] | None = None
    for place, text, figures in _texts(finding):
        for typed in figures:
            held = list(_held(finding, catalog)) if held is None else held
            same = next((h for h in held if _same(typed, h)), None)
            if same is not None:
                yield Wrong(place, f"{typed.text!r} is typed, but the finding holds it; write [[{same.reference}]]")
        yield from (Wrong(place, told) for told in _typed_fractions(text, finding))


def _typed_fractions(text: str, finding: Finding) -> Iterator[str]:
    plain = _plain(text)
    for match in _FRACTION.finditer(plain) if _DIGIT.search(plain) else ():
        pair = (int(match[1]), int(match[2]))
        for population in finding.populations:
            if pair in {(known(population.passed), known(population.planned)), _completed(population)}:
                yield f"{match[0]!r} is typed, but the finding holds it; write [[{population.id}]]"
                break


def _completed(population: Population) -> tuple[object, object]:
    return known(population.completed), known(population.planned)


@record_rule("prose/loose-figure", Finding)
def figure_is_held(finding: Finding, catalog: Catalog) -> Iterator[Wrong]:
    """A figure that no record holds has no population, no provenance, and no place where it could be corrected."""
    held: list[_Held] | None = None
    for place, _, figures in _texts(finding):
        for typed in figures:
            held = list(_held(finding, catalog)) if held is None else held
            if typed.unit and not any(_same(typed, h) for h in held):
                told = f"no item holds {typed.text!r}; enter it as a figure and refer to it, or list it in"
                yield Wrong(place, f"{told} `allowed_figures` with the reason", Severity.WARNING)


@record_rule("prose/allowed-figure", Finding)
def allowance_is_used(finding: Finding, _: Catalog) -> Iterator[Wrong]:
    """An allowance for what no text says would silently allow the next figure that looks like it."""
    for index, allowed in enumerate(finding.allowed_figures):
        if not any(allowed.text in text for _, text in prose(finding)):
            told = f"no prose says {allowed.text[:60]!r}; copy the text exactly, or leave the entry out"
            yield Wrong(("allowed_figures", index, "text"), told)
