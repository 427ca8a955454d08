"""Claims over the data: how many, of what kind, matched with what, and declared when.

What a transcribed source claims too freely is a warning, since the source cannot be changed; in evidence of one's
own it is an error. A `note` beside a transcribed figure acknowledges it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from operator import attrgetter
from typing import NamedTuple

from dossier.catalog import Catalog
from dossier.checks.registry import Wrong, record_rule
from dossier.derive.items import Item, compared, find_item, known, resolve
from dossier.derive.latest import latest
from dossier.derive.paired import within
from dossier.errors import Severity
from dossier.fold import day_of
from dossier.model.base import Part, Quantity, Range
from dossier.model.finding import Finding
from dossier.model.gate import Gate, Test
from dossier.model.measurement import Comparison, Delta, Measurement, Statistic
from dossier.model.metrics import Metric
from dossier.model.vocabulary import Attribution, Exclusion, MeasurementClass, Provenance
from dossier.model.workload import Excluded, Population
from dossier.stats import Equivalence, least_n

PERCENTILES = {Statistic.P90: 90, Statistic.P95: 95, Statistic.P99: 99}
"""Statistics that are a percentile above the median."""
TOLERANCE = 0.05
"""How far the actual prompt tokens of two matched populations may lie apart, as a share."""
_OWN = {Provenance.MEASURED, Provenance.RETAINED}
_CARRY_NOTHING = {Provenance.REPORTED, Provenance.EXTERNAL_PRIOR}
TIME_UNITS = {"s", "tok/s", "req/s"}
"""Units of a speed."""


def severity_of(finding: Finding) -> Severity:
    """An error in evidence of one's own, a warning about what somebody else has published."""
    return Severity.ERROR if finding.provenance in _OWN else Severity.WARNING


def population_of(part: Measurement | Population, finding: Finding) -> Population | None:
    """The population that a figure comes from."""
    if isinstance(part, Population):
        return part
    found = find_item(finding, part.population) if part.population is not None else None
    return found.part if found is not None and isinstance(found.part, Population) else None


def count_of(measurement: Measurement, finding: Finding) -> int | None:
    """Of how many values a figure was taken: its own n, or what its population completed."""
    population = population_of(measurement, finding)
    for value in (measurement.n, population.completed if population is not None else None):
        if isinstance(value, int):
            return value
    return None


def _acknowledged(measurement: Measurement, finding: Finding) -> bool:
    return measurement.excluded is not None or (measurement.note is not None and finding.provenance not in _OWN)


@record_rule("claims/percentile", Finding)
def percentile_of_enough(finding: Finding, _: Catalog) -> Iterator[Wrong]:
    """A percentile of too few values is their greatest, or next to it: another run would give another."""
    for index, measurement in enumerate(finding.measurements):
        percent = PERCENTILES.get(measurement.statistic)
        if percent is None or _acknowledged(measurement, finding):
            continue
        n, least = count_of(measurement, finding), least_n(percent)
        how = "write max or median, or exclude it with `reason: too-few`"
        if n is None:
            told = f"p{percent} of how many? write `n`; a p{percent} needs {least} values"
            yield Wrong(("measurements", index, "statistic"), told, severity_of(finding))
        elif n < least:
            told = f"p{percent} of n={n}: it takes {least} values to bound a p{percent} at 95 %; {how}"
            yield Wrong(("measurements", index, "statistic"), told, severity_of(finding))


@record_rule("claims/interval", Finding)
def interval_of_enough(finding: Finding, _: Catalog) -> Iterator[Wrong]:
    """No interval for a quantile can be had from fewer values than its level asks for, whatever the method says."""
    for index, measurement in enumerate(finding.measurements):
        interval = measurement.interval
        if interval is None or not 0 < interval.level < 100:
            continue
        percent = {**PERCENTILES, Statistic.MEDIAN: 50}.get(measurement.statistic)
        n = count_of(measurement, finding)
        if percent is None or n is None:
            continue
        least = least_n(percent, float(interval.level) / 100, two_sided=True)
        if n < least:
            told = f"no {interval.level:f} % interval of this statistic exists at n={n}, it takes {least} values"
            yield Wrong(("measurements", index, "interval"), f"{told}; leave it out", severity_of(finding))


