"""Comparisons of arms: values paired by request or by server start, and the interval of what lies between them."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dossier.model.measurement import Statistic
from dossier.model.vocabulary import Exclusion
from dossier.runner.arms import Order
from dossier.runner.figure import Figure
from dossier.runner.figures import BATCH, PER_REQUEST, timed, values_of
from dossier.runner.judged import PASS_RATE, Kind, PlannedComparison, Unit
from dossier.runner.outcome import Outcome
from dossier.runner.plan import Instance
from dossier.runner.told import Told
from dossier.stats import mcnemar, newcombe, paired_difference, paired_ratio

Paired = Sequence[tuple[float, float]]
"""Candidate and baseline, value by value."""


@dataclass(frozen=True, slots=True)
class Sided:
    """A comparison as it came out. `candidate` and `baseline` are its two figures; none for a pass rate.

    `low` and `high` bound the difference in `unit` (%, points, or the metric's own); None where so few pairs bound
    nothing.
    """

    planned: PlannedComparison
    unit: str
    n: int
    method: str
    candidate: Figure | None = None
    baseline: Figure | None = None
    low: float | None = None
    high: float | None = None
    note: str = ""
    excluded: tuple[Exclusion, str] | None = None


def compared(told: Told, planned: PlannedComparison) -> Sided:
    """Compute a comparison from the samples."""
    subjects = told.plan.subjects
    unit, of = subjects.unit_shown(planned), subjects.unit_of(planned)
    if planned.metric == PASS_RATE:
        return _pass_rates(told, planned, unit)
    pairs = _by_request(told, planned) if of is Unit.REQUEST and planned.metric in PER_REQUEST else None
    pairs = pairs if pairs is not None else _by_start(told, planned)
    n, excluded = len(pairs), _excluded(told, planned)
    if n == 0:
        return Sided(planned, unit, 0, "", excluded=excluded)
    method, low, high = _interval(pairs, planned)
    sides = [_figure(told, planned, [pair[side] for pair in pairs]) for side in (0, 1)]
    return Sided(planned, unit, n, method, sides[0], sides[1], low, high, _note(told, planned, n), excluded)


def _parts(told: Told, planned: PlannedComparison) -> tuple[list[Instance], list[Instance]]:
    """The blocks of both arms that count, by start."""
    found = [
        each for each in told.plan.instances() if each.spec.id == planned.population and not told.is_void(each.name)
    ]
    candidate, baseline = told.plan.subjects.arms_of(planned)
    return [i for i in found if i.block.arm == candidate], [i for i in found if i.block.arm == baseline]


def _by_request(told: Told, planned: PlannedComparison) -> list[tuple[float, float]]:
    """The same prompt in both arms, of every start that both have."""
    candidates, baselines = (
        {part.block.start: _values(told, part, planned.metric) for part in side} for side in _parts(told, planned)
    )
    return [
        (value, baselines[start][index])
        for start, values in sorted(candidates.items())
        for index, value in sorted(values.items())
        if index in baselines.get(start, {})
    ]


def _values(told: Told, part: Instance, metric: str) -> Mapping[int, float]:
    return {entry["index"]: value for entry, value in values_of(metric, timed(told.samples(part.name)))}


def _by_start(told: Told, planned: PlannedComparison) -> list[tuple[float, float]]:
    """One value a start; a bracketed candidate against the mean of the baselines before and after it."""
    statistic = told.plan.subjects.statistic_of(planned)
    candidates, baselines = (
        {part.block.start: value for part in side if (value := _value(told, part, planned, statistic)) is not None}
        for side in _parts(told, planned)
    )
    bracketed = told.plan.course.order is Order.BRACKETED
    pairs = []
    for start, value in sorted(candidates.items()):
        around = [baselines.get(start), baselines.get(start + 1)] if bracketed else [baselines.get(start)]
        known = [other for other in around if other is not None]
        if len(known) == len(around):
            pairs.append((value, statistics.fmean(known)))
    return pairs


def _value(told: Told, part: Instance, planned: PlannedComparison, statistic: Statistic) -> float | None:
    figures = told.figures_by(part.name)
    return next((f.value for f in figures if (f.metric, f.statistic) == (planned.metric, statistic)), None)


def _interval(pairs: Paired, planned: PlannedComparison) -> tuple[str, float | None, float | None]:
    level = float(planned.level) / 100
    candidate, baseline = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    if planned.kind is Kind.DIFFERENCE:
        found = paired_difference(candidate, baseline, level)
        return ("paired t", found.low, found.high) if found is not None else ("", None, None)
    if min(candidate + baseline) <= 0:
        return "", None, None
    ratio = paired_ratio(candidate, baseline, level)
    if ratio is None:
        return "", None, None
    return "paired t of log ratios", 100 * (ratio.low - 1), 100 * (ratio.high - 1)


def _figure(told: Told, planned: PlannedComparison, values: Sequence[float]) -> Figure:
    """One side: averaged so that the two sides give the very difference that the interval is of."""
    geometric = planned.kind is Kind.RATIO and min(values) > 0
    value = statistics.geometric_mean(values) if geometric else statistics.fmean(values)
    statistic = told.plan.subjects.statistic_of(planned).value
    unit = PER_REQUEST.get(planned.metric) or BATCH[planned.metric]
    over = ("geometric-mean" if geometric else "mean") if len(values) > 1 else None
    return Figure(planned.metric, statistic, value, unit, len(values), over=over)


def _note(told: Told, planned: PlannedComparison, n: int) -> str:
    subjects = told.plan.subjects
    spec = next(spec for spec in told.plan.populations if spec.id == planned.population)
    if subjects.unit_of(planned) is Unit.START:
        return f"n={n} pairs of server starts, in the order {told.plan.course.order}; one value a start."
    if planned.metric in BATCH:
        return "One start an arm: descriptive only, no interval can be had."
    starts = min(subjects.starts[arm] for arm in subjects.arms_of(planned))
    what = "the same prompt in both arms" if not told.plan.course.own_prompts else "by index, with prompts of its own"
    return (
        f"n={n} pairs of {starts * spec.requests} planned, {what}. It speaks of these server starts only: another "
        "start may differ by more."
    )


def _excluded(told: Told, planned: PlannedComparison) -> tuple[Exclusion, str] | None:
    reasons = (told.excluded(part.published) for side in _parts(told, planned) for part in side)
    return next((reason for reason in reasons if reason is not None), None)


def _pass_rates(told: Told, planned: PlannedComparison, unit: str) -> Sided:
    """Two pass rates, in points, by Newcombe's interval; matched prompts by McNemar's exact test as well."""
    sides = _parts(told, planned)
    counts = [(sum(told.passed(p.name) for p in side), sum(len(told.samples(p.name)) for p in side)) for side in sides]
    if any(n == 0 for _, n in counts):
        return Sided(planned, unit, 0, "")
    found = newcombe(*counts[0], *counts[1], float(planned.level) / 100)
    only = _discordant(told, sides)
    note = (
        f"Matched prompts: {only[0]} passed in the candidate alone, {only[1]} in the baseline alone; McNemar exact "
        f"p = {mcnemar(*only):.3g}. The interval takes the two as independent."
    )
    return Sided(planned, unit, min(n for _, n in counts), "Newcombe", low=100 * found.low, high=100 * found.high,
                 note=note)  # fmt: skip


def _discordant(told: Told, sides: Sequence[Sequence[Instance]]) -> tuple[int, int]:
    outcomes = [
        {(part.block.start, entry["index"]): entry["outcome"] == Outcome.PASSED
         for part in side for entry in told.samples(part.name)}
        for side in sides
    ]  # fmt: skip
    both = [(outcomes[0][key], outcomes[1][key]) for key in outcomes[0].keys() & outcomes[1].keys()]
    return both.count((True, False)), both.count((False, True))
