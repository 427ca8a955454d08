"""recipes/: an identity on a piece of hardware with its settings. Its role is never written here."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from dossier.model.base import (
    Count,
    HardwareId,
    IdentityId,
    Line,
    Maybe,
    ModelId,
    Part,
    Prose,
    Quantity,
    RecipeId,
    Record,
)


class Speculation(Part):
    """Speculative decoding."""

    method: Maybe[Line]
    depth: Maybe[Line] | None = Field(None, description="Draft tokens a step: `5`, `1..5`, `adaptive`.")
    draft: Line | None = None
    note: Prose | None = None


class Limit(Part):
    """What a request, or the service, may ask at most."""

    what: Line
    value: Maybe[Quantity]
    note: Prose | None = None


class Recipe(Record):
    """Everything that was set, so that another person could start the same service."""

    FOLDER: ClassVar[str] = "recipes"
    SCHEMA: ClassVar[str] = "dossier/recipe/v1"

    schema_: Literal["dossier/recipe/v1"] = Field(alias="schema")
    title: Line
    models: Annotated[tuple[ModelId, ...], Field(min_length=1)]
    identity: Maybe[IdentityId]
    hardware: Maybe[HardwareId]
    context_tokens: Maybe[Count] | None = Field(None, description="Configured total context.")
    output_tokens: Maybe[Count] | None = Field(None, description="Greatest output of one request.")
    output_reserve_tokens: Maybe[Count] | None = None
    concurrency: Maybe[Count] | None = Field(None, description="Requests served at once (C).")
    engine_sequences: Maybe[Count] | None = None
    router_admission: Maybe[Count] | None = None
    batch_tokens: Maybe[Count] | None = None
    parallelism: Maybe[Line] | None = Field(None, description="For example TP2, DCP2.")
    kv_dtype: Maybe[Line] | None = None
    memory_utilization: Maybe[Quantity] | None = None
    speculation: Maybe[Speculation] | None = None
    prefix_cache: Maybe[Line] | None = Field(None, description="on, off, or how.")
    offload: Maybe[Line] | None = None
    modalities: tuple[Line, ...] = Field((), description="text, tools, image, ocr, video, audio ...")
    limits: tuple[Limit, ...] = ()
    environment: dict[str, Line] = Field({}, description="Environment variables, by name.")
    flags: tuple[Line, ...] = ()
    settings: dict[str, Line] = Field({}, description="Anything else that was set, by name.")
    derived_from: RecipeId | None = Field(None, description="The recipe that this one was changed from.")