@record_rule("claims/rate", Finding)
def rate_shows_its_counts(finding: Finding, _: Catalog) -> Iterator[Wrong]:
    """100 % of three and 100 % of three hundred are different claims: a rate is always shown as k of n."""
    for index, measurement in enumerate(finding.measurements):
        if measurement.metric != "pass_rate" or measurement.excluded is not None:
            continue
        population = population_of(measurement, finding)
        if population is None or known(population.passed) is None or known(population.planned) is None:
            told = "a pass rate without its counts; name a `population` with `passed` and `planned`"
            yield Wrong(("measurements", index), told, severity_of(finding))
    for index, population in enumerate(finding.populations):
        of = [known(v) for v in (population.planned, population.completed)]
        if known(population.passed) is not None and of == [None, None]:
            told = f"{population.passed} passed, of how many? write `planned`"
            yield Wrong(("populations", index, "passed"), told, severity_of(finding))


@record_rule("claims/zero", Finding)
def absent_is_not_zero(finding: Finding, catalog: Catalog) -> Iterator[Wrong]:
    """A time or rate of nothing was not measured: zero would enter every comparison as a figure."""
    for index, measurement in enumerate(finding.measurements):
        metric, value = catalog.metric(measurement.metric), measurement.value
        if metric is not None and metric.unit in TIME_UNITS and isinstance(value, Quantity) and value.value == 0:
            told = f"{metric.name} cannot be {value}; write the value, or {{unknown: why}}"
            yield Wrong(("measurements", index, "value"), told)


class _Side(NamedTuple):
    """One side of a comparison: what it names, and the population that this comes from."""

    name: str
    item: Item
    population: Population | None


@latest
def _sides(finding: Finding, catalog: Catalog) -> list[list[_Side]]:
    """The sides that name a figure or a population, comparison by comparison."""
    return [list(_sides_of(comparison, finding, catalog)) for comparison in finding.comparisons]


def _sides_of(comparison: Comparison, finding: Finding, catalog: Catalog) -> Iterator[_Side]:
    for name, target in (("candidate", comparison.candidate), ("baseline", comparison.baseline)):
        item = resolve(target, finding, catalog.finding)
        if item is not None and isinstance(item.part, (Measurement, Population)):
            yield _Side(name, item, _population(item))


def _population(item: Item) -> Population | None:
    return population_of(item.part, item.finding) if isinstance(item.part, (Measurement, Population)) else None


def _metric(comparison: Comparison, finding: Finding, catalog: Catalog) -> Metric | None:
    return compared(comparison, finding, catalog.finding, catalog.metric).metric


@record_rule("claims/excluded", Finding)
def excluded_feeds_nothing(finding: Finding, catalog: Catalog) -> Iterator[Wrong]:
    """What was excluded stays visible and feeds nothing; a difference that rests on it is excluded with it."""
    for index, (comparison, sides) in enumerate(zip(finding.comparisons, _sides(finding, catalog), strict=True)):
        if comparison.excluded is not None:
            continue
        excluded = [side for side in sides if _exclusions(side)]
        metric = _metric(comparison, finding, catalog) if excluded else None
        for side in excluded:
            if reason := _why_excluded(side, metric):
                told = f"{side.item.id} is excluded ({reason}); compare another population, or exclude this one as well"
                yield Wrong(("comparisons", index, side.name), told)


def _exclusions(side: _Side) -> list[tuple[Part, Excluded]]:
    parts = [part for part in (side.item.part, side.population) if isinstance(part, (Measurement, Population))]
    return [(part, part.excluded) for part in parts if part.excluded is not None]


def _why_excluded(side: _Side, metric: Metric | None) -> Exclusion | None:
    speed = metric is not None and metric.unit in TIME_UNITS
    for part, excluded in _exclusions(side):
        classes = set(excluded.classes)
        if (
            not classes
            or getattr(part, "class_", None) in classes
            or (speed and MeasurementClass.PERFORMANCE in classes)
        ):
            return excluded.reason
    return None


