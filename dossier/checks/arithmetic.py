"""Arithmetic of populations: what a record counts has to add up."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from dossier.catalog import Catalog
from dossier.checks.registry import Wrong, record_rule
from dossier.derive.deltas import half_unit
from dossier.derive.items import known
from dossier.derive.latest import latest
from dossier.errors import Severity
from dossier.model.base import Quantity
from dossier.model.finding import Finding
from dossier.model.vocabulary import Provenance
from dossier.model.workload import Population

_COUNTS = ("planned", "completed", "failed", "not_run", "passed")


def _count(population: Population, name: str) -> int | None:
    value = known(getattr(population, name))
    return value if isinstance(value, int) else None


@latest
def _counts(finding: Finding) -> list[dict[str, int | None]]:
    """The counts that are known, population by population."""
    return [{name: _count(population, name) for name in _COUNTS} for population in finding.populations]


@record_rule("arithmetic/population", Finding)
def population_sum(finding: Finding, _: Catalog) -> Iterator[Wrong]:
    """A request that is neither completed, failed nor not run has been lost from the count."""
    for index, counts in enumerate(_counts(finding)):
        planned, completed, failed, not_run, _passed = counts.values()
        if planned is None:
            continue
        total = sum(v for v in (completed, failed, not_run) if v is not None)
        whole = None not in {completed, failed, not_run}
        if total > planned or (total < planned and whole):
            parts = f"completed {completed or 0} + failed {failed or 0} + not_run {not_run or 0} is {total}"
            yield Wrong(
                ("populations", index, "planned"), f"planned is {planned}, but {parts}; correct the wrong count"
            )


@record_rule("arithmetic/passed", Finding)
def passed_within(finding: Finding, _: Catalog) -> Iterator[Wrong]:
    """Only what was asked and answered can have passed."""
    for index, counts in enumerate(_counts(finding)):
        name = "completed" if counts["completed"] is not None else "planned"
        passed, most = counts["passed"], counts[name]
        if passed is not None and most is not None and passed > most:
            yield Wrong(("populations", index, "passed"), f"passed is {passed}, but only {most} {name}")
    for index, check in enumerate(finding.restoration.checks if finding.restoration else ()):
        good, asked = known(check.passed), known(check.planned)
        if isinstance(good, int) and isinstance(asked, int) and good > asked:
            yield Wrong(("restoration", "checks", index, "passed"), f"passed is {good}, but only {asked} planned")


@record_rule("arithmetic/misses", Finding)
def misses_add_up(finding: Finding, _: Catalog) -> Iterator[Wrong]:
    """What did not pass is listed one by one, so that nobody has to guess which requests failed, and how."""
    for index, (population, counts) in enumerate(zip(finding.populations, _counts(finding), strict=True)):
        passed, completed, planned = counts["passed"], counts["completed"], counts["planned"]
        most = completed if planned is None else planned - (counts["not_run"] or 0)
        if not population.misses or passed is None or most is None:
            continue
        missed = sum(miss.count for miss in population.misses)
        told = f"passed {passed} and {missed} misses make {passed + missed}"
        if passed + missed > most:
            yield Wrong(("populations", index, "misses"), f"{told}, more than the {most} requests that there were")
        elif completed is not None and passed + missed < completed:
            soft = Severity.WARNING if finding.provenance is Provenance.TRANSCRIBED else Severity.ERROR
            yield Wrong(("populations", index, "misses"), f"{told} of {completed} completed; list every miss", soft)


@record_rule("arithmetic/parts", Finding)
def parts_fit(finding: Finding, _: Catalog) -> Iterator[Wrong]:
    """A breakdown never holds more than its whole, and exactly as much where it is said to be complete."""
    for index, whole in enumerate(finding.populations):
        parts = [p for p in finding.populations if p.part_of == whole.id]
        for name in _COUNTS if parts else ():
            yield from _parts_of_count(index, name, whole, parts)


def _parts_of_count(index: int, name: str, whole: Population, parts: list[Population]) -> Iterator[Wrong]:
    total, each = _count(whole, name), [_count(part, name) for part in parts]
    if total is None or all(v is None for v in each):
        return
    given = sum(v for v in each if v is not None)
    complete = whole.complete_parts is True and None not in each
    if given > total or (complete and given != total):
        told = f"{name} is {total}, but its parts hold {' + '.join(str(v or 0) for v in each)} = {given}"
        yield Wrong(("populations", index, name), told)


@record_rule("arithmetic/repeat", Finding)
def repeat_is_alike(finding: Finding, _: Catalog) -> Iterator[Wrong]:
    """A repeat asks the same again; with another number of requests it is another population."""
    first = {population.id: population for population in finding.populations}
    for index, population in enumerate(finding.populations):
        origin = first.get(population.repeat_of or "")
        if origin is None:
            continue
        here, there = _count(population, "planned"), _count(origin, "planned")
        if here is not None and there is not None and here != there:
            told = f"{here} planned, but {there} in {origin.id}, which it repeats; leave `repeat_of` out if it differs"
            yield Wrong(("populations", index, "planned"), told)


@record_rule("arithmetic/fraction", Finding)
def rate_is_the_fraction(finding: Finding, _: Catalog) -> Iterator[Wrong]:
    """A pass rate is passed over planned; typed beside its population it must be that very fraction."""
    populations = {population.id: population for population in finding.populations}
    for index, measurement in enumerate(finding.measurements):
        population = populations.get(measurement.population or "")
        if measurement.metric != "pass_rate" or population is None or not isinstance(measurement.value, Quantity):
            continue
        passed, planned = _count(population, "passed"), _count(population, "planned")
        if passed is None or not planned or measurement.value.unit != "%":
            continue
        stated = measurement.value.value
        if abs(stated - Decimal(100 * passed) / planned) > half_unit(stated):
            told = f"{measurement.value} stands here, but {passed}/{planned} is {100 * passed / planned:.2f} %"
            yield Wrong(("measurements", index, "value"), told)
