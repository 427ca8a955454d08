"""Pure statistics of small samples: percentiles, exact intervals, and the few tests that a claim may rest on.

Nothing is resampled or drawn at random, so a figure recomputes to the last digit. What a sample cannot say is
None, never a number: a percentile of nothing, an interval that so few values do not have.

Sources: Clopper and Pearson 1934, Wilson 1927, Newcombe 1998 (method 10), Schuirmann 1987 (two one-sided tests),
Holm 1979, Abramowitz and Stegun 26.7.3 and 26.7.4 (Student's t for whole degrees of freedom).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

Percent = int | Decimal | Fraction
"""A percentage that is exact: 95, or Decimal("99.9"); a float would not be."""

_NEGLIGIBLE = 1e-25
_CACHED = 4096


class Bounds(NamedTuple):
    """A lower and an upper bound."""

    low: float
    high: float


class Ranks(NamedTuple):
    """Which of the sorted values (from 1) bound a quantile, and with what probability they do."""

    low: int
    high: int
    coverage: float


class Ratio(NamedTuple):
    """A ratio with its interval, of `n` pairs."""

    ratio: float
    low: float
    high: float
    n: int


class Difference(NamedTuple):
    """A difference with its interval."""

    difference: float
    low: float
    high: float


class Trend(NamedTuple):
    """A slope, in units of y for one of x, with its interval, of `n` points."""

    slope: float
    low: float
    high: float
    n: int


class Equivalence(NamedTuple):
    """Two one-sided tests: the ratio, its interval at 1 - 2 alpha, the larger p, and whether both tests reject."""

    ratio: float
    low: float
    high: float
    p: float
    equivalent: bool


def nearest_rank(n: int, percent: Percent) -> int:
    """The rank (from 1) of a percentile among `n` sorted values: ceil(percent * n / 100), by exact arithmetic."""
    if n < 1 or not 0 <= percent <= 100:
        raise ValueError(f"no rank of p{percent} among {n} values")
    return max(1, -(-Fraction(percent) * n // 100))


def percentile(values: Sequence[float], percent: Percent) -> float | None:
    """The nearest-rank percentile, always one of the values; None where there are none."""
    return sorted(values)[nearest_rank(len(values), percent) - 1] if values else None


def median(values: Sequence[float]) -> float | None:
    """The conventional median: the midpoint of the two middle values of an even count; None where there are none."""
    return statistics.median(values) if values else None


@lru_cache(_CACHED)
def least_n(percent: Percent, level: float = 0.95, *, two_sided: bool = False) -> int:
    """The fewest values that bound a quantile at this level, from above or (equal-tailed) on both sides.

    From so many values on the greatest is an upper bound of the quantile; a percentile of fewer is not one.
    """
    q, alpha = float(Fraction(percent) / 100), 1 - level
    if two_sided:
        q, alpha = max(q, 1 - q), alpha / 2
    if not (0 < q < 1 and 0 < alpha < 1):
        raise ValueError(f"no bound of p{percent} at level {level}")
    n = max(1, math.floor(math.log(alpha) / math.log(q)) - 1)
    while q**n > alpha:
        n += 1
    return n


@lru_cache(_CACHED)
def order_ranks(n: int, percent: Percent, level: float = 0.95) -> Ranks | None:
    """The ranks of the exact equal-tailed interval for a quantile, or None where `n` values have none.

    For independent values of a continuous quantity, whatever its distribution.
    """
    if n < 1:
        return None
    q, tail = float(Fraction(percent) / 100), (1 - level) / 2
    low = _last(lambda r: at_most(r - 1, n, q) <= tail, n)
    high = n + 1 - _last(lambda r: at_least(n + 1 - r, n, q) <= tail, n)
    if low == 0 or high > n:
        return None
    return Ranks(low, high, at_most(high - 1, n, q) - at_most(low - 1, n, q))


def order_interval(values: Sequence[float], percent: Percent, level: float = 0.95) -> Bounds | None:
    """The exact interval for a quantile between two of the values; None where there are too few."""
    ranks = order_ranks(len(values), percent, level)
    if ranks is None:
        return None
    ranked = sorted(values)
    return Bounds(ranked[ranks.low - 1], ranked[ranks.high - 1])


@lru_cache(_CACHED)
def clopper_pearson(k: int, n: int, level: float = 0.95) -> Bounds:
    """The exact interval of a rate with `k` of `n`; it never covers less than its level, so gates use it."""
    _check_counts(k, n)
    tail = (1 - level) / 2
    low = 0.0 if k == 0 else _root(lambda p: at_least(k, n, p) - tail, 0.0, 1.0)
    high = 1.0 if k == n else _root(lambda p: tail - at_most(k, n, p), 0.0, 1.0)
    return Bounds(low, high)


def rate_bound(k: int, n: int, level: float = 0.95) -> float:
    """The exact one-sided upper bound of a rate with `k` of `n`."""
    return clopper_pearson(k, n, 2 * level - 1).high


def wilson(k: int, n: int, level: float = 0.95) -> Bounds:
    """Wilson's score interval of a rate: closer to its level on average, but it may cover less."""
    _check_counts(k, n)
    z = statistics.NormalDist().inv_cdf((1 + level) / 2)
    p, scale = k / n, 1 + z * z / n
    centre = (p + z * z / (2 * n)) / scale
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / scale
    return Bounds(0.0 if k == 0 else centre - half, 1.0 if k == n else centre + half)


