"""Planning arithmetic: the seeds' own, the usual order of operations, and what is no formula."""

from __future__ import annotations

import contextlib
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dossier.derive.deltas import half_unit
from dossier.derive.formula import FormulaError, compute


def d(text):
    return Decimal(text)


PLANNED = [
    ("393216 / 2", "196608"),
    ("393216 / 4", "98304"),
    ("393216 - 2 * (180000 + 4096)", "25024"),
    ("2493817 / 524288", "4.76"),
    ("565898 / 524288", "1.08"),
]


@pytest.mark.parametrize(("formula", "stated"), PLANNED)
def test_the_planning_arithmetic_of_the_seeds(formula, stated):
    found = compute(formula, lambda _: None)
    assert found.agrees(d(stated))
    assert not found.agrees(d(stated) + 2 * half_unit(d(stated)))
    assert str(found.like(d(stated))) == stated


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("2 + 3 * 4", 14),
        ("(2 + 3) * 4", 20),
        ("20 / 2 / 5", 2),
        ("7 − 2 − 1", 4),
        ("3 × 4 ÷ 6", 2),
        ("((5))", 5),
        ("1-2", -1),
    ],
)
def test_the_usual_order_of_operations(formula, value):
    assert compute(formula, lambda _: None).value == value


def test_references_are_numbers():
    numbers = {"pool": d("393216"), "recipes/x#context_tokens": d("8192")}
    assert compute("[[pool]] / [[recipes/x#context_tokens]]", numbers.get).value == 48


def test_what_is_not_known_is_not_computed():
    assert compute("[[pool]] / 2", lambda _: None) is None


def test_a_rounded_operand_leaves_a_range():
    found = compute("[[half]] * 10", lambda _: d("1.5"))
    assert (found.low, found.value, found.high) == (Fraction("14.5"), 15, Fraction("15.5"))


@pytest.mark.parametrize(
    "formula",
    [
        "",
        "1 +",
        "(1",
        "1)",
        "1 2",
        "* 3",
        "-5",
        "1 / 0",
        "1 / (2 - 2)",
        "2 ** 3",
        "x",
        "__import__(1)",
        "1e9",
        "(" * 500,
        "1,000",
    ],
)
def test_what_is_no_formula_is_told(formula):
    with pytest.raises(FormulaError) as caught:
        compute(formula, lambda _: None)
    assert str(caught.value)


@given(st.text(alphabet="0123456789+-*/()[].x ", max_size=40))
def test_any_text_gives_a_value_or_is_told(text):
    with contextlib.suppress(FormulaError):
        compute(text, lambda _: d(2))
