"""Walks a record's texts by what their annotations say they mean (`dossier.model.base.Mark`)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple, get_args

from pydantic.fields import FieldInfo

from dossier.derive.latest import latest
from dossier.derive.references import Reference, parse_evidence, parse_reference, references
from dossier.model.base import Mark, Part, Unknown

Place = tuple[str | int, ...]
_PROSE = Mark("prose")


class Pointer(NamedTuple):
    """One place of a record that names a record, or an item of a finding.

    `folder` and `record` are empty for an item of the same finding; `item` is empty for a whole record.
    """

    place: Place
    text: str
    target: str
    folder: str
    record: str
    item: str
    kinds: tuple[str, ...] = ()
    in_prose: bool = False


Marked = tuple[Place, str, Mark]


@latest
def marked(part: Part) -> tuple[Marked, ...]:
    """Every text of a record whose field carries a mark; a reason for the unknown counts as prose."""
    found: list[Marked] = []
    _walk(part, (), None, found)
    return tuple(found)


@latest
def prose(part: Part) -> tuple[tuple[Place, str], ...]:
    """Every prose text of a record."""
    return tuple([(place, text) for place, text, mark in marked(part) if mark.target == "prose"])


@latest
def pointers(part: Part) -> tuple[Pointer, ...]:
    """Everything that a record points at, in fields and in prose."""
    return tuple(_pointers(marked(part)))


def _pointers(texts: tuple[Marked, ...]) -> Iterator[Pointer]:
    for place, text, mark in texts:
        if mark.target in {"prose", "formula"}:
            if "[[" in text:
                yield from (_from_prose(place, found) for _, found in references(text))
        elif mark.target in {"arm", "metric"}:
            yield Pointer(place, text, mark.target, "", "", text)
        elif mark.target in {"item", "evidence"}:
            yield _from_item(place, text, mark)
        else:
            yield Pointer(place, text, "record", mark.target, text, "")


def _from_prose(place: Place, found: Reference) -> Pointer:
    target = "record" if found.record and not found.item else "item"
    return Pointer(place, found.text, target, found.folder, found.record, found.item, in_prose=True)


def _from_item(place: Place, text: str, mark: Mark) -> Pointer:
    found = parse_evidence(text) if mark.target == "evidence" else parse_reference(text)
    return Pointer(place, text, mark.target, found.folder, found.record, found.item, mark.kinds)


def _walk(value: Any, place: Place, mark: Mark | None, found: list[Marked]) -> None:
    """Note every marked text in a value; one list costs half of what nested generators do."""
    if isinstance(value, str):
        if mark is not None:
            found.append((place, value, mark))
    elif isinstance(value, Unknown):
        found.append(((*place, "unknown"), value.unknown, _PROSE))
    elif isinstance(value, Part):
        for name, key, inner in _plan(type(value)):
            if held := getattr(value, name):
                _walk(held, (*place, key), inner, found)
    elif isinstance(value, tuple | dict):
        for step, item in value.items() if isinstance(value, dict) else enumerate(value):
            _walk(item, (*place, step), mark, found)


@cache
def _plan(kind: type[Part]) -> tuple[tuple[str, str, Mark | None], ...]:
    """(attribute, key in the file, mark) of each field that can hold a marked text."""
    found = []
    for name, info in kind.model_fields.items():
        mark = mark_of(info)
        if mark is not None or _holds_parts(info.annotation):
            found.append((name, info.alias or name, mark))
    return tuple(found)


def mark_of(info: FieldInfo) -> Mark | None:
    """What the texts of a field mean; None where they mean nothing to the rest of the evidence."""
    return next((m for m in info.metadata if isinstance(m, Mark)), None) or _mark_in(info.annotation)


def _mark_in(annotation: Any) -> Mark | None:
    """The mark of the texts themselves: not looked for inside other parts."""
    for extra in getattr(annotation, "__metadata__", ()):
        if isinstance(extra, Mark):
            return extra
    return next((mark for inner in get_args(annotation) if (mark := _mark_in(inner)) is not None), None)


def _holds_parts(annotation: Any) -> bool:
    if isinstance(annotation, type) and not get_args(annotation):
        return issubclass(annotation, Part)
    return any(_holds_parts(inner) for inner in get_args(annotation))
