"""Axes: where a value stands on a line, and at which round values the line is marked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_STEPS = (1, 2, 5, 10)
_TICKS = 5
_WIDE = 8
"""With the greatest value so many times the least an axis is logarithmic."""


@dataclass(frozen=True, slots=True)
class Scale:
    """A line from `low` to `high`, as positions from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...]
    logarithmic: bool = False

    def at(self, value: float) -> float:
        """The position of a value."""
        low, high, here = (math.log2(v) if self.logarithmic else v for v in (self.low, self.high, value))
        return self.start + (here - low) / (high - low) * (self.end - self.start)


def from_zero(values: Sequence[float], start: float, end: float) -> Scale:
    """A linear axis from zero to a round value not below the greatest."""
    step = _step(max(values, default=1) or 1)
    count = max(1, math.ceil(max(values, default=1) / step - 1e-9))
    return Scale(0, step * count, start, end, tuple(step * at for at in range(count + 1)))


def around_zero(size: float, start: float, end: float) -> Scale:
    """A linear axis with zero in the middle."""
    step = _step(size or 1)
    count = max(1, math.ceil((size or 1) / step - 1e-9))
    return Scale(-step * count, step * count, start, end, tuple(step * at for at in range(-count, count + 1)))


def along(values: Sequence[float], start: float, end: float) -> Scale:
    """An axis over sizes: by doubling where they lie far apart, else linear from zero."""
    low, high = min(values), max(values)
    if low <= 0 or high / low < _WIDE:
        return from_zero(values, start, end)
    first, last = math.floor(math.log2(low)), math.ceil(math.log2(high))
    every = max(1, math.ceil((last - first) / 6))
    ticks = tuple(float(2**power) for power in range(first, last + 1, every))
    return Scale(float(2**first), float(2**last), start, end, ticks, logarithmic=True)


def _step(size: float) -> float:
    rough = size / _TICKS
    power = 10 ** math.floor(math.log10(rough))
    return float(next(step * power for step in _STEPS if step * power >= rough - 1e-12))


def tick_label(value: float) -> str:
    """`0.5`, `100`, `4K`, `128K`, `1M`: a power of two in binary thousands, as context sizes are spoken of."""
    if value >= 1024 and value % 1024 == 0:
        return f"{value / 2**20:g}M" if value % 2**20 == 0 else f"{value / 1024:g}K"
    return f"{value:,.10g}".replace("-", "\N{MINUS SIGN}")
