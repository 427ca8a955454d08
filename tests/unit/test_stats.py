"""Every expected value is quoted from the literature table in the project's reference, made there with SciPy."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest

from dossier import stats

NEAR = {"abs": 5e-7}


class TestPercentiles:
    @pytest.mark.parametrize(
        ("percent", "n", "rank"),
        [(50, 12, 6), (95, 12, 12), (95, 20, 19), (99, 60, 60), (95, 3, 3), (50, 3, 2), (99, 200, 198)],
    )
    def test_nearest_rank(self, percent, n, rank):
        assert stats.nearest_rank(n, percent) == rank

    def test_no_float_rounds_a_rank_up(self):
        assert (math.ceil(7 / 100 * 100), math.ceil(55 / 100 * 100)) == (8, 56)
        assert (stats.nearest_rank(100, 7), stats.nearest_rank(100, 55)) == (7, 55)

    def test_a_percentage_may_have_digits_after_the_point(self):
        assert stats.nearest_rank(1000, Decimal("99.9")) == 999
        assert stats.nearest_rank(1001, Fraction(999, 10)) == 1000

    def test_is_an_observed_value(self):
        values = [2.00, 0.10, 0.11, 0.12, 0.13, 0.14, 0.15, 0.16, 0.17, 0.18, 0.19, 0.20]
        assert stats.percentile(values, 95) == 2.00

    def test_ends(self):
        assert stats.percentile([3, 1, 2], 0) == 1
        assert stats.percentile([3, 1, 2], 100) == 3

    def test_median_is_the_midpoint_of_an_even_count(self):
        assert stats.median([4, 1, 3, 2]) == 2.5
        assert stats.median([3, 1, 2]) == 2

    def test_nothing_has_no_percentile(self):
        assert stats.percentile([], 95) is None
        assert stats.median([]) is None

    @pytest.mark.parametrize("percent", [-1, 101])
    def test_refuses_what_is_no_percentage(self, percent):
        with pytest.raises(ValueError, match="no rank"):
            stats.nearest_rank(10, percent)


class TestQuantileIntervals:
    @pytest.mark.parametrize(
        ("n", "low", "high", "coverage"),
        [
            (6, 1, 6, 0.96875),
            (9, 2, 8, 0.960938),
            (12, 3, 10, 0.961426),
            (15, 4, 12, 0.964844),
            (20, 6, 15, 0.958611),
            (30, 10, 21, 0.957226),
            (60, 22, 39, 0.972660),
            (100, 40, 61, 0.964800),
        ],
    )
    def test_of_the_median(self, n, low, high, coverage):
        assert stats.order_ranks(n, 50) == (low, high, pytest.approx(coverage, **NEAR))

    @pytest.mark.parametrize(
        ("n", "low", "high", "coverage"),
        [(72, 64, 72, 0.965490), (100, 90, 100, 0.982607), (200, 184, 197, 0.967152), (1000, 936, 964, 0.958095)],
    )
    def test_of_p95(self, n, low, high, coverage):
        assert stats.order_ranks(n, 95) == (low, high, pytest.approx(coverage, **NEAR))

    def test_of_p99(self):
        assert stats.order_ranks(1000, 99) == (983, 997, pytest.approx(0.976095, **NEAR))

    @pytest.mark.parametrize(
        ("n", "percent"), [(0, 50), (3, 50), (4, 50), (5, 50), (60, 95), (71, 95), (60, 99), (367, 99)]
    )
    def test_too_few_values_have_none(self, n, percent):
        assert stats.order_ranks(n, percent) is None
        assert stats.order_interval(range(n), percent) is None

    def test_exists_from_the_least_n_on(self):
        assert stats.order_ranks(368, 99) is not None

    def test_lies_between_two_of_the_values(self):
        assert stats.order_interval([12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1], 50) == (3, 10)

    @pytest.mark.parametrize(
        ("percent", "level", "n"),
        [
            (50, 0.95, 5),
            (90, 0.95, 29),
            (95, 0.95, 59),
            (99, 0.95, 299),
            (Decimal("99.9"), 0.95, 2995),
            (50, 0.99, 7),
            (90, 0.99, 44),
            (95, 0.99, 90),
            (99, 0.99, 459),
            (Decimal("99.9"), 0.99, 4603),
        ],
    )
    def test_least_n_for_an_upper_bound(self, percent, level, n):
        assert stats.least_n(percent, level) == n

    @pytest.mark.parametrize(
        ("percent", "n"), [(50, 6), (90, 36), (95, 72), (99, 368), (Decimal("99.9"), 3688), (10, 36)]
    )
    def test_least_n_for_both_sides(self, percent, n):
        assert stats.least_n(percent, two_sided=True) == n

    def test_no_number_of_values_bounds_the_greatest(self):
        with pytest.raises(ValueError, match="no bound"):
            stats.least_n(100)


class TestRates:
    @pytest.mark.parametrize(
        ("k", "n", "low", "high"),
        [
            (60, 60, 0.940371, 1),
            (58, 60, 0.884719, 0.995937),
            (57, 60, 0.860757, 0.989568),
            (53, 60, 0.774284, 0.951785),
            (4, 5, 0.283582, 0.994949),
            (5, 5, 0.478176, 1),
            (1, 1, 0.025, 1),
            (3, 3, 0.292402, 1),
            (12, 12, 0.735352, 1),
            (15, 15, 0.781981, 1),
            (30, 30, 0.884297, 1),
            (90, 100, 0.823777, 0.950995),
            (120, 120, 0.969727, 1),
            (128, 150, 0.786406, 0.905745),
            (0, 10, 0, 0.308497),
            (0, 60, 0, 0.059629),
        ],
    )
    def test_clopper_pearson(self, k, n, low, high):
        assert stats.clopper_pearson(k, n) == pytest.approx((low, high), **NEAR)

    @pytest.mark.parametrize(
        ("k", "n", "low", "high"),
        [
            (60, 60, 0.939828, 1),
            (58, 60, 0.886362, 0.990811),
            (57, 60, 0.862995, 0.982850),
            (53, 60, 0.778212, 0.942323),
            (4, 5, 0.375535, 0.963776),
            (90, 100, 0.825634, 0.944771),
            (128, 150, 0.787915, 0.901106),
        ],
    )
    def test_wilson(self, k, n, low, high):
        assert stats.wilson(k, n) == pytest.approx((low, high), **NEAR)

    def test_one_sided_bound_of_no_failures(self):
        assert stats.rate_bound(0, 60) == pytest.approx(0.048703, **NEAR)

    @pytest.mark.parametrize(("k", "n"), [(0, 0), (3, 2), (-1, 2)])
    def test_refuses_impossible_counts(self, k, n):
        for interval in (stats.clopper_pearson, stats.wilson):
            with pytest.raises(ValueError, match="no rate"):
                interval(k, n)

    def test_newcombe(self):
        assert stats.newcombe(58, 60, 53, 60) == pytest.approx((0.083333, -0.016309, 0.191192), **NEAR)

    @pytest.mark.parametrize(("one", "other", "p"), [(7, 2, 0.179688), (5, 0, 0.0625), (6, 0, 0.03125)])
    def test_mcnemar(self, one, other, p):
        assert stats.mcnemar(one, other) == pytest.approx(p, **NEAR)

    @pytest.mark.parametrize(("n", "p"), [(3, 0.25), (6, 0.03125), (12, 0.000488281)])
    def test_sign_test_of_one_way(self, n, p):
        assert stats.sign_test(n, 0) == stats.sign_test(0, n) == pytest.approx(p, **NEAR)

    def test_no_difference_shows_nothing(self):
        assert stats.sign_test(0, 0) == 1.0


class TestGates:
    @pytest.mark.parametrize(
        ("rate", "of_all", "of_58"),
        [(0.95, 0.046070, 0.417436), (0.98, 0.297553, 0.881258), (0.99, 0.547157, 0.977580)],
    )
    def test_operating_curve(self, rate, of_all, of_58):
        assert stats.acceptance(rate, 60, 60) == pytest.approx(of_all, **NEAR)
        assert stats.acceptance(rate, 58, 60) == pytest.approx(of_58, **NEAR)

    @pytest.mark.parametrize(("least", "p"), [(58, 0.660619), (60, 0.090018)])
    def test_best_of_two_passes_more(self, least, p):
        assert stats.acceptance(0.95, least, 60, tries=2) == pytest.approx(p, abs=1e-6)

    def test_trend_of_a_line_through_five_points(self):
        """By hand: slope 6/10, residuals' sum of squares 2.4, standard error sqrt(2.4/3/10), t(.975, 3) = 3.182446."""
        found = stats.trend([1, 2, 3, 4, 5], [2, 4, 5, 4, 5])
        assert found == pytest.approx((0.6, -0.300133, 1.500133, 5), abs=1e-5)

    def test_no_trend_of_two_points_or_at_one_place(self):
        assert stats.trend([1, 2], [1, 2]) is None
        assert stats.trend([1, 1, 1], [1, 2, 3]) is None

    def test_holm(self):
        assert stats.holm([0.010, 0.020, 0.030, 0.040]) == pytest.approx([0.04, 0.06, 0.06, 0.06])

    def test_holm_keeps_the_order_and_stays_below_one(self):
        assert stats.holm([0.9, 0.01, 0.8]) == pytest.approx([1.0, 0.03, 1.0])
        assert stats.holm([]) == []


