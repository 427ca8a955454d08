"""The one formatter of figures: digits as entered, thousands grouped, a real minus, a no-break space before units."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

from dossier.model.base import Quantity, Range

NBSP = "\N{NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"


def number(value: Decimal | int) -> str:
    """`327680` -> `327,680`; `-5.19` -> `−5.19`; the digits after the point stay as entered."""
    text = f"{value:,f}" if isinstance(value, Decimal) else f"{value:,}"
    return text.replace("-", MINUS)


def signed(value: Decimal) -> str:
    """As `number`, with a plus where the value is above zero."""
    return ("+" if value > 0 else "") + number(value)


def with_unit(text: str, unit: str) -> str:
    """Join a formatted number and its unit; a multiplier stands close."""
    if not unit:
        return text
    return f"{text}×" if unit == "x" else f"{text}{NBSP}{unit}"


def quantity(value: Quantity) -> str:
    """`83.08 tok/s`, `2,493,817 tokens`."""
    return with_unit(number(value.value), value.unit)


def span(value: Range) -> str:
    """`206,630`, or `255,647–255,672`."""
    if value.low == value.high:
        return number(value.low)
    return f"{number(value.low)}–{number(value.high)}"


def when(value: date | datetime) -> str:
    """`2026-09-11`, or `2026-09-11 09:45 UTC`."""
    if isinstance(value, datetime):
        seconds = ":%S" if value.second or value.microsecond else ""
        return value.strftime(f"%Y-%m-%d %H:%M{seconds} UTC")
    return value.isoformat()


def file_size(count: int) -> str:
    """Bytes for a reader: `3,732 B`, `20.1 KiB`, `3.5 MiB`."""
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{count:,}{NBSP}B" if unit == "B" else f"{size:.1f}{NBSP}{unit}"
        size /= 1024
    raise AssertionError