@record_rule("claims/reported", Finding)
def hearsay_decides_nothing(finding: Finding, catalog: Catalog) -> Iterator[Wrong]:
    """What was only reported, or measured elsewhere, is told; no gate is judged by it and nothing is set against it."""
    if finding.provenance in _CARRY_NOTHING:
        return
    named = [(("gates", i, "subject"), gate.subject) for i, gate in enumerate(finding.gates)]
    for i, comparison in enumerate(finding.comparisons):
        if comparison.excluded is None:
            named += [(("comparisons", i, side), getattr(comparison, side)) for side in ("candidate", "baseline")]
    for place, target in named:
        item = resolve(target, finding, catalog.finding) if target is not None else None
        said = item and (getattr(item.part, "provenance", None) or item.finding.provenance)
        if item is not None and said in _CARRY_NOTHING:
            told = f"{item.id} is {said} and supports nothing; name what was measured here, or tell it in prose"
            yield Wrong(place, told)


@record_rule("claims/population", Finding)
def sides_name_their_population(finding: Finding, catalog: Catalog) -> Iterator[Wrong]:
    """A difference between two figures of unknown samples may be a difference between the samples."""
    for index, sides in enumerate(_sides(finding, catalog)):
        for name, item, _ in sides:
            part = item.part
            if isinstance(part, Measurement) and part.population is None and part.statistic is not Statistic.SINGLE:
                told = f"{item.id} names no `population`; without one nobody can tell what was compared"
                yield Wrong(("comparisons", index, name), told, severity_of(finding))


@record_rule("claims/matched", Finding)
def sides_are_matched(finding: Finding, catalog: Catalog) -> Iterator[Wrong]:
    """Only like is compared with like: the work, the load, the cache and the hardware are equal, or named as not."""
    whole = finding.boundary is not None and finding.boundary.attribution is Attribution.WHOLE_PROFILE
    for index, (comparison, sides) in enumerate(zip(finding.comparisons, _sides(finding, catalog), strict=True)):
        if whole or comparison.excluded is not None or len(sides) != 2:
            continue
        told = " ".join(comparison.differs).lower()
        for word, one, other in _differences(sides[0], sides[1], catalog):
            if word not in told:
                how = f"compare like with like, or list the {word} in `differs`"
                message = f"the {word} of the two sides differs: {one} against {other}; {how}"
                yield Wrong(("comparisons", index, "candidate"), message, severity_of(finding))


_MATCHED = ("class_", "protocol", "cache", "concurrency", "load", "thinking", "output_control", "path")
_matched = attrgetter(*_MATCHED)


def _differences(one: _Side, other: _Side, catalog: Catalog) -> Iterator[tuple[str, object, object]]:
    first, second = one.population, other.population
    if first is not None and second is not None:
        for name, mine, yours in zip(_MATCHED, _matched(first), _matched(second), strict=True):
            a, b = known(mine), known(yours)
            if a is not None and b is not None and a != b:
                yield name.rstrip("_").replace("_", " "), a, b
        yield from _tokens(first, second)
    a, b = (_hardware(side, catalog) for side in (one, other))
    if a is not None and b is not None and a != b:
        yield "hardware", a, b


def _tokens(first: Population, second: Population) -> Iterator[tuple[str, object, object]]:
    a, b = known(first.prompt_tokens), known(second.prompt_tokens)
    if isinstance(a, Range) and isinstance(b, Range):
        apart = max(a.low - b.high, b.low - a.high, 0)
        if apart > TOLERANCE * max(a.high, b.high):
            yield "prompt tokens", a, b
    elif None not in (first.target, second.target) and first.target != second.target:
        yield "target", first.target, second.target


def _hardware(side: _Side, catalog: Catalog) -> str | None:
    arm = getattr(side.item.part, "arm", None) or (side.population.arm if side.population is not None else None)
    found = side.item.finding.arms.get(arm or "")
    recipe = catalog.recipe(found.recipe) if found is not None and isinstance(found.recipe, str) else None
    return recipe.hardware if recipe is not None and isinstance(recipe.hardware, str) else None


@record_rule("claims/attribution", Finding)
def one_variable_is_one(finding: Finding, _: Catalog) -> Iterator[Wrong]:
    """A difference is put down to one thing only where one thing was varied."""
    boundary = finding.boundary
    if boundary is not None and boundary.attribution is Attribution.SINGLE_VARIABLE and len(boundary.varied) != 1:
        told = f"single-variable, but {len(boundary.varied)} things are `varied`; list the one, or write whole-profile"
        yield Wrong(("boundary", "attribution"), told)


