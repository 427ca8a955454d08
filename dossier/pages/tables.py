"""Tables of parts of records, a row each: only the columns that at least one row fills."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache
from typing import Any

from markupsafe import Markup

from dossier.model.base import Part, Quantity, Range
from dossier.model.measurement import Delta
from dossier.pages.fields import Field, Writer, fields_of
from dossier.pages.markup import joined, safe
from dossier.pages.places import anchor
from dossier.pages.sorting import sort_key

_MID, _WIDE = 24, 80
_ABSENT = '<span class="dx-quiet" title="not recorded">—</span>'
_ORDERED = (int, Decimal, Quantity, Range, Delta, date)
"""Types whose column sorts by value."""
_LABELS = frozenset({"target"})
"""Fields whose short labels, such as `4K`, stand for numbers."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A finished table without its frame: how many rows, the cells of its head, and the rows."""

    count: int
    head: Markup
    rows: Markup


@dataclass(frozen=True, slots=True)
class Keyed:
    """A cell with what it is sorted by."""

    shown: Markup | None
    key: str


Column = tuple[str, str]
"""(label, kind)"""
Labels = Mapping[str, str | Column]
"""Name -> label, or label and kind."""
Cell = Callable[[Any], object]
"""Makes the value of a cell from a part; None leaves it empty."""


def grid(
    writer: Writer, parts: Sequence[Part], names: Sequence[str], *, head: tuple[str, Cell] | None = None,
    cells: Mapping[str, Cell] | None = None, labels: Labels | None = None, ids: Sequence[str] = (),
) -> Grid:  # fmt: skip
    """A table of the named fields, without those that no part fills.

    `head` is the label of the column that heads each row, and makes its content. `cells` says what to show for a name,
    of a part's field or of the table's own; `labels` gives other labels, or label and kind; `ids` are the fragments of
    the rows, which are else those of the parts' own ids. A cell that is not sorted by its field's value is `Keyed`.
    """
    if not parts:
        return Grid(0, Markup(), Markup())
    special, named = cells or {}, labels or {}
    plan, filled = fields_of(type(parts[0])), _filled(parts)
    heads, columns = _heading(parts, head)
    for name in names:
        cell, field = special.get(name), plan.get(name)
        if name not in filled and field is not None:
            continue
        raw = [cell(part) for part in parts] if cell else [getattr(part, name) for part in parts]
        told = [v.shown if isinstance(v, Keyed) else v for v in raw] if cell else raw
        values = [writer.value(value, field) for value in told]
        if any(values):
            label, kind = _column(named.get(name), field, raw)
            heads.append(f'<th scope="col"{_class(kind)}>{safe(label)}</th>')
            columns.append(_cells(f"<td{_class(kind)}", values, _keys(parts, name, raw)))
    marks = ids or [anchor(part.id) if hasattr(part, "id") else "" for part in parts]
    return Grid(len(parts), joined("", heads), _rows(marks, columns))


def _heading(parts: Sequence[Part], head: tuple[str, Cell] | None) -> tuple[list[str], list[list[str]]]:
    if head is None:
        return [], []
    label, cell = head
    return [f'<th scope="col">{safe(label)}</th>'], [[f'<th scope="row">{safe(cell(part))}</th>' for part in parts]]


def _keys(parts: Sequence[Part], name: str, raw: Sequence[object]) -> list[str | None]:
    """What each cell sorts by, from the record where the field is its own; none where text alone orders the column."""
    if any(isinstance(value, Keyed) for value in raw):
        return [sort_key(value.key) if isinstance(value, Keyed) else None for value in raw]
    own = raw if name not in type(parts[0]).model_fields else [getattr(part, name) for part in parts]
    if name not in _LABELS and not isinstance(next((value for value in own if value is not None), None), _ORDERED):
        return []
    return [sort_key(value) for value in own]


def _cells(opening: str, values: Sequence[Markup | None], keys: Sequence[str | None]) -> list[str]:
    """The cells of a column."""
    if not keys:
        return [f"{opening}>{value or _ABSENT}</td>" for value in values]
    marks = ["" if key is None else f' data-sort="{key}"' for key in keys]
    return [f"{opening}{mark}>{value or _ABSENT}</td>" for mark, value in zip(marks, values, strict=True)]


def _class(kind: str) -> str:
    return f' class="dx-{kind}"' if kind else ""


def _rows(marks: Sequence[str], columns: list[list[str]]) -> Markup:
    opened = [f'<tr id="{safe(mark)}">' if mark else "<tr>" for mark in marks]
    return joined("\n", ["".join(row) + "</tr>" for row in zip(opened, *columns, strict=True)])


def _filled(parts: Sequence[Part]) -> frozenset[str]:
    """The fields that may have a value in some part."""
    return _defaulted(type(parts[0])).union(*[part.model_fields_set for part in parts])


@cache
def _defaulted(kind: type[Part]) -> frozenset[str]:
    """The fields that have a value even where none is given."""
    fields = kind.model_fields.items()
    return frozenset(name for name, info in fields if info.default_factory or info.default not in (None, ()))


def _column(named: str | Column | None, field: Field | None, raw: Sequence[object]) -> Column:
    """Label and kind; a column of longer texts is kept from shrinking to one word a line."""
    if isinstance(named, tuple):
        return named
    label, kind = named or (field.label if field else ""), field.kind if field else ""
    longest = max(map(_length, raw)) if not kind else 0
    return label, "wide" if longest > _WIDE else "mid" if longest > _MID else kind


def _length(value: object) -> int:
    if isinstance(value, tuple):
        return sum(map(_length, value))
    return len(value) if isinstance(value, str) and not isinstance(value, Markup) else 0
