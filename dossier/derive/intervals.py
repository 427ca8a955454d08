"""The interval that stands beside n: what so few requests say about the next ones.

Everything here follows from counts or is stated in the record; nothing is estimated from a figure alone.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from functools import cache

from dossier.derive.format import NBSP, number, signed, with_unit
from dossier.derive.items import Find, known, resolve
from dossier.model.base import Quantity
from dossier.model.finding import Finding
from dossier.model.measurement import Comparison, Interval, Measurement, Statistic
from dossier.model.workload import Population
from dossier.stats import Bounds, Difference, clopper_pearson, least_n, newcombe, order_ranks

_LEVEL = f"95{NBSP}%"
_QUANTILES = {Statistic.MEDIAN: 50, Statistic.P90: 90, Statistic.P95: 95, Statistic.P99: 99}


# The same few counts come again and again over a site.
_ranks = cache(order_ranks)
_exact = cache(clopper_pearson)


def pass_counts(population: Population) -> tuple[int, int] | None:
    """Passed, and of how many that were run; None where the record does not say."""
    passed, planned, not_run = (known(v) for v in (population.passed, population.planned, population.not_run))
    if not isinstance(passed, int) or not isinstance(planned, int):
        return None
    n = planned - (not_run if isinstance(not_run, int) else 0)
    return (passed, n) if 0 <= passed <= n and n > 0 else None


def population_bounds(population: Population) -> Bounds | None:
    """The exact 95 % interval (Clopper-Pearson) of the pass rate, as shares of one."""
    counts = pass_counts(population)
    return _exact(*counts) if counts is not None else None


def population_interval(population: Population) -> str | None:
    """`95 % interval 88.5–99.6 %` of the pass rate; None where nothing was graded."""
    bounds = population_bounds(population)
    return None if bounds is None else f"{_LEVEL} interval {_between(_percent(bounds.low), _percent(bounds.high), '%')}"


def measurement_interval(measurement: Measurement, population: Population | None = None) -> str | None:
    """The stated interval; else, for a median or percentile, what so many values allow; else None.

    `no 95 % interval at n=3`; `95 % interval: values 3 to 10 of 12`. `population` is the measurement's own, for
    its count where the measurement gives none.
    """
    if measurement.interval is not None:
        unit = measurement.value.unit if isinstance(measurement.value, Quantity) else ""
        return _stated(measurement.interval, unit)
    percent = _QUANTILES.get(measurement.statistic)
    n = known(measurement.n) if measurement.n is not None else known(population.completed) if population else None
    n = len(measurement.each.values) if measurement.each is not None else n
    if percent is None or not isinstance(n, int) or n < 1:
        return None
    ranks = _ranks(n, percent)
    values = sorted(measurement.each.values) if measurement.each is not None else []
    if ranks is not None and len(values) == n and isinstance(measurement.value, Quantity):
        bounds = _between(values[ranks.low - 1], values[ranks.high - 1], measurement.value.unit)
        return f"{_LEVEL} interval {bounds} (values {ranks.low} to {ranks.high} of {number(n)})"
    if ranks is not None:
        return f"{_LEVEL} interval: values {ranks.low} to {ranks.high} of {number(n)}"
    least = least_n(percent, two_sided=True)
    return f"no {_LEVEL} interval at n={number(n)}; it takes {least}"


def rates_difference(comparison: Comparison, here: Finding, find: Find) -> Difference | None:
    """The difference of two pass rates as shares of one, with Newcombe's 95 % interval.

    None unless both sides are populations with counts. The two are taken as independent: where the same prompts
    ran in both arms the interval is wider than it need be.
    """
    sides = [resolve(target, here, find) for target in (comparison.candidate, comparison.baseline)]
    counts = [pass_counts(s.part) for s in sides if s is not None and isinstance(s.part, Population)]
    if len(counts) != 2 or counts[0] is None or counts[1] is None:
        return None
    return newcombe(*counts[0], *counts[1])


def comparison_interval(comparison: Comparison, here: Finding, find: Find) -> str | None:
    """The stated interval of a difference, or the computed one of two pass rates in points; None where neither is."""
    if comparison.interval is not None:
        return _stated(comparison.interval, comparison.stated.unit if comparison.stated is not None else "%", sign=True)
    found = rates_difference(comparison, here, find) if comparison.metric == "pass_rate" else None
    if found is None:
        return None
    return f"{_LEVEL} interval {_between(_percent(found.low), _percent(found.high), 'points', sign=True)}"


def _stated(interval: Interval, unit: str, *, sign: bool = False) -> str:
    level = f"{interval.level:f}{NBSP}%"
    return (
        f"{level} interval {_between(interval.low, interval.high, unit, sign=sign and unit != 'x')} ({interval.method})"
    )


def _percent(share: float) -> Decimal:
    return (Decimal(share) * 100).quantize(Decimal("0.1"), rounding=ROUND_HALF_UP)


def _between(low: Decimal, high: Decimal, unit: str, *, sign: bool = False) -> str:
    if not sign:
        return with_unit(f"{number(low)}–{number(high)}", unit)
    return with_unit(f"{signed(low)} to {signed(high)}", unit)
