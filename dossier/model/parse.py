"""A located document becomes a record, or problems that say where and what to write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any

from pydantic import ValidationError

from dossier.errors import Problem, nearest
from dossier.model.base import Record
from dossier.model.finding import Finding
from dossier.model.hardware import Hardware
from dossier.model.identity import Identity
from dossier.model.metrics import MetricRecord
from dossier.model.recipe import Recipe
from dossier.model.subject import Subject
from dossier.source import Document, Path

RECORD_TYPES: dict[str, type[Record]] = {
    kind.SCHEMA: kind for kind in (Subject, Identity, Hardware, Recipe, MetricRecord, Finding)
}
FOLDERS: dict[str, type[Record]] = {kind.FOLDER: kind for kind in RECORD_TYPES.values()}


def parse_record(document: Document, path: str) -> tuple[Record | None, list[Problem]]:
    """Validate one document. Returns the record, or None and every problem in it."""
    data = document.data
    schema = data.get("schema") if isinstance(data, dict) else None
    kind = RECORD_TYPES.get(schema) if isinstance(schema, str) else None
    if kind is None:
        mark = document.locate(("schema",))
        known = ", ".join(sorted(RECORD_TYPES))
        seen = (
            "there is no `schema`"
            if schema is None
            else f"{schema!r} is not a schema{nearest(str(schema), RECORD_TYPES)}"
        )
        return None, [Problem(path, mark.line, mark.column, "schema/kind", f"{seen}; write one of: {known}")]
    try:
        return kind.model_validate(data), []
    except ValidationError as error:
        return None, sorted(set(problems_of(error, kind, document, path)))


def problems_of(error: ValidationError, kind: type[Record], document: Document, path: str) -> Iterator[Problem]:
    """Every problem of a failed validation: where it stands in the file, and what to write."""
    for item in error.errors(include_url=False):
        if item["type"] == "too_short" and item["input"]:
            continue  # counted without the items that are refused for themselves
        place = _place(item["loc"], document.data)
        rule, message, at_key = _explain(item, place, kind)
        mark = document.locate(place, key=at_key)
        field = ".".join(str(p) for p in place)
        yield Problem(path, mark.line, mark.column, rule, f"{field}: {message}" if field else message)


def _place(loc: Sequence[Any], data: Any) -> Path:
    """The error's location as a path into the file: pydantic's union tags and dictionary markers left out."""
    place: list[str | int] = []
    here = data
    for step in loc:
        if _is_in(step, here):
            here = here[step]
        elif step in {"known", "unknown", "[key]"} or (isinstance(step, str) and not isinstance(here, dict)):
            continue
        else:
            here = None
        place.append(step)
    return tuple(place)


def _is_in(step: Any, here: Any) -> bool:
    if isinstance(here, dict):
        return isinstance(step, str) and step in here
    return isinstance(here, list) and isinstance(step, int) and step < len(here)


_SHAPES = {
    "model_type": "a mapping of keys",
    "dict_type": "a mapping of keys",
    "model_attributes_type": "a mapping of keys",
    "tuple_type": "a list, `[..]` or one '- ' line an item,",
    "list_type": "a list, `[..]` or one '- ' line an item,",
    "string_type": "one text",
}


def _explain(item: Any, place: Path, kind: type[Record]) -> tuple[str, str, bool]:
    """Rule, message, and whether the key is the place to point at."""
    what, seen = item["type"], item.get("input")
    shown = f"{seen[:80]!r}" if isinstance(seen, str) else "a list" if isinstance(seen, list) else "a mapping"
    if "/" in what:
        return what, item["msg"], False
    if what in _SHAPES:
        return "schema/shape", f"{shown} stands where {_SHAPES[what]} belongs", False
    if what == "extra_forbidden":
        return "schema/unknown-key", f"unknown key{nearest(str(place[-1]), _siblings(kind, place))}", True
    if what == "missing":
        return "schema/missing", "required; write it, or {unknown: why} where the field allows", False
    if what in {"enum", "literal_error"}:
        allowed = str(item["ctx"].get("expected", "")).replace("'", "").replace(" or ", ", ").split(", ")
        message = f"{shown} is not one of: {', '.join(allowed)}{nearest(str(seen), allowed)}"
        return "schema/choice", message, False
    empty = "the list is empty; give at least one"
    return "schema/value", empty if what == "too_short" else f"{item['msg']} (seen: {shown})", False


def _siblings(kind: type[Record], place: Path) -> list[str]:
    """The keys that are allowed where an unknown one stands, found by walking the model's own fields."""
    here: Any = kind
    for step in place[:-1]:
        here = _descend(here, step)
        if here is None:
            return []
    fields = getattr(here, "model_fields", {})
    return [info.alias or name for name, info in fields.items()]


def _descend(kind: Any, step: str | int) -> Any:
    if isinstance(step, int):
        return kind
    for name, info in getattr(kind, "model_fields", {}).items():
        if step in {name, info.alias}:
            return _model_in(info.annotation)
    return kind if not hasattr(kind, step) else None


def _model_in(annotation: Any) -> Any:
    """The first record part that an annotation such as `tuple[Miss, ...]` or `Maybe[Host] | None` speaks of."""
    if isinstance(annotation, type) and hasattr(annotation, "model_fields") and annotation.__name__ != "Unknown":
        return annotation
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return None
    for inner in getattr(annotation, "__args__", ()):
        if (found := _model_in(inner)) is not None:
            return found
    return None
