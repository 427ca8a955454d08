"""Quality suites: files of questions with checks that a program can decide, known by their digest.

A suite changes only by becoming another one: its SHA-256 stands in the plan, and with that in the head of the
journal. An item has one check; one that asserts nothing, or that an empty answer passes, is refused.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

import jsonschema_rs
from pydantic import Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from dossier.digest import sha256_hex
from dossier.errors import DossierError, UsageError
from dossier.files import read_bytes
from dossier.model.base import Count, Line, Part, Prose, Slug
from dossier.source import read_document

_MOST_BYTES = 4 << 20
_PIECE = re.compile(r"\\[dws.\-+*?^$/()\[\]{}]|\[\^?[A-Za-z0-9 _.,:/+\\d\\s-]+\]|[A-Za-z0-9 _,:;/=@#%!'\"<>~-]")
_TIMES = re.compile(r"\{([0-9]{1,3})(?:,([0-9]{1,3}))?\}|\?")
_LONGEST, _MOST_WAYS = 512, 100_000


class Use(StrEnum):
    """What its results may serve."""

    DIAGNOSTIC = "diagnostic"
    RANKING = "ranking"


class Check(Part):
    """What makes an answer right; exactly one of these. The whole visible answer counts, not a part of it."""

    choice: Annotated[str, Field(pattern="^[A-H]$")] | None = Field(None, description="The one right letter.")
    exact: Line | None = Field(None, description="The whole answer; case, outer spaces and a last full stop aside.")
    pattern: Line | None = Field(None, description="Of the safe subset: no groups, no alternatives, no open repeats.")
    structure: dict[str, Any] | None = Field(None, description="A JSON schema for the whole answer.")
    code: Prose | None = Field(None, description="Python tests, run after the answer's code in a sandbox.")

    @model_validator(mode="after")
    def _one(self) -> Check:
        given = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if len(given) != 1:
            raise _wrong("suite/check", f"an item has one check; {len(given)} are given")
        if self.pattern is not None:
            _require_safe(self.pattern)
        if self.structure is not None:
            _require_schema(self.structure)
        if self.code is not None and "assert" not in self.code:
            raise _wrong("suite/check", "the tests assert nothing")
        return self


class Item(Part):
    """One question."""

    id: Slug
    prompt: Prose
    check: Check
    max_tokens: Annotated[Count, Field(ge=1, le=65_536)] = 256


class Suite(Part):
    """A whole suite."""

    schema_: Literal["dossier/suite/v1"] = Field(alias="schema")
    id: Slug
    title: Line
    license: Line
    use: Use = Use.DIAGNOSTIC
    notes: Prose | None = None
    items: Annotated[tuple[Item, ...], Field(min_length=1, max_length=1000)]

    @model_validator(mode="after")
    def _consistent(self) -> Suite:
        ids = [item.id for item in self.items]
        if len(set(ids)) != len(ids):
            raise _wrong("suite/id", "two items have one id")
        return self


def shipped() -> list[str]:
    """The names of the suites that come with the package."""
    return sorted(item.name.removesuffix(".yaml") for item in _folder().iterdir() if item.name.endswith(".yaml"))


def load(name: str, sha256: str | None = None) -> tuple[Suite, str]:
    """A shipped suite by name, or one from a file below the working folder; with its SHA-256.

    Raises UsageError where it is not there, is not valid, or is not the one of that digest.
    """
    suite, digest = _load(name)
    if sha256 is not None and sha256 != digest:
        raise UsageError(f"suite {name} has sha256 {digest}, and the plan was made with {sha256}: another suite")
    return suite, digest


@lru_cache(32)
def _load(name: str) -> tuple[Suite, str]:
    data = _read(name)
    document, problems = read_document(data, name)
    if document is None:
        raise UsageError(f"suite {name}: {'; '.join(map(str, problems[:3]))}")
    try:
        return Suite.model_validate(document.data), sha256_hex(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise UsageError(f"suite {name}: {place}: {first['msg']}") from None


def _read(name: str) -> bytes:
    if "/" not in name and not name.endswith(".yaml"):
        file = _folder() / f"{name}.yaml"
        if not file.is_file():
            raise UsageError(f"no suite {name!r} comes with dossier; there are {', '.join(shipped())}, or name a file")
        found: bytes = file.read_bytes()
        return found
    path = Path(name)
    if path.is_absolute() or ".." in path.parts:
        raise UsageError(f"name the suite by its path below the working folder, not {name}: the plan is published")
    try:
        data = read_bytes(path)
    except DossierError as error:
        raise UsageError(f"suite {name}: {error}") from None
    if len(data) > _MOST_BYTES:
        raise UsageError(f"suite {name} has {len(data)} bytes; at most {_MOST_BYTES} are read")
    return data


def _folder() -> Any:
    return files("dossier") / "suites"


def _require_safe(pattern: str) -> None:
    """Literals and classes with bounded repeats only, so that no answer can make it slow; and not for nothing."""
    at, optional, ways = 0, True, 1
    while at < len(pattern):
        piece = _PIECE.match(pattern, at)
        if piece is None:
            text = f"{pattern[at : at + 8]!r} is outside the safe subset: literals, classes, {{n}}, {{n,m}} and ?"
            raise _wrong("suite/pattern", text)
        at = piece.end()
        times = _TIMES.match(pattern, at)
        least = 1 if times is None else int(times[1] or 0)
        if times is not None:
            at = times.end()
            ways *= max(1, int(times[2] or times[1] or 1) - least + 1)
        optional = optional and least == 0
    if len(pattern) > _LONGEST or ways > _MOST_WAYS:
        raise _wrong("suite/pattern", "it is too long, or can match in too many ways")
    if optional:
        raise _wrong("suite/pattern", "it matches an empty answer")
    re.compile(pattern)


def _require_schema(schema: dict[str, Any]) -> None:
    typed = _typed(schema)
    if not jsonschema_rs.meta.is_valid(typed):
        raise _wrong("suite/structure", "this is no JSON schema")
    anything: tuple[Any, ...] = ({}, [], "", 0, None)
    if all(jsonschema_rs.is_valid(typed, value) for value in anything):
        raise _wrong("suite/structure", "it takes any JSON at all")


def _typed(value: Any) -> Any:
    """YAML scalars come as text; in a schema, counts and flags are meant."""
    if isinstance(value, dict):
        return {key: _typed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_typed(item) for item in value]
    if value in {"true", "false"}:
        return value == "true"
    return int(value) if isinstance(value, str) and re.fullmatch(r"-?(0|[1-9][0-9]{0,8})", value) else value


def schema_of(check: Check) -> dict[str, Any]:
    """The JSON schema of a `structure` check, with its numbers as numbers."""
    found: dict[str, Any] = _typed(check.structure)
    return found


def _wrong(rule: str, text: str) -> PydanticCustomError:
    return PydanticCustomError(rule, "{text}", {"text": text})