@record_rule("claims/equivalence", Finding)
def equivalence_is_shown(finding: Finding, catalog: Catalog) -> Iterator[Wrong]:
    """That no difference was found does not show that there is none: the whole interval has to lie in the band."""
    for index, comparison in enumerate(finding.comparisons):
        judged = [gate for gate in finding.gates if gate.subject == comparison.id]
        band = comparison.band or _band(judged)
        noted = finding.provenance not in _OWN and (comparison.note or any(gate.note for gate in judged))
        if band is None or comparison.excluded is not None or noted:
            continue
        shown = within(comparison, band, finding, catalog.finding)
        if told := _not_equivalent(comparison, band, shown):
            soft = severity_of(finding) if comparison.interval is None else Severity.ERROR
            yield Wrong(("comparisons", index, "band") if comparison.band else ("comparisons", index), told, soft)


def _band(gates: list[Gate]) -> Delta | None:
    for gate in gates:
        asked = gate.require
        # A gate that asks for the whole interval is judged by it: where it fails, nothing is claimed.
        if asked is not None and asked.test is Test.WITHIN and asked.limit is not None and not asked.shown:
            return Delta(sign="±", size=asked.limit.value, unit=asked.limit.unit)
    return None


def _not_equivalent(comparison: Comparison, band: Delta, shown: Equivalence | None) -> str:
    interval = comparison.interval
    told = f"within ±{band.size:f} {band.unit}"
    if shown is not None:
        low, high = (100 * (bound - 1) for bound in (shown.low, shown.high))
        seen = f"the pairs give {low:+.2f}..{high:+.2f} % at 90 % (p = {shown.p:.3f})"
        return "" if shown.equivalent else f"{seen}: {told} is not shown; take `band` out"
    if interval is None:
        return f"{told} is claimed and not shown; give the `interval` of the difference at 90 %, or call it descriptive"
    if interval.level < 90:
        return f"two one-sided tests at 5 % are an interval at 90 %; this one has {interval.level:f} %"
    if max(abs(interval.low), abs(interval.high)) > band.size:
        return f"{interval.low:f}..{interval.high:f} leaves the band: {told} is not shown; take `band` out"
    return ""


@record_rule("claims/gate", Finding)
def gate_was_declared_before(finding: Finding, _: Catalog) -> Iterator[Wrong]:
    """A requirement that was chosen after the first sample fits the sample: it is no gate."""
    for index, gate in enumerate(finding.gates):
        declared, seen = gate.declared_at, finding.observed or finding.date
        if declared is not None and _after(declared, seen):
            told = (
                f"declared at {declared}, after the first sample ({seen}); call it a description, or declare and repeat"
            )
            yield Wrong(("gates", index, "declared_at"), told)
        elif finding.provenance in _OWN and gate.require is not None and gate.predeclared is not True:
            told = "was it declared before the run? write predeclared: true, or tell it in prose instead of as a gate"
            yield Wrong(("gates", index), told)


def _after(declared: date | datetime, seen: date | datetime) -> bool:
    if isinstance(declared, datetime) and isinstance(seen, datetime):
        return declared > seen
    return day_of(declared) > day_of(seen)


@record_rule("claims/repeat", Finding)
def repeats_do_not_replace(finding: Finding, _: Catalog) -> Iterator[Wrong]:
    """The best of several tries passes far more often than one try: a repeat stands beside, as many as declared."""
    first = {population.id: population.repeat_of for population in finding.populations}
    judged = {gate.subject for gate in finding.gates}
    for index, gate in enumerate(finding.gates):
        origin = first.get(gate.subject or "")
        if origin is not None and origin not in judged:
            told = (
                f"{gate.subject} repeats {origin}, which no gate judges; judge the first, the repeat stands beside it"
            )
            yield Wrong(("gates", index, "subject"), told, severity_of(finding))
        repeats = [name for name, of in first.items() if of == gate.subject]
        if gate.subject is not None and gate.repeats_allowed is not None and len(repeats) > gate.repeats_allowed:
            told = f"{gate.repeats_allowed} repeats were allowed, but {', '.join(repeats)} are there"
            yield Wrong(("gates", index, "repeats_allowed"), told)
