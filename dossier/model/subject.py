"""models/: the subject of a dossier and the lanes in which its recipes compete. Not immutable."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from dossier.model.base import Count, Line, Part, Prose, Record, Slug


class Lane(Part):
    """A product role: at any instant it has at most one current recipe and one immediate rollback."""

    id: Slug
    title: Line
    scope: Prose | None = Field(None, description="What the lane serves, and what it does not.")


class Subject(Record):
    """A model that a dossier is about."""

    FOLDER: ClassVar[str] = "models"
    SCHEMA: ClassVar[str] = "dossier/model/v1"
    IMMUTABLE: ClassVar[bool] = False

    schema_: Literal["dossier/model/v1"] = Field(alias="schema")
    name: Line
    scope: Prose
    lanes: Annotated[tuple[Lane, ...], Field(min_length=1)]
    family: Line | None = None
    modalities: tuple[Line, ...] = ()
    upstream: tuple[Line, ...] = Field((), description="Repositories that the weights come from.")
    license: Prose | None = None
    stale_after_days: Count = Field(90, description="A lane whose newest evidence is older is shown as stale.")
