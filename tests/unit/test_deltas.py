"""Differences of figures as written; the values are those of the published pages, worked out by hand."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dossier.derive.deltas import absolute, half_unit, in_unit, ratio_of, relative
from dossier.model.base import Quantity
from dossier.model.measurement import Delta, Interval
from dossier.model.metrics import METRICS


@pytest.mark.parametrize(
    ("candidate", "baseline", "stated", "agrees"),
    [
        ("149.02", "112.07", "+33.0 %", True),  # 32.970
        ("125.03", "96.17", "+30.0 %", True),  # 30.009
        ("124.46", "102.42", "+21.5 %", True),  # 21.519
        ("120.29", "99.79", "+20.5 %", True),  # 20.543
        ("142.64", "102.19", "+39.5 %", False),  # 39.571 to 39.595
        ("142.64", "102.19", "+39.6 %", True),
        ("83.08", "42.61", "+95.0 %", True),  # 94.978
        ("69.99", "43.63", "+60.4 %", True),  # 60.417
        ("112.07", "149.02", "-33.0 %", False),  # the other way it is -24.8
        ("112.07", "149.02", "-24.8 %", True),
        ("102.3", "100.0", "±2.3 %", True),
        ("97.0", "100.0", "±2.3 %", False),
    ],
)
def test_a_stated_difference_agrees_when_rounding_allows_it(candidate, baseline, stated, agrees):
    found = relative(Decimal(candidate), Decimal(baseline))
    assert found is not None
    assert found.agrees(Delta.model_validate(stated)) is agrees


@pytest.mark.parametrize(
    ("candidate", "baseline", "shown"),
    [
        ("142.64", "102.19", "+39.6\N{NO-BREAK SPACE}%"),
        ("0.123", "0.178", "−31\N{NO-BREAK SPACE}%"),  # three digits each leave a whole percent
        ("100", "100", "0\N{NO-BREAK SPACE}%"),
    ],
)
def test_a_difference_shows_the_digits_that_it_carries(candidate, baseline, shown):
    found = relative(Decimal(candidate), Decimal(baseline))
    assert found is not None
    assert found.text == shown


def test_a_ratio_and_an_absolute_difference():
    ratio = ratio_of(Decimal("3.17"), Decimal("1.00"))
    assert ratio is not None
    assert ratio.agrees(Delta.model_validate("3.17x"))
    assert absolute(Decimal(58), Decimal(53), "points").text == "+5\N{NO-BREAK SPACE}points"


def test_a_baseline_that_may_be_zero_gives_no_ratio():
    assert relative(Decimal("1.0"), Decimal("0.0")) is None
    assert relative(Decimal(1), Decimal("0.4")) is not None


@pytest.mark.parametrize(("value", "half"), [("97.60", "0.005"), ("4", "0.5"), ("0.1", "0.05")])
def test_half_a_unit_of_the_last_place(value, half):
    assert half_unit(Decimal(value)) == Decimal(half)


def test_units_of_one_metric_are_turned_into_each_other():
    assert in_unit(Quantity.model_validate("178 ms"), "s", METRICS["ttft_visible"]) == Decimal("0.178")
    assert in_unit(Quantity.model_validate("2 GiB"), "MiB", METRICS["gpu_memory_free"]) == 2048
    assert in_unit(Quantity.model_validate("2 GiB"), "s", METRICS["gpu_memory_free"]) is None


@given(
    a=st.decimals(min_value=Decimal("0.01"), max_value=1000, places=2),
    b=st.decimals(min_value=Decimal("0.01"), max_value=1000, places=2),
)
def test_the_value_lies_within_its_range_and_agrees_with_itself(a, b):
    found = relative(a, b)
    assert found is not None
    assert found.low <= found.value <= found.high
    size = abs(found.value).quantize(Decimal("0.0001"))
    sign = "-" if found.value < 0 else "+"
    assert found.agrees(Delta(sign=sign, size=size, unit="%"))


def test_a_difference_that_rounds_to_nothing_has_no_sign():
    found = relative(Decimal("1.005"), Decimal("1.006"))  # -0.099, known within 0.1
    assert found is not None
    assert found.text == "0\N{NO-BREAK SPACE}%"


@pytest.mark.parametrize(
    ("interval", "direction"),
    [
        (None, 1),  # 2.344 over 2.340: 0.128 to 0.214 by rounding alone
        (("-0.05113", "0.4204"), 0),
        (("0.01", "0.4204"), 1),
    ],
)
def test_a_difference_points_nowhere_where_its_interval_holds_both(interval, direction):
    found = relative(Decimal("2.344"), Decimal("2.340"))
    bounds = interval and Interval.model_validate(
        {"low": interval[0], "high": interval[1], "level": "95", "method": "t"}
    )
    assert found is not None
    assert found.direction(bounds) == direction
