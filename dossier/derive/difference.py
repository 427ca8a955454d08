"""How two records differ in meaning: field by field, items matched by id, figures with their computed difference.

Comments, layout and the order of items are no difference; the order of plain texts in a list is one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from dossier.derive.deltas import absolute, relative
from dossier.derive.items import display
from dossier.model.base import Part, Quantity, Range, Record, Unknown
from dossier.model.gate import Requirement
from dossier.model.measurement import Delta

Place = tuple[str, ...]
"""Keys from the record down; an item of a list stands by its id: `("measurements", "decode", "value")`."""
_SINGLE = (Quantity, Range, Delta, Requirement, Unknown)
_NAMES = ("id", "path", "role", "name", "what", "kind", "title", "hardware", "about", "recipe")


@dataclass(frozen=True, slots=True)
class Change:
    """One field that differs; None stands for a field, or a whole item, that is not there."""

    place: Place
    before: str | None
    after: str | None
    difference: str = ""

    @property
    def path(self) -> str:
        """The place for a reader."""
        return "/".join(self.place)

    def __str__(self) -> str:
        if self.before is None:
            return f"{self.path}: added {self.after}"
        if self.after is None:
            return f"{self.path}: removed {self.before}"
        computed = f" ({self.difference})" if self.difference else ""
        return f"{self.path}: {self.before} → {self.after}{computed}"


def differences(before: Record, after: Record) -> list[Change]:
    """Every difference in meaning, in the order of the fields; none where the digests are equal."""
    return list(_compare(_members(before), _members(after), ()))


def _members(part: Part) -> dict[str, Any]:
    """The fields that are given, by their key in the file."""
    fields = type(part).model_fields
    given = ((info.alias or name, getattr(part, name), info) for name, info in fields.items())
    return {key: value for key, value, info in given if value != info.get_default(call_default_factory=True)}


def _compare(before: Mapping[str, Any], after: Mapping[str, Any], place: Place) -> Iterator[Change]:
    for key in dict.fromkeys([*before, *after]):
        old, new = before.get(key), after.get(key)
        if old != new or repr(old) != repr(new):  # 97.6 equals 97.60, yet says less
            yield from _change(old, new, (*place, key))


def _change(old: Any, new: Any, place: Place) -> Iterator[Change]:
    inside = _inside(old), _inside(new)
    if inside[0] is not None and inside[1] is not None:
        yield from _compare(inside[0], inside[1], place)
    elif _is_texts(old) or _is_texts(new):
        yield from _texts(old or (), new or (), place)
    else:
        yield Change(place, _told(old), _told(new), _computed(old, new))


def _is_texts(value: Any) -> bool:
    """Is it a list of plain values, which is compared value by value?"""
    return isinstance(value, tuple) and _keyed(value) is None


def _inside(value: Any) -> Mapping[str, Any] | None:
    """What a value holds by name, where it is a part, a mapping, or a list whose items have names."""
    if isinstance(value, Part) and not isinstance(value, _SINGLE):
        return _members(value)
    if isinstance(value, Mapping):
        return value
    return _keyed(value) if isinstance(value, tuple) else None


def _keyed(items: tuple[Any, ...]) -> dict[str, Any] | None:
    if not all(isinstance(item, Part) and not isinstance(item, _SINGLE) for item in items):
        return None
    for name in _NAMES:
        keys = [str(getattr(item, name, None)) for item in items]
        if items and all(getattr(item, name, None) is not None for item in items) and len(set(keys)) == len(keys):
            return dict(zip(keys, items, strict=True))
    return {str(index): item for index, item in enumerate(items, 1)}


def _texts(old: tuple[Any, ...], new: tuple[Any, ...], place: Place) -> Iterator[Change]:
    gone, come = [v for v in old if v not in new], [v for v in new if v not in old]
    if not gone and not come:
        yield Change(place, ", ".join(map(display, old)), ", ".join(map(display, new)))
        return
    yield from (Change(place, display(value), None) for value in gone)
    yield from (Change(place, None, display(value)) for value in come)


def _told(value: Any) -> str | None:
    """A value for a reader; a whole item by what it holds."""
    if value is None:
        return None
    if isinstance(value, Unknown):
        return f"unknown ({value.unknown})"
    if isinstance(value, tuple):
        return ", ".join(str(_told(held)) for held in value)
    held = value if isinstance(value, Mapping) else None
    if isinstance(value, Part) and not isinstance(value, _SINGLE):
        held = {key: inner for key, inner in _members(value).items() if key != "id"}
    return display(value) if held is None else "; ".join(f"{key} {_told(inner)}" for key, inner in held.items())


def _computed(old: Any, new: Any) -> str:
    """The difference of two figures in one unit: absolute, and in percent where that has a meaning."""
    if isinstance(old, Quantity) and isinstance(new, Quantity):
        pair, unit = (old.value, new.value), old.unit
        if old.unit != new.unit:
            return ""
    elif isinstance(old, int | Decimal) and isinstance(new, int | Decimal) and not isinstance(old, bool):
        pair, unit = (Decimal(old), Decimal(new)), ""
    else:
        return ""
    whole = absolute(pair[1], pair[0], unit)
    percent = relative(pair[1], pair[0])
    return ", ".join(part.text for part in (whole, percent) if part is not None)
