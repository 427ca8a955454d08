"""What tables sort by: values as they were recorded, whatever way they are written."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from dossier.model.base import Quantity, Range, Unknown
from dossier.model.measurement import Delta
from dossier.pages.sorting import sort_key


@pytest.mark.parametrize(
    ("value", "key"),
    [
        (327680, "327680"),
        (Decimal("97.60"), "97.6"),
        (Quantity(value=Decimal("83.08"), unit="tok/s"), "83.08"),
        (Quantity(value=Decimal(90), unit="ms"), "0.09"),
        (Quantity(value=Decimal("1.2"), unit="s"), "1.2"),
        (Quantity(value=Decimal(2), unit="MiB"), "2097152"),
        (Range(low=255647, high=255672), "255647"),
        (Delta.model_validate("−5.19 %"), "-5.19"),
        (Delta.model_validate("+39.5 %"), "39.5"),
        (date(2026, 9, 9), "2026-09-09"),
        ("4K", "4000"),
        ("120K target", "120000"),
        ("1M", "1000000"),
        ("327,680", "327680"),
        ("3/3", "1"),
        ("1,000/2,000", "0.5"),
        ("0/0", None),
        ("4Kx", None),
        ("2026.09.11", None),
        ("words 4", None),
        ("", None),
        (None, None),
        (True, None),
        (Unknown(unknown="not printed"), None),
    ],
)
def test_a_value_has_one_key(value, key):
    assert sort_key(value) == key


def test_passes_sort_by_share_and_sizes_by_tokens():
    assert Decimal(sort_key("58/60")) < Decimal(sort_key("3/3"))
    labels = ["120K", "4K", "1M", "64K"]
    assert sorted(labels, key=lambda t: Decimal(sort_key(t))) == ["4K", "64K", "120K", "1M"]
