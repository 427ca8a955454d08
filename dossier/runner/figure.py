"""One figure of a population, and the statistics that so many values can bear: pure, and free of any probe."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal

from dossier.stats import least_n, median, order_interval, percentile

DIGITS = 4
PLACES = 9
_PERCENTILES = (90, 95, 99)
METHOD = "order statistics, exact"


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure in its metric's unit. `low` and `high` are a 95 % interval by `method`, where there is one.

    A `label` tells several figures of one metric apart.
    """

    metric: str
    statistic: str
    value: float
    unit: str
    n: int
    low: float | None = None
    high: float | None = None
    method: str = METHOD
    title: str | None = None
    label: str = ""
    over: str | None = None
    """Of several server starts, one value each: how those were averaged. `n` counts the starts then."""

    @property
    def key(self) -> str:
        """Its name within a population, apart from the statistic: the metric, after a label where it has one."""
        return f"{self.label}-{self.metric}" if self.label else self.metric


def figure_id(population: str, figure: Figure) -> str:
    """The id of its measurement; a plan's gates name figures so before there are any."""
    return f"{population}-{figure.key}-{figure.statistic}"


def rounded(value: float) -> Decimal:
    """To four significant digits of what the artifact of figures keeps; a count is kept as it is."""
    if isinstance(value, int):
        return Decimal(value)
    exact = Decimal(repr(kept(value)))
    places = min(0, exact.adjusted() - DIGITS + 1) if exact else 0
    return exact.quantize(Decimal(1).scaleb(places), ROUND_HALF_EVEN)


def kept(value: float) -> float:
    """A value as the artifact of figures keeps it: to nine places."""
    return round(value, PLACES)


def statistics_of(metric: str, unit: str, values: Sequence[float], *, mean: bool = False) -> list[Figure]:
    """One value is single; more have a median, a least and a greatest, and the percentiles that so many can bear."""
    n = len(values)
    if n < 2:
        return [Figure(metric, "single", value, unit, 1) for value in values]
    interval = order_interval(values, 50)
    low, high = interval if interval is not None else (None, None)
    found = [Figure(metric, "median", median(values) or 0.0, unit, n, low, high)]
    if mean:
        found.append(Figure(metric, "mean", statistics.fmean(values), unit, n))
    for percent in _PERCENTILES:
        if n >= least_n(percent):
            bounds = order_interval(values, percent)
            low, high = bounds if bounds is not None else (None, None)
            found.append(Figure(metric, f"p{percent}", percentile(values, percent) or 0.0, unit, n, low, high))
    return [*found, Figure(metric, "min", min(values), unit, n), Figure(metric, "max", max(values), unit, n)]


_AVERAGED = {"median", "mean", "rate", "single"}


def over_starts(each: Sequence[Sequence[Figure]]) -> list[Figure]:
    """The figures of an arm from those of its server starts: one value each, averaged; no percentile is averaged.

    A geometric mean, so that ratios of arms are means of ratios; an arithmetic one where a start gave nothing.
    """
    found = []
    for first in each[0]:
        alike = [f for figures in each for f in figures if (f.key, f.statistic) == (first.key, first.statistic)]
        values = [figure.value for figure in alike]
        if len(alike) != len(each):
            continue
        if first.unit == "MiB" and first.statistic in {"min", "max"}:
            worst = min if first.statistic == "min" else max
            found.append(Figure(first.metric, first.statistic, worst(values), first.unit, sum(f.n for f in alike)))
        elif first.statistic in _AVERAGED:
            how = "geometric-mean" if min(values) > 0 else "mean"
            value = statistics.geometric_mean(values) if min(values) > 0 else statistics.fmean(values)
            found.append(
                Figure(
                    first.metric,
                    first.statistic,
                    value,
                    first.unit,
                    len(values),
                    title=first.title,
                    label=first.label,
                    over=how,
                )
            )
    return found
