"""The populations of a finding as tables: one for each measurement class, parts under their whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from dossier.derive.format import number
from dossier.derive.items import known
from dossier.model.finding import Finding
from dossier.model.vocabulary import MeasurementClass
from dossier.model.workload import Excluded, Miss, Population
from dossier.pages.fields import Grid, Labels, Writer, figure, grid, html, rest

EXCLUDED = ("Excluded", "wide")
_HEAD = ("id", "title", "class_", "probe", "suite", "repeat_of", "part_of", "provenance", "misses", "complete_parts")
_FIRST = (
    "arm", "passed", "planned", "completed", "failed", "not_run", "target", "target_tokens", "prompt_tokens",
    "output_tokens", "concurrency", "cache", "thinking", "path", "load", "rate",
)  # fmt: skip
_LAST = ("excluded", "artifact", "note")
_LABELS: Labels = {"prompt_tokens": "Actual prompt tokens", "reserve_tokens": "Reserve", "excluded": EXCLUDED}


@dataclass(frozen=True, slots=True)
class Group:
    """Populations of one class; `word` is None where no class is given."""

    word: MeasurementClass | None
    grid: Grid[Population]


def population_groups(writer: Writer, finding: Finding) -> list[Group]:
    """One table a class, in the vocabulary's order; what has no class comes last."""
    by_id = {p.id: p for p in finding.populations}
    ordered = list(_nested(finding.populations, by_id))
    classes = [c for c in (*MeasurementClass, None) if any(_whole(p, by_id).class_ is c for p in ordered)]
    return [Group(c, _grid(writer, [p for p in ordered if _whole(p, by_id).class_ is c])) for c in classes]


def _nested(populations: Sequence[Population], by_id: dict[str, Population]) -> Iterator[Population]:
    """Each whole or original in file order, its repeats and parts right behind it."""
    below: dict[str, list[Population]] = {}
    for population in populations:
        below.setdefault(_above(population, by_id), []).append(population)
    pending = below.pop("", [])[::-1]
    while pending:
        population = pending.pop()
        yield population
        pending += below.pop(population.id, [])[::-1]
    for left in below.values():
        yield from left


def _above(population: Population, by_id: dict[str, Population]) -> str:
    above = population.part_of or population.repeat_of or ""
    return above if above in by_id else ""


def _whole(population: Population, by_id: dict[str, Population]) -> Population:
    seen: set[str] = set()
    while (above := _above(population, by_id)) and above not in seen:
        seen.add(above)
        population = by_id[above]
    return population


def _grid(writer: Writer, populations: list[Population]) -> Grid[Population]:
    middle = rest(Population, *_HEAD, *_FIRST, *_LAST)
    return grid(
        writer, populations, (*_FIRST, *middle, *_LAST), labels=_LABELS,
        cells={"passed": lambda p: _passed(writer, p), "excluded": lambda p: exclusion(writer, p.excluded)},
    )  # fmt: skip


def _passed(writer: Writer, population: Population) -> Markup | None:
    """`58/60` with a bar; without a planned count `58 of ?`; the reason where it is not known."""
    passed, planned = known(population.passed), known(population.planned)
    if isinstance(passed, int) and isinstance(planned, int):
        return ratio(passed, planned)
    return figure(f"{number(passed)}/?") if isinstance(passed, int) else writer.value(population.passed)


def ratio(passed: int, planned: int) -> Markup:
    """A fraction and its bar."""
    done = round(100 * passed / planned, 2) if planned else 0
    bar = (
        f'<svg class="dx-bar{" dx-bar-full" if passed == planned else ""}" viewBox="0 0 100 6" '
        'preserveAspectRatio="none" aria-hidden="true"><rect class="dx-bar-rest" width="100" height="6"/>'
        f'<rect class="dx-bar-done" width="{done:g}" height="6"/></svg>'
    )
    text = f'<span>{number(passed)}<span class="dx-of">/</span>{number(planned)}</span>'
    return Markup(f'<span class="dx-fig dx-ratio">{text}{bar if planned else ""}</span>')  # noqa: S704  (numbers only)


def exclusion(writer: Writer, excluded: Excluded | None) -> Markup | None:
    """The reason of an exclusion, what that means, from what it excludes, and its note."""
    if excluded is None:
        return None
    scope = Markup(", ").join(excluded.classes) if excluded.classes else "everything"
    note = writer.prose(excluded.note) if excluded.note else ""
    return html("<p>%s %s. Excluded from %s.</p>%s", writer.word(excluded.reason), excluded.reason.meaning, scope, note)


def misses(writer: Writer, population: Population) -> Grid[Miss]:
    """The requests of a population that did not pass, one a row; the kind heads the row."""
    return grid(
        writer, population.misses, ("count", *rest(Miss, "kind", "count")), labels={"count": "Times"},
        cells={"count": lambda m: m.count if m.count != 1 else None},
    )  # fmt: skip