def newcombe(k1: int, n1: int, k2: int, n2: int, level: float = 0.95) -> Difference:
    """The difference of two independent rates, first less second, with Newcombe's interval."""
    first, second = wilson(k1, n1, level), wilson(k2, n2, level)
    p1, p2 = k1 / n1, k2 / n2
    low = p1 - p2 - math.hypot(p1 - first.low, second.high - p2)
    return Difference(p1 - p2, low, p1 - p2 + math.hypot(first.high - p1, p2 - second.low))


def sign_test(one_way: int, other_way: int) -> float:
    """The exact two-sided p of so many differences either way; ties are left out before. 1.0 of none."""
    n, fewer = one_way + other_way, min(one_way, other_way)
    return min(1.0, 2 * at_most(fewer, n, 0.5)) if n else 1.0


def mcnemar(only_first: int, only_second: int) -> float:
    """The exact two-sided p where the same prompts ran in both arms: prompts that passed in only one of them."""
    return sign_test(only_first, only_second)


def paired_ratio(candidate: Sequence[float], baseline: Sequence[float], level: float = 0.95) -> Ratio | None:
    """The geometric mean of paired ratios with its t interval; None of fewer than two pairs.

    Raises ValueError where the sides differ in length or hold a value that is not above zero.
    """
    mean, error, n = _log_ratios(candidate, baseline)
    if error is None:
        return None
    half = t_quantile((1 + level) / 2, n - 1) * error
    return Ratio(math.exp(mean), math.exp(mean - half), math.exp(mean + half), n)


def paired_difference(candidate: Sequence[float], baseline: Sequence[float], level: float = 0.95) -> Difference | None:
    """The mean of paired differences with its t interval; None of fewer than two pairs.

    Raises ValueError where the sides differ in length.
    """
    differences = [c - b for c, b in zip(candidate, baseline, strict=True)]
    n = len(differences)
    if n < 2:
        return None
    mean = statistics.fmean(differences)
    half = t_quantile((1 + level) / 2, n - 1) * statistics.stdev(differences) / math.sqrt(n)
    return Difference(mean, mean - half, mean + half)


def paired_p(candidate: Sequence[float], baseline: Sequence[float]) -> float | None:
    """The two-sided p of a paired t test that the ratio is 1; None of fewer than two pairs.

    Raises ValueError as `paired_ratio` does.
    """
    mean, error, n = _log_ratios(candidate, baseline)
    if error is None:
        return None
    return 2 * min(0.5, _p_above(abs(mean), 0.0, error, n - 1))


def fisher(k1: int, n1: int, k2: int, n2: int) -> float:
    """The exact two-sided p of two rates: all tables of these margins that are no likelier than this one."""
    _check_counts(k1, n1)
    _check_counts(k2, n2)
    passed = k1 + k2
    tables = range(max(0, passed - n2), min(n1, passed) + 1)
    logs = {k: _log_comb(n1, k) + _log_comb(n2, passed - k) for k in tables}
    most = max(logs.values())
    weights = {k: math.exp(log - most) for k, log in logs.items()}
    # Two tables that are exactly as likely differ by rounding in the last digits.
    return math.fsum(w for w in weights.values() if w <= weights[k1] * (1 + 1e-9)) / math.fsum(weights.values())


