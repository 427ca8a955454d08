"""Differences computed from figures as they were written, with the range that their rounding leaves.

A figure written with k digits after the point stands for anything within half a unit of its last place, so a
ratio of two figures is known only within [(a-h)/(b+h), (a+h)/(b-h)].
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal

from dossier.derive.format import number, signed, with_unit
from dossier.model.base import Quantity
from dossier.model.measurement import Delta, Interval
from dossier.model.metrics import Metric

_EXACT = Context(prec=40)
_HUNDRED = Decimal(100)


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference and the range that rounding of its inputs leaves; in percent, as a ratio, or in the unit."""

    value: Decimal
    low: Decimal
    high: Decimal
    unit: str

    @property
    def text(self) -> str:
        """The difference with as many digits as its range carries."""
        shown = round_to(self.value, resolved_digits(self.low, self.high)) + 0  # no minus before a zero
        if self.unit == "x":
            return with_unit(number(shown), "x")
        return with_unit(signed(shown), self.unit)

    def direction(self, interval: Interval | None = None) -> int:
        """1 for more, -1 for less, 0 where rounding, or the interval of the difference, holds both."""
        even = Decimal(1) if self.unit == "x" else Decimal(0)
        low = self.low if interval is None else min(self.low, interval.low)
        high = self.high if interval is None else max(self.high, interval.high)
        return int(low > even) - int(high < even)

    def agrees(self, stated: Delta) -> bool:
        """Could the stated difference, rounded as written, come from these figures?"""
        half = half_unit(stated.size)
        if stated.sign == "±":
            return abs(self.value) <= stated.size + half
        return self.low - half <= stated.signed <= self.high + half


def half_unit(value: Decimal) -> Decimal:
    """Half a unit in the last place that the figure was written with."""
    return Decimal((0, (5,), int(value.as_tuple().exponent) - 1))


def round_to(value: Decimal, digits: int) -> Decimal:
    """Round half up to so many digits after the point."""
    return value.quantize(Decimal((0, (1,), -digits)), rounding=ROUND_HALF_UP, context=_EXACT)


def resolved_digits(low: Decimal, high: Decimal) -> int:
    """How many digits after the point the range still tells apart, at most two."""
    width = high - low
    return next((d for d in (2, 1) if width <= Decimal((0, (1,), -d))), 0)


def relative(candidate: Decimal, baseline: Decimal) -> Difference | None:
    """Percent by which the candidate differs from the baseline; None where the baseline may be zero."""
    ratio = ratio_of(candidate, baseline)
    if ratio is None:
        return None
    low, value, high = ((r - 1) * _HUNDRED for r in (ratio.low, ratio.value, ratio.high))
    return Difference(value, low, high, "%")


def ratio_of(candidate: Decimal, baseline: Decimal) -> Difference | None:
    """Candidate over baseline, for positive figures."""
    a, b = half_unit(candidate), half_unit(baseline)
    if baseline - b <= 0 or candidate < 0:
        return None
    divide = _EXACT.divide
    low, high = divide(max(candidate - a, Decimal(0)), baseline + b), divide(candidate + a, baseline - b)
    return Difference(divide(candidate, baseline), low, high, "x")


def absolute(candidate: Decimal, baseline: Decimal, unit: str) -> Difference:
    """Candidate less baseline, in their unit."""
    slack = half_unit(candidate) + half_unit(baseline)
    value = candidate - baseline
    return Difference(value, value - slack, value + slack, unit)


def like(candidate: Decimal, baseline: Decimal, unit: str, stated: Delta | None) -> Difference | None:
    """The difference in the form in which one was stated; in percent where none was."""
    if stated is None or stated.unit == "%":
        return relative(candidate, baseline)
    if stated.unit == "x":
        return ratio_of(candidate, baseline)
    return absolute(candidate, baseline, stated.unit or unit)


def in_unit(value: Quantity, unit: str, metric: Metric | None) -> Decimal | None:
    """The figure in another unit of the same metric; None where the dictionary knows no factor."""
    if value.unit == unit:
        return value.value
    if metric is None:
        return None
    factors = {metric.unit: Decimal(1)} | {u: Decimal(f) for u, f in metric.other_units.items()}
    if value.unit not in factors or unit not in factors:
        return None
    return _EXACT.divide(_EXACT.multiply(value.value, factors[value.unit]), factors[unit])
