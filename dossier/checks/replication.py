"""Replicates: a figure sums up what it was taken from, and a claim reaches as far as what was done again."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from decimal import Decimal

from dossier.catalog import Catalog
from dossier.checks.registry import Wrong, record_rule
from dossier.derive.deltas import half_unit
from dossier.derive.items import known
from dossier.derive.paired import measurements_of, members, p_of, pairs
from dossier.model.base import Quantity
from dossier.model.finding import Finding
from dossier.model.measurement import Measurement, Replicate, Statistic
from dossier.stats import nearest_rank

_RANKED = {Statistic.P90: 90, Statistic.P95: 95, Statistic.P99: 99}


@record_rule("arithmetic/replicates", Finding)
def value_sums_up(finding: Finding, _: Catalog) -> Iterator[Wrong]:
    """A figure that is kept beside those it was taken from has to be what they give."""
    for index, measurement in enumerate(finding.measurements):
        each, value = measurement.each, measurement.value
        if each is None:
            continue
        n = known(measurement.n)
        if n is not None and each.of is not Replicate.SERVER_START and n != len(each.values):
            told = f"n is {n}, but `each` holds {len(each.values)} values; correct one"
            yield Wrong(("measurements", index, "each"), told)
        given = _summed(measurement.statistic, list(each.values))
        if given is not None and isinstance(value, Quantity) and abs(given - value.value) > half_unit(value.value):
            told = f"{value} stands here, but the {measurement.statistic} of `each` is {given:f}; correct one"
            yield Wrong(("measurements", index, "value"), told)


def _summed(statistic: Statistic, values: list[Decimal]) -> Decimal | None:
    if statistic in _RANKED:
        return sorted(values)[nearest_rank(len(values), _RANKED[statistic]) - 1]
    return _SUMMED[statistic](values) if statistic in _SUMMED else None


def _geometric_mean(values: list[Decimal]) -> Decimal:
    return Decimal(statistics.geometric_mean(map(float, values))) if min(values) > 0 else Decimal(0)


_SUMMED: dict[Statistic, Callable[[list[Decimal]], Decimal]] = {
    Statistic.MEDIAN: statistics.median,
    Statistic.MEAN: statistics.mean,
    Statistic.GEOMETRIC: _geometric_mean,
    Statistic.MIN: min,
    Statistic.MAX: max,
    Statistic.TOTAL: lambda values: sum(values, Decimal(0)),
}


@record_rule("claims/paired", Finding)
def pairs_are_pairs(finding: Finding, catalog: Catalog) -> Iterator[Wrong]:
    """Only figures that belong together one by one can be set against each other one by one."""
    for index, comparison in enumerate(finding.comparisons):
        if comparison.paired is not True:
            continue
        place = ("comparisons", index, "paired")
        sides = measurements_of(comparison, finding, catalog.finding)
        if pairs(comparison, finding, catalog.finding) is None:
            told = " and ".join(map(_held, sides)) or "neither side is a measurement"
            how = "both sides need `each`, of one kind, equally many and above zero"
            yield Wrong(place, f"{told}: {how}, or take `paired` out")
        elif comparison.interval is not None:
            told = "the interval of the difference is computed from the pairs; take `interval` out"
            yield Wrong(("comparisons", index, "interval"), told, key=True)


def _held(measurement: Measurement) -> str:
    each = measurement.each
    return f"{measurement.id} holds {f'{len(each.values)} of {each.of}' if each is not None else 'no `each`'}"


@record_rule("claims/family", Finding)
def family_is_tested_as_one(finding: Finding, catalog: Catalog) -> Iterator[Wrong]:
    """Of twenty comparisons one differs by chance: those of one question are adjusted together, all but the primary."""
    names = dict.fromkeys(c.family for c in finding.comparisons if c.family is not None)
    for name in names:
        every = members(name, finding)
        primary = [c.id for c in every if c.primary is True]
        for index, comparison in enumerate(finding.comparisons):
            if comparison not in every:
                continue
            if len(primary) > 1 and comparison.primary is True:
                told = f"{' and '.join(primary)} are both primary in {name}; one was named in the plan"
                yield Wrong(("comparisons", index, "primary"), told)
            if p_of(comparison, finding, catalog.finding) is None:
                how = "pair `each` of both sides, or compare two populations by pass_rate, or take `family` out"
                yield Wrong(("comparisons", index, "family"), f"it cannot be tested; {how}")
    for index, comparison in enumerate(finding.comparisons):
        if comparison.primary is True and comparison.family is None:
            told = "primary of which `family`? name it, or take this out"
            yield Wrong(("comparisons", index, "primary"), told)
