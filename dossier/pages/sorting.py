"""What a table sorts a cell by: the value itself, never the way in which it is written."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal

from dossier.model.base import Quantity, Range, Unknown
from dossier.model.measurement import Delta

_SCALE = {
    "µs": Decimal("1e-6"), "us": Decimal("1e-6"), "ms": Decimal("1e-3"), "min": Decimal(60), "h": Decimal(3600),
    "KB": Decimal(10**3), "MB": Decimal(10**6), "GB": Decimal(10**9), "TB": Decimal(10**12),
    "KiB": Decimal(2**10), "MiB": Decimal(2**20), "GiB": Decimal(2**30), "TiB": Decimal(2**40),
}  # fmt: skip
"""Units that stand beside others of the same kind in one column, as multiples of the second and the byte."""
_CELL = re.compile(r"(?:≈ ?|~)?([0-9]+(?:[.,][0-9]+)*) ?([KkMm])?(?![0-9A-Za-z/])")
_FRACTION = re.compile(r"([0-9][0-9,]*)/([0-9][0-9,]*)")
_THOUSANDS = {"k": Decimal(10**3), "m": Decimal(10**6)}


def sort_key(value: object) -> str | None:
    """The key of a recorded value: a plain decimal number, or an ISO date; None for what has no order but its text.

    A quantity is taken in seconds or bytes where its unit is a multiple of them, a range by its lower end, `4K` as
    4000, `58/60` as a share.
    """
    if value is None or isinstance(value, bool | Unknown):
        return None
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, str):
        return _text_key(value)
    amount = _amount(value)
    return None if amount is None else _plain(amount)


def _amount(value: object) -> Decimal | None:
    match value:
        case Quantity():
            return value.value * _SCALE.get(value.unit, Decimal(1))
        case Range():
            return Decimal(value.low)
        case Delta():
            return value.signed
        case int() | Decimal():
            return Decimal(value)
    return None


def _text_key(text: str) -> str | None:
    """The number that a short label begins with, as cells are labelled: `120K target`, `58/60`."""
    if found := _FRACTION.fullmatch(text):
        passed, planned = (int(part.replace(",", "")) for part in found.groups())
        return _plain(Decimal(passed) / planned) if planned else None
    found = _CELL.match(text)
    if found is None:
        return None
    digits = found[1].replace(",", "")
    return None if digits.count(".") > 1 else _plain(Decimal(digits) * _THOUSANDS.get((found[2] or "").lower(), 1))


def _plain(value: Decimal) -> str:
    return f"{value.normalize():f}"