def _log_comb(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def equivalence(
    candidate: Sequence[float], baseline: Sequence[float], band: float, alpha: float = 0.05
) -> Equivalence | None:
    """Is the paired ratio shown to lie within 1 - band to 1 + band? None of fewer than two pairs.

    The band is declared before the run; "no difference was found" is not this claim.
    """
    if not 0 < band < 1:
        raise ValueError(f"no band of ±{band}")
    mean, error, n = _log_ratios(candidate, baseline)
    if error is None:
        return None
    p = max(_p_above(mean, math.log1p(-band), error, n - 1), _p_above(-mean, -math.log1p(band), error, n - 1))
    half = t_quantile(1 - alpha, n - 1) * error
    return Equivalence(math.exp(mean), math.exp(mean - half), math.exp(mean + half), p, p < alpha)


def trend(xs: Sequence[float], ys: Sequence[float], level: float = 0.95) -> Trend | None:
    """The slope of a straight line by least squares, with its t interval.

    None of fewer than three points, or where all lie at one x. Neighbours that are alike make it look surer than it is.
    """
    n = len(xs)
    if n < 3 or len(set(xs)) < 2:
        return None
    middle, mean = statistics.fmean(xs), statistics.fmean(ys)
    width = math.fsum((x - middle) ** 2 for x in xs)
    slope = math.fsum((x - middle) * (y - mean) for x, y in zip(xs, ys, strict=True)) / width
    rest = math.fsum((y - mean - slope * (x - middle)) ** 2 for x, y in zip(xs, ys, strict=True))
    half = t_quantile((1 + level) / 2, n - 2) * math.sqrt(rest / (n - 2) / width)
    return Trend(slope, slope - half, slope + half, n)


def holm(ps: Sequence[float]) -> list[float]:
    """Adjusted p of each of several tests, in their own order, so that a false alarm is rare over all of them."""
    adjusted, running = [0.0] * len(ps), 0.0
    for done, index in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        running = max(running, min(1.0, (len(ps) - done) * ps[index]))
        adjusted[index] = running
    return adjusted


def acceptance(rate: float, least: int, n: int, tries: int = 1) -> float:
    """How probably a system of this true rate meets a gate of `least` of `n`, when the best of `tries` counts.

    Over several rates this is the operating curve, published beside the gate.
    """
    return 1 - (1 - at_least(least, n, rate)) ** tries


def little_ratio(in_flight: float, per_second: float, mean_seconds: float) -> float | None:
    """Mean requests in flight over arrivals a second times mean seconds: 1 where a load adds up (Little's law)."""
    return in_flight / (per_second * mean_seconds) if per_second * mean_seconds > 0 else None


def at_most(k: int, n: int, p: float) -> float:
    """P(B <= k) of a binomial count."""
    return at_least(n - k, n, 1 - p)


def at_least(k: int, n: int, p: float) -> float:
    """P(B >= k) of a binomial count, to about 13 digits; less than 1e-20 counts as nothing.

    Terms are taken relative to the greatest one and divided by their sum, so no factorial loses digits.
    """
    if k <= 0:
        return 1.0
    if k > n or p <= 0:
        return 0.0
    if p >= 1:
        return 1.0
    mode = min(n, int((n + 1) * p))
    odds = p / (1 - p)
    inside, outside = [1.0] if mode >= k else [], [] if mode >= k else [1.0]
    term = 1.0
    for i in range(mode, n):
        term *= (n - i) / (i + 1) * odds
        (inside if i + 1 >= k else outside).append(term)
        if term < _NEGLIGIBLE:
            break
    term = 1.0
    for i in range(mode, 0, -1):
        term *= i / (n - i + 1) / odds
        (inside if i - 1 >= k else outside).append(term)
        if term < _NEGLIGIBLE:
            break
    held = math.fsum(inside)
    return held / (held + math.fsum(outside))


@lru_cache(_CACHED)
def t_quantile(probability: float, degrees: int) -> float:
    """The quantile of Student's t, for a probability of 0.5 to 1 and whole degrees of freedom."""
    if not 0.5 <= probability < 1 or degrees < 1:
        raise ValueError(f"no t quantile of {probability} with {degrees} degrees of freedom")
    angle = _root(lambda a: _t_below(a, degrees) - probability, 0.0, math.pi / 2)
    return math.sqrt(degrees) * math.tan(angle)


def _t_below(angle: float, degrees: int) -> float:
    """P(T < t) where angle = atan(t / sqrt(degrees)); a finite sum."""
    cosine, sine = math.cos(angle), math.sin(angle)
    odd = degrees % 2
    term = cosine if odd else 1.0
    total = 0.0
    for i in range(1 + odd, degrees, 2):
        total += term
        term *= cosine * cosine * i / (i + 1)
    central = 2 / math.pi * (angle + sine * total) if odd else sine * total
    return (1 + central) / 2


def _p_above(mean: float, limit: float, error: float, degrees: int) -> float:
    """One-sided p that the true mean is not above the limit."""
    if error == 0:
        return 0.0 if mean > limit else 1.0
    return 1 - _t_below(math.atan((mean - limit) / error / math.sqrt(degrees)), degrees)


def _log_ratios(candidate: Sequence[float], baseline: Sequence[float]) -> tuple[float, float | None, int]:
    """Mean of the log ratios, its standard error (None of fewer than two) and their count."""
    if len(candidate) != len(baseline):
        raise ValueError(f"{len(candidate)} values cannot be paired with {len(baseline)}")
    if any(not 0 < x < math.inf for x in (*candidate, *baseline)):
        raise ValueError("a ratio needs finite values above zero")
    logs = [math.log(c / b) for c, b in zip(candidate, baseline, strict=True)]
    n = len(logs)
    if n < 2:
        return (logs[0] if logs else 0.0), None, n
    return statistics.fmean(logs), statistics.stdev(logs) / math.sqrt(n), n


def _last(holds: Callable[[int], bool], n: int) -> int:
    """The greatest of 1..n for which a condition holds that holds up to some point; 0 where there is none."""
    low, high = 0, n
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def _root(rising: Callable[[float], float], low: float, high: float) -> float:
    """Where a rising function crosses zero, to the last digit."""
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if rising(middle) < 0 else (low, middle)
    return middle


def _check_counts(k: int, n: int) -> None:
    if not 0 <= k <= n or n == 0:
        raise ValueError(f"no rate of {k} in {n}")
