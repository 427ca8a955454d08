"""What holds of every sample: checked against whole-number enumeration, which shares nothing with the code."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dossier import stats

counts = st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
levels = st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99])
samples = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=80)
positive = st.floats(0.01, 1e6)
pairs = st.lists(st.tuples(positive, positive), min_size=2, max_size=30)


def enumerated(k: int, n: int, p: Fraction) -> Fraction:
    """P(B >= k), exactly."""
    return sum((math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(max(0, k), n + 1)), Fraction(0))


@given(st.integers(1, 60), st.integers(-1, 61), st.integers(0, 20))
@settings(deadline=None)
def test_binomial_tail_is_exact(n, k, twentieths):
    expected = float(enumerated(k, n, Fraction(twentieths, 20)))
    assert stats.at_least(k, n, twentieths / 20) == pytest.approx(expected, rel=1e-11, abs=1e-19)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 13, 20])
def test_clopper_pearson_never_covers_less_than_its_level(n):
    intervals = [stats.clopper_pearson(k, n) for k in range(n + 1)]
    for permille in range(1, 1000, 7):
        p = Fraction(permille, 1000)
        covered = sum(
            math.comb(n, k) * p**k * (1 - p) ** (n - k) for k, i in enumerate(intervals) if i.low <= p <= i.high
        )
        assert covered >= Fraction(95, 100)


@given(counts, levels)
@settings(deadline=None)
def test_rate_intervals_hold_the_rate_and_mirror(kn, level):
    k, n = kn
    for interval in (stats.clopper_pearson, stats.wilson):
        low, high = interval(k, n, level)
        assert 0 <= low <= k / n <= high <= 1
        mirrored = interval(n - k, n, level)
        assert (low, high) == pytest.approx((1 - mirrored.high, 1 - mirrored.low), abs=1e-9)


@given(st.integers(2, 60).flatmap(lambda n: st.tuples(st.integers(1, n), st.just(n))))
@settings(deadline=None)
def test_one_more_pass_raises_both_bounds(kn):
    k, n = kn
    fewer, more = stats.clopper_pearson(k - 1, n), stats.clopper_pearson(k, n)
    assert fewer.low < more.low
    assert fewer.high < more.high or more.high == 1


@given(counts, counts)
@settings(deadline=None)
def test_difference_of_rates_changes_sign_with_its_sides(first, second):
    there, back = stats.newcombe(*first, *second), stats.newcombe(*second, *first)
    assert there == pytest.approx((-back.difference, -back.high, -back.low), abs=1e-12)
    assert -1 <= there.low <= there.difference <= there.high <= 1


@given(st.integers(1, 120), st.sampled_from([10, 50, 90, 95]))
@settings(deadline=None)
def test_ranks_are_the_tightest_equal_tailed_ones(n, percent):
    q, tail = Fraction(percent, 100), Fraction(25, 1000)
    lows = [r for r in range(1, n + 1) if 1 - enumerated(r, n, q) <= tail]
    highs = [s for s in range(1, n + 1) if enumerated(s, n, q) <= tail]
    found = stats.order_ranks(n, percent)
    if not lows or not highs:
        assert found is None
        return
    low, high = max(lows), min(highs)
    assert found == (low, high, pytest.approx(float(enumerated(low, n, q) - enumerated(high, n, q))))
    assert found.coverage >= 0.95


@given(st.integers(1, 400), st.sampled_from([50, 90, 95, 99]))
@settings(deadline=None)
def test_interval_exists_exactly_from_the_least_n(n, percent):
    assert (stats.order_ranks(n, percent) is not None) == (n >= stats.least_n(percent, two_sided=True))


@pytest.mark.parametrize("percent", [50, 90, 95, 99])
def test_least_n_is_the_least(percent):
    n, q = stats.least_n(percent), Fraction(percent, 100)
    assert 1 - q**n >= Fraction(95, 100) > 1 - q ** (n - 1)


@given(samples, st.integers(0, 100))
def test_percentile_leaves_at_most_its_share_below(values, percent):
    found = stats.percentile(values, percent)
    assert found in values
    assert 100 * sum(v <= found for v in values) >= percent * len(values)
    assert 100 * sum(v < found for v in values) <= percent * len(values)


@given(samples, st.integers(0, 99))
def test_percentiles_rise(values, percent):
    assert stats.percentile(values, percent) <= stats.percentile(values, percent + 1)


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_never_lowers_a_p_and_keeps_their_order(ps):
    adjusted = stats.holm(ps)
    assert all(p <= a <= 1 for p, a in zip(ps, adjusted, strict=True))
    for (p, a), (q, b) in product(zip(ps, adjusted, strict=True), repeat=2):
        assert p > q or a <= b


@given(pairs)
@settings(deadline=None)
def test_ratio_of_the_other_way_is_the_inverse(values):
    candidate, baseline = zip(*values, strict=True)
    there, back = stats.paired_ratio(candidate, baseline), stats.paired_ratio(baseline, candidate)
    assert there.low <= there.ratio * (1 + 1e-12)
    assert there.ratio == pytest.approx(1 / back.ratio)
    if back.high < 1e300:
        assert there.low == pytest.approx(1 / back.high)


@given(pairs, st.floats(0.01, 0.5), st.floats(0.01, 0.4))
@settings(deadline=None)
def test_what_lies_in_a_band_lies_in_a_wider_one(values, band, more):
    candidate, baseline = zip(*values, strict=True)
    narrow, wide = (stats.equivalence(candidate, baseline, b) for b in (band, band + more))
    assert wide.equivalent or not narrow.equivalent
    assert narrow.equivalent == (1 - band < narrow.low and narrow.high < 1 + band) or narrow.p == pytest.approx(0.05)


@given(st.floats(0.5, 0.999), st.integers(1, 200))
@settings(deadline=None)
def test_t_has_wider_tails_with_fewer_degrees(probability, degrees):
    assert stats.t_quantile(probability, degrees) >= stats.t_quantile(probability, degrees + 1) - 1e-9


@given(st.floats(0.01, 0.99), st.integers(1, 40), st.integers(1, 3))
@settings(deadline=None)
def test_a_stricter_gate_passes_no_more(rate, n, tries):
    curve = [stats.acceptance(rate, least, n, tries) for least in range(n + 2)]
    assert curve[0] == 1
    assert curve[-1] == 0
    assert curve == sorted(curve, reverse=True)
