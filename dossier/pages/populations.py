"""The populations of a finding as tables: one for each measurement class, parts under their whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from dossier.derive.format import number
from dossier.derive.intervals import population_interval
from dossier.derive.items import known
from dossier.model.finding import Finding
from dossier.model.vocabulary import MeasurementClass
from dossier.model.workload import Excluded, Miss, Population
from dossier.pages.fields import Writer, rest
from dossier.pages.markup import figure, html, joined, permalink
from dossier.pages.tables import Grid, Keyed, Labels, grid

EXCLUDED = ("Excluded", "wide")
_TOLD = ("id", "title", "class_", "probe", "suite", "repeat_of", "part_of", "provenance", "misses", "complete_parts")
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
    grid: Grid


def population_groups(writer: Writer, finding: Finding) -> list[Group]:
    """One table a class, in the vocabulary's order; what has no class comes last."""
    by_id = {p.id: p for p in finding.populations}
    members: dict[MeasurementClass | None, list[Population]] = {}
    for population in _nested(finding.populations, by_id):
        members.setdefault(_whole(population, by_id).class_, []).append(population)
    return [Group(c, _grid(writer, members[c], c)) for c in (*MeasurementClass, None) if c in members]


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


def _grid(writer: Writer, populations: list[Population], word: MeasurementClass | None) -> Grid:
    middle = rest(Population, *_TOLD, *_FIRST, *_LAST)
    return grid(
        writer, populations, (*_FIRST, *middle, *_LAST), head=("Population", lambda p: _head(writer, p, word)),
        labels=_LABELS,
        cells={"passed": lambda p: _passed(writer, p), "excluded": lambda p: exclusion(writer, p.excluded)},
    )  # fmt: skip


def _head(writer: Writer, population: Population, word: MeasurementClass | None) -> Markup:
    """What a row is about: its title and id, and all that sets it apart from the rows around it."""
    p = population
    within = html('<span class="dx-quiet" aria-hidden="true">↳</span> ') if p.part_of or p.repeat_of else ""
    marks = [excluded_tag(p.excluded)]
    marks += [html(" %s", writer.word(w)) for w in (p.provenance, p.class_ if p.class_ is not word else None) if w]
    marks += [html('<br><span class="dx-unit">%s</span>', line) for line in _aside(writer, p)]
    return html("%s%s<br>%s%s", within, p.title or p.id, permalink(p.id), joined("", marks))


def _aside(writer: Writer, population: Population) -> Iterator[Markup | str]:
    for label, value in writer.facts(population, ("probe", "suite")):
        yield html("%s: %s", label.lower(), value)
    if population.repeat_of:
        yield html("repeat of %s", writer.item(population.repeat_of, population.repeat_of))
    if population.part_of:
        yield html("part of %s", writer.item(population.part_of, population.part_of))
    if population.complete_parts is not None:
        yield f"its parts {'make up the whole' if population.complete_parts else 'are not the whole'}"


def _passed(writer: Writer, population: Population) -> Markup | Keyed | None:
    """`58/60` with a bar; without a planned count `58 of ?`; the reason where it is not known."""
    passed, planned = known(population.passed), known(population.planned)
    if isinstance(passed, int) and isinstance(planned, int):
        return Keyed(beside(ratio(passed, planned), population_interval(population)), f"{passed}/{planned}")
    return figure(f"{number(passed)}/?") if isinstance(passed, int) else writer.value(population.passed)


def beside(shown: Markup | None, interval: str | None) -> Markup | None:
    """A figure with the interval that so many requests allow under it."""
    return (
        shown if shown is None or interval is None else html('%s<br><span class="dx-unit">%s</span>', shown, interval)
    )


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


def excluded_tag(excluded: Excluded | None) -> Markup:
    """The mark of a row whose figures feed nothing."""
    if excluded is None:
        return Markup()
    return html(' <span class="dx-badge dx-status-no-promotion" title="%s">excluded</span>', excluded.reason.meaning)


def exclusion(writer: Writer, excluded: Excluded | None) -> Markup | None:
    """The reason of an exclusion, what that means, from what it excludes, and its note."""
    if excluded is None:
        return None
    scope = ", ".join(excluded.classes) if excluded.classes else "everything"
    note = writer.prose(excluded.note) if excluded.note else ""
    return html("<p>%s %s. Excluded from %s.</p>%s", writer.word(excluded.reason), excluded.reason.meaning, scope, note)


def misses(writer: Writer, population: Population) -> Grid:
    """The requests of a population that did not pass, one a row; the kind heads the row."""
    return grid(
        writer, population.misses, ("count", *rest(Miss, "kind", "count")), head=("Kind", lambda m: m.kind),
        labels={"count": "Times"},
        cells={"count": lambda m: m.count if m.count != 1 else None},
    )  # fmt: skip
