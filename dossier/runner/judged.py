"""What a plan declares beforehand: gates, and comparisons of arms; and whether they can be judged at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from dossier.model.base import Figure, Flag, Line, MetricId, Part, Slug
from dossier.model.gate import Requirement, Test
from dossier.model.measurement import Statistic
from dossier.runner.figures import BATCH, PER_REQUEST
from dossier.runner.probes import probe_of
from dossier.runner.probes.base import Spec
from dossier.stats import least_n

COUNTS = frozenset({Test.ALL, Test.AT_LEAST})
PASS_RATE = "pass_rate"  # noqa: S105 - a metric
_PERCENTILES = {Statistic.P90: 90, Statistic.P95: 95, Statistic.P99: 99}
_OF_STARTS = {Statistic.MEDIAN, Statistic.MEAN, *_PERCENTILES}


class PlannedGate(Part):
    """A requirement on a population, on a comparison, or on a figure named `<population>-<metric>-<statistic>`.

    With several arms a population is named `<arm>-<population>`.
    """

    id: Slug
    subject: Slug
    require: Requirement
    title: Line | None = None


class Unit(StrEnum):
    """What is paired, and so counted as one independent value."""

    REQUEST = "request"
    """The same prompt in both arms: says something about these very server starts."""
    START = "start"
    """One value a server start: says something about the configuration."""


class Kind(StrEnum):
    """How two values are set against each other."""

    RATIO = "ratio"
    DIFFERENCE = "difference"


class PlannedComparison(Part):
    """One figure of one population in two arms, with an interval of what lies between them.

    Left out, `candidate` and `baseline` are the last and the first arm, and `unit` is `start` where each server is
    started several times. Requests are compared by the geometric mean of their paired ratios.
    """

    id: Slug
    population: Slug
    metric: MetricId
    statistic: Statistic | None = None
    candidate: Slug | None = None
    baseline: Slug | None = None
    unit: Unit | None = None
    kind: Kind = Kind.RATIO
    level: Annotated[Figure, Field(ge=90, lt=100, description="90: two one-sided tests at 5 %.")] = Decimal(95)
    primary: Flag = Field(default=False, description="The one comparison that the run is about.")
    title: Line | None = None


@dataclass(frozen=True, slots=True)
class Subjects:
    """What can be judged: populations by id with their arm, the starts of every arm, and comparisons by id."""

    named: Mapping[str, tuple[str, Spec]]
    starts: Mapping[str, int]
    comparisons: Mapping[str, PlannedComparison]

    def arms_of(self, comparison: PlannedComparison) -> tuple[str, str]:
        """Candidate and baseline."""
        arms = list(self.starts)
        return comparison.candidate or arms[-1], comparison.baseline or arms[0]

    def unit_of(self, comparison: PlannedComparison) -> Unit:
        """What is paired."""
        several = all(self.starts.get(arm, 0) > 1 for arm in self.arms_of(comparison))
        return comparison.unit or (Unit.START if several else Unit.REQUEST)

    def statistic_of(self, comparison: PlannedComparison) -> Statistic:
        """Which statistic of each side."""
        if comparison.metric not in PER_REQUEST:
            return Statistic.RATE
        of_requests = self.unit_of(comparison) is Unit.REQUEST
        return comparison.statistic or (Statistic.GEOMETRIC if of_requests else Statistic.MEDIAN)

    def unit_shown(self, comparison: PlannedComparison) -> str:
        """The unit of the difference."""
        if comparison.metric == PASS_RATE:
            return "points"
        if comparison.kind is Kind.RATIO:
            return "%"
        unit = PER_REQUEST.get(comparison.metric) or BATCH[comparison.metric]
        return "points" if unit == "%" else unit

    def population(self, subject: str) -> tuple[str, tuple[str, Spec]] | None:
        """The population that a subject is, or whose figure it names; the longest name that fits."""
        fits = [name for name in self.named if subject == name or subject.startswith(f"{name}-")]
        best = max(fits, key=len, default=None)
        return (best, self.named[best]) if best is not None else None


def enough(require: Requirement, passed: int, planned: int) -> bool:
    """Do so many of so many meet a requirement on counts?"""
    if require.test is Test.ALL or require.limit is None:
        return passed == planned
    least = require.limit.value
    return 100 * passed >= least * planned if require.limit.unit == "%" else passed >= least


def wrong_comparison(comparison: PlannedComparison, subjects: Subjects) -> Iterator[str]:
    """Why a comparison cannot be made, in words."""
    head = f"comparison {comparison.id}"
    candidate, baseline = subjects.arms_of(comparison)
    for arm in (candidate, baseline):
        if arm not in subjects.starts:
            yield f"{head}: {arm!r} is none of the arms: {', '.join(subjects.starts)}"
            return
    if candidate == baseline:
        yield f"{head}: an arm is not compared with itself"
    spec = next((s for _, s in subjects.named.values() if s.id == comparison.population), None)
    if spec is None:
        yield f"{head}: {comparison.population!r} is no population of this plan"
    elif comparison.metric != PASS_RATE and not _has_times(spec):
        yield f"{head}: {comparison.population} measures no times: only its pass_rate can be compared"
    elif comparison.metric not in {*PER_REQUEST, *BATCH, PASS_RATE}:
        known = ", ".join(sorted([*PER_REQUEST, *BATCH, PASS_RATE]))
        yield f"{head}: {comparison.metric!r} cannot be compared here; one of: {known}"
    else:
        yield from _wrong_statistic(head, comparison, spec, subjects)


def _has_times(spec: Spec) -> bool:
    probe = probe_of(spec)
    return probe.timed and not probe.shares(spec)


def _wrong_statistic(head: str, comparison: PlannedComparison, spec: Spec, subjects: Subjects) -> Iterator[str]:
    statistic = comparison.statistic
    if comparison.metric not in PER_REQUEST:
        if statistic not in {None, Statistic.RATE}:
            yield f"{head}: {comparison.metric} is a rate of the whole batch; leave `statistic` out"
    elif subjects.unit_of(comparison) is Unit.REQUEST:
        if statistic not in {None, Statistic.GEOMETRIC}:
            yield f"{head}: paired requests give a geometric mean; leave `statistic` out, or plan several starts an arm"
    elif statistic is not None and statistic not in _OF_STARTS:
        yield f"{head}: of each start take one of: {', '.join(sorted(_OF_STARTS))}"
    elif statistic in _PERCENTILES and spec.requests < least_n(_PERCENTILES[statistic]):
        yield f"{head}: a {statistic} needs {least_n(_PERCENTILES[statistic])} requests, {spec.id} has {spec.requests}"
    if subjects.unit_of(comparison) is Unit.START and min(subjects.starts[a] for a in subjects.arms_of(comparison)) < 2:
        yield f"{head}: one start an arm is one value; plan several, or compare requests"


def wrong_gate(gate: PlannedGate, subjects: Subjects) -> Iterator[str]:
    """Why a gate cannot be judged, in words."""
    head = f"gate {gate.id}: `{gate.require}`"
    if gate.subject in subjects.comparisons:
        yield from _wrong_difference(head, gate, subjects)
        return
    found = subjects.population(gate.subject)
    counts = gate.require.test in COUNTS
    fits = found is not None and (found[0] == gate.subject) == counts
    if found is None or not fits or gate.require.shown:
        form = "a population" if counts else "a figure such as <population>-ttft_any-median"
        form = "a comparison" if gate.require.shown else form
        yield f"{head} judges {form}; {gate.subject!r} is none of this plan"
        return
    name, (arm, spec) = found
    if gate.require.test is Test.AT_LEAST and gate.require.limit is not None and gate.require.limit.unit != "%":
        if subjects.starts[arm] > 1:
            yield f"{head}: with several starts say it in %, so that each of them can be judged"
        elif gate.require.limit.value > spec.requests:
            yield f"{head}: {name} has only {spec.requests} requests"
    percent = _PERCENTILES.get(Statistic(last)) if (last := gate.subject.rpartition("-")[2]) in set(Statistic) else None
    if not counts and percent is not None and spec.requests * subjects.starts[arm] < least_n(percent):
        planned = spec.requests * subjects.starts[arm]
        yield f"{head}: a p{percent} needs {least_n(percent)} requests, {name} has {planned}"


def _wrong_difference(head: str, gate: PlannedGate, subjects: Subjects) -> Iterator[str]:
    comparison, require = subjects.comparisons[gate.subject], gate.require
    if require.test in COUNTS:
        yield f"{head} counts, and {gate.subject} is a comparison; write for example `shown < 0 %`"
        return
    wanted = subjects.unit_shown(comparison)
    if require.limit is not None and require.limit.unit != wanted:
        yield f"{head}: {gate.subject} is a difference in {wanted}"
    if require.test is Test.WITHIN and not require.shown:
        yield f"{head}: a band is claimed only where the whole interval lies in it; write `shown within ...`"
    batch = comparison.metric in BATCH and subjects.unit_of(comparison) is Unit.REQUEST
    if require.shown and batch:
        yield f"{head}: {comparison.metric} is one value a start, and one start has no interval; plan several starts"
