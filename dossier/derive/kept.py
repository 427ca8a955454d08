"""What a pointer finds in a kept artifact, and whether a figure says the same."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from dossier.derive.deltas import half_unit
from dossier.model.base import Quantity
from dossier.model.metrics import Metric

_LINE = re.compile(r"line ([1-9][0-9]{0,8})")
_WHOLE = r"[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,40}"
_NUMBER = re.compile(
    rf"(?<![0-9A-Za-z_.,])[+-]?(?:{_WHOLE})(?:\.[0-9]{{1,40}})?(?:[eE][+-]?[0-9]{{1,2}})?(?![.,]?[0-9]|[A-Za-z_]*[0-9_])"
)
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")


class PointerError(ValueError):
    """The text is not JSON, or nothing stands where the pointer points; the message says which."""


def read_json(data: bytes) -> Any:
    """JSON with exact decimals. Raises PointerError for what is not JSON: also NaN, an infinity, too great a depth."""
    try:
        return json.loads(data.decode("utf-8"), parse_float=_decimal, parse_int=_decimal, parse_constant=_refuse)
    except UnicodeDecodeError as error:
        raise PointerError(f"byte {error.start} is not UTF-8") from error
    except json.JSONDecodeError as error:
        raise PointerError(f"line {error.lineno}, column {error.colno}: {error.msg}") from error
    except RecursionError as error:
        raise PointerError("it is nested too deeply") from error


def _decimal(text: str) -> Decimal:
    if len(text) > 400 or not re.fullmatch(r"[^eE]*(?:[eE][+-]?0*[0-9]{1,3})?", text):
        raise PointerError(f"the number {text[:20]}... is out of all range")
    return Decimal(text)


def _refuse(word: str) -> None:
    raise PointerError(f"{word} is not a number of JSON")


def numbers_at(data: bytes, pointer: str) -> list[Decimal]:
    """The numbers at a JSON pointer (RFC 6901), or in `line N` of a text. Raises PointerError."""
    if match := _LINE.fullmatch(pointer):
        return list(_numbers_in(_line(data, int(match[1]))))
    found = resolve_pointer(read_json(data), pointer)
    if isinstance(found, Decimal):
        return [found]
    if isinstance(found, str) and (numbers := list(_numbers_in(found))):
        return numbers
    kind = {dict: "an object", list: "an array", str: "a text", bool: "true or false"}.get(type(found), "null")
    raise PointerError(f"at {pointer[:90]!r} stands {kind}, not a number")


def resolve_pointer(data: Any, pointer: str) -> Any:
    """The value that an RFC 6901 pointer finds in JSON data. Raises PointerError where there is none."""
    if pointer and not pointer.startswith("/"):
        raise PointerError(f"{pointer[:90]!r} is no pointer; write /key/0/key, or `line 12` of a text file")
    for raw in pointer.split("/")[1:]:
        if re.search(r"~(?![01])", raw):
            raise PointerError(f"`~` in a pointer is written ~0 (and / as ~1): {raw[:60]!r}")
        key = raw.replace("~1", "/").replace("~0", "~")
        if isinstance(data, dict) and key in data:
            data = data[key]
        elif isinstance(data, list) and _INDEX.fullmatch(key) and int(key) < len(data):
            data = data[int(key)]
        else:
            raise PointerError(f"nothing stands at {pointer[:90]!r}: there is no {key[:60]!r}")
    return data


def _line(data: bytes, number: int) -> str:
    lines = data.decode("utf-8", "replace").split("\n")
    if number > len(lines):
        raise PointerError(f"there is no line {number}; the file has {len(lines)}")
    return lines[number - 1]


def _numbers_in(text: str) -> Iterator[Decimal]:
    return (Decimal(match[0].replace(",", "")) for match in _NUMBER.finditer(text))


def says_the_same(stated: Quantity, kept: list[Decimal], metric: Metric | None) -> bool:
    """Is one of the kept numbers, in any unit of the metric, the figure as it was rounded?"""
    half = half_unit(stated.value)
    return any(abs(number * factor - stated.value) <= half for number in kept for factor in _factors(stated, metric))


def _factors(stated: Quantity, metric: Metric | None) -> list[Decimal]:
    """What a raw number may have to be multiplied by: files give no units, and shares often as fractions."""
    factors = [Decimal(1)] + ([Decimal(100)] if stated.unit == "%" else [])
    units = {metric.unit: Decimal(1)} | {u: Decimal(f) for u, f in metric.other_units.items()} if metric else {}
    if stated.unit in units:
        factors += [factor / units[stated.unit] for factor in units.values()]
    return factors