class TestRatios:
    BASELINE = (100, 104, 98, 110, 102, 95, 107, 101, 99, 103, 106, 100)
    CANDIDATE = (93, 99, 92, 101, 97, 90, 100, 95, 93, 98, 99, 94)
    NEARLY_ONE = (1.010, 0.995, 1.004, 0.990, 1.012, 0.998, 1.006, 0.993, 1.001, 1.008, 0.996, 1.003)

    def test_paired(self):
        found = stats.paired_ratio(self.CANDIDATE, self.BASELINE)
        assert found == (*(pytest.approx(x, **NEAR) for x in (0.939719, 0.933392, 0.946090)), 12)

    def test_equivalent_within_three_percent(self):
        found = stats.equivalence(self.NEARLY_ONE, [1] * 12, 0.03)
        assert found[:3] == pytest.approx((1.001311, 0.997675, 1.004959), **NEAR)
        assert found.equivalent

    @pytest.mark.parametrize(
        ("sd", "low", "p", "holds"), [(0.001, 0.97036, 0.035188, True), (0.002, 0.96873, 0.108197, False)]
    )
    def test_three_pairs_inside_the_band_may_still_not_be_equivalent(self, sd, low, p, holds):
        logs = [math.log(0.972) + step for step in (-sd, 0, sd)]  # of three such values, sd is the deviation
        found = stats.equivalence([math.exp(x) for x in logs], [1, 1, 1], 0.03)
        assert found.low == pytest.approx(low, abs=6e-6)
        assert found.p == pytest.approx(p, abs=1e-6)
        assert found.equivalent is holds

    def test_equal_pairs_without_spread(self):
        assert stats.equivalence([1, 1], [1, 1], 0.03) == (1, 1, 1, 0, True)
        assert not stats.equivalence([2, 2], [1, 1], 0.03).equivalent

    def test_one_pair_has_no_spread(self):
        assert stats.paired_ratio([1], [2]) is None
        assert stats.paired_ratio([], []) is None
        assert stats.equivalence([1], [1], 0.03) is None

    def test_pairs_need_two_sides(self):
        with pytest.raises(ValueError, match="2 values cannot be paired with 1"):
            stats.paired_ratio([1, 2], [1])

    @pytest.mark.parametrize("odd", [0, -1, math.inf, math.nan])
    def test_refuses_what_has_no_ratio(self, odd):
        with pytest.raises(ValueError, match="above zero"):
            stats.paired_ratio([1, odd], [1, 1])

    @pytest.mark.parametrize("band", [0, 1, -0.03])
    def test_a_band_is_a_share(self, band):
        with pytest.raises(ValueError, match="band"):
            stats.equivalence([1, 1], [1, 1], band)

    @pytest.mark.parametrize(
        ("probability", "degrees", "t"),
        [
            (0.975, 2, 4.302653),
            (0.95, 2, 2.919986),
            (0.975, 11, 2.200985),
            (0.95, 11, 1.795885),
            (0.975, 1, 12.706205),  # Student's own table, one degree
            (0.975, 1000, 1.962339),
        ],
    )
    def test_t_quantiles(self, probability, degrees, t):
        assert stats.t_quantile(probability, degrees) == pytest.approx(t, abs=1e-6)

    @pytest.mark.parametrize(("probability", "degrees"), [(0.4, 3), (1, 3), (0.95, 0)])
    def test_no_t_quantile(self, probability, degrees):
        with pytest.raises(ValueError, match="no t quantile"):
            stats.t_quantile(probability, degrees)


def test_littles_law():
    assert stats.little_ratio(3, per_second=2, mean_seconds=1.5) == 1
    assert stats.little_ratio(3, per_second=0, mean_seconds=1.5) is None


@pytest.mark.parametrize(("p", "failing"), [(0.95, 0.953930), (0.99, 0.452843)])
def test_greatest_of_sixty_bounds_a_quantile(p, failing):
    assert 1 - stats.at_least(60, 60, p) == pytest.approx(failing, **NEAR)


def test_twenty_cells_raise_a_false_alarm():
    assert stats.at_least(1, 20, 0.05) == pytest.approx(0.641514, **NEAR)
