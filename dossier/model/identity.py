"""identities/: every pin of one served artifact set. Tags and short revisions are notes, never pins."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from dossier.model.base import Count, Flag, Line, Maybe, Part, Prose, Record


def _pin(pattern: str, rule: str, what: str) -> BeforeValidator:
    form = re.compile(pattern)

    def check(value: Any) -> Any:
        if isinstance(value, str) and not form.fullmatch(value):
            digits = sum(c in "0123456789abcdef" for c in value.removeprefix("sha256:"))
            seen = f"{value[:90]!r} ({digits} lower-case hex digits)"
            hint = "a tag or short revision goes under labels, and a missing pin is {unknown: why}"
            text = f"{seen} is not {what}; {hint}"
            raise PydanticCustomError(rule, "{text}", {"text": text, "seen": value})
        return value

    return BeforeValidator(check)


Sha256 = Annotated[str, _pin(r"[0-9a-f]{64}", "identity/digest", "a SHA-256 of 64 lower-case hex digits")]
Digest = Annotated[str, _pin(r"sha256:[0-9a-f]{64}", "identity/digest", "sha256: and 64 lower-case hex digits")]
Revision = Annotated[str, _pin(r"[0-9a-f]{40}", "identity/revision", "a full revision of 40 lower-case hex digits")]


class PinnedFile(Part):
    """One file of an artifact, as it lay on disk."""

    path: Line
    bytes: Maybe[Count] | None = None
    sha256: Maybe[Sha256] | None = None
    loaded: Flag | None = Field(None, description="Whether the engine loaded it.")
    note: Prose | None = None


class Artifact(Part):
    """Weights, draft, projector, adapter, tokenizer or another input of the engine."""

    role: Line = Field(description="target, draft, projector, adapter, tokenizer, template, control ...")
    name: Line | None = None
    repo: Maybe[Line] | None = None
    revision: Maybe[Revision] | None = None
    base_model: Line | None = None
    quantization: Line | None = None
    license: Maybe[Line] | None = None
    loaded: Flag | None = None
    files: tuple[PinnedFile, ...] = ()
    labels: tuple[Line, ...] = Field((), description="Tags and short revisions as the source gives them.")
    note: Prose | None = None


class Image(Part):
    """A container image, pinned by digest."""

    repo: Maybe[Line] | None = None
    digest: Maybe[Digest]
    labels: tuple[Line, ...] = ()


class Patch(Part):
    """A change laid over the runtime."""

    what: Line
    path: Line | None = None
    sha256: Maybe[Sha256] | None = None
    note: Prose | None = None


class Runtime(Part):
    """The engine and what it was built from."""

    engine: Maybe[Line]
    version: Maybe[Line] | None = None
    repo: Line | None = None
    commit: Maybe[Revision] | None = None
    image: Image | None = None
    patches: tuple[Patch, ...] = ()
    build: Line | None = Field(None, description="A build reference, where there is no image.")
    labels: tuple[Line, ...] = Field((), description="Tags and short revisions as the source gives them.")
    warnings: tuple[Line, ...] = Field((), description="Warnings that it prints and that are kept.")
    note: Prose | None = None


class Quantization(Part):
    """Number formats of weights and caches."""

    weights: Maybe[Line] | None = None
    kv: Maybe[Line] | None = None
    draft: Maybe[Line] | None = None
    note: Prose | None = None


class Identity(Record):
    """What exactly was served."""

    FOLDER: ClassVar[str] = "identities"
    SCHEMA: ClassVar[str] = "dossier/identity/v1"

    schema_: Literal["dossier/identity/v1"] = Field(alias="schema")
    title: Line
    artifacts: Annotated[tuple[Artifact, ...], Field(min_length=1)]
    runtime: Maybe[Runtime] | None = None
    served_name: Maybe[Line] | None = None
    aliases: tuple[Line, ...] = ()
    template_sha256: Maybe[Sha256] | None = None
    quantization: Quantization | None = None
    license: Prose | None = Field(None, description="What the licenses of the parts allow together.")
