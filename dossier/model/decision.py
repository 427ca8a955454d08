"""Decisions are events; what is current follows from them (`dossier.fold`). Nobody types a role."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from dossier.model.base import (
    DayOrMoment,
    EvidenceRef,
    Flag,
    ItemRef,
    Line,
    Maybe,
    ModelId,
    Part,
    Prose,
    RecipeId,
    Slug,
)
from dossier.model.vocabulary import Outcome, Role


class ExceptionAsked(Part):
    """Whether somebody asked to set a failed gate aside, and what the human said."""

    asked: Maybe[Flag]
    granted: Maybe[Flag] | None = None
    note: Prose | None = None


class Decision(Part):
    """One event for one or several lanes of a model."""

    id: Slug
    outcome: Outcome
    lanes: tuple[Slug, ...] = ()
    model: ModelId | None = Field(None, description="Needed only where the finding has several models.")
    recipe: RecipeId | None = None
    subject: Line | None = Field(None, description="What it is about, where no recipe record can exist.")
    rollback: RecipeId | None = Field(None, description="With promote: the recipe to go back to at once.")
    gate: ItemRef | None = Field(None, description="With waive: the gate, or `finding-id#gate-id`.")
    at: DayOrMoment | None = Field(None, description="Where it differs from the finding's date.")
    human_approval: Maybe[Flag] | None = None
    by: Maybe[Line] | None = None
    scope: Prose | None = Field(None, description="How far the decision reaches.")
    reason: Prose | None = None
    evidence: tuple[EvidenceRef, ...] = Field((), description="Findings, or items as `finding-id#id` or a local id.")
    limitation: Prose | None = Field(None, description="The most important thing it is not good for.")
    exception: ExceptionAsked | None = None
    note: Prose | None = None

    @model_validator(mode="after")
    def _complete(self) -> Decision:
        if self.outcome is Outcome.WAIVE:
            if self.gate is None or self.reason is None:
                raise PydanticCustomError("schema/decision", "a waiver names the `gate` and the `reason`")
            return self
        if not self.lanes:
            raise PydanticCustomError("schema/decision", "name the `lanes` that it is about")
        if self.recipe is None and self.subject is None:
            raise PydanticCustomError("schema/decision", "name the `recipe` (or a `subject` that has no record)")
        if self.rollback is not None and self.outcome is not Outcome.PROMOTE:
            raise PydanticCustomError("schema/decision", "`rollback` goes with promote; else use designate-rollback")
        if self.outcome in {Outcome.PROMOTE, Outcome.DESIGNATE_ROLLBACK} and self.recipe is None:
            raise PydanticCustomError("schema/decision", f"{self.outcome} needs a `recipe` record")
        return self


class StatedRole(Part):
    """What a source called a recipe, kept beside what the decisions make of it."""

    recipe: RecipeId
    lane: Slug
    role: Role
    words: Line = Field(description="The label, as short as it stands in the source.")
    where: Line | None = Field(None, description="In which part of the source.")


class StatedText(Part):
    """One statement of a source."""

    text: Line
    where: Line | None = None


class Discrepancy(Part):
    """Statements of the sources that cannot all hold, and what this record takes to hold."""

    id: Slug
    about: Line
    stated: Annotated[tuple[StatedText, ...], Field(min_length=1)]
    holds: Prose
