"""findings/: one dated finding. Few fields are required; what is not known says so."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from dossier.model.base import (
    ArmId,
    ArtifactId,
    Count,
    Day,
    DayOrMoment,
    FindingId,
    Flag,
    HardwareId,
    ItemId,
    Line,
    Maybe,
    ModelId,
    Part,
    PopulationId,
    Prose,
    RecipeId,
    Record,
    Slug,
)
from dossier.model.decision import Decision, Discrepancy, StatedRole
from dossier.model.gate import Gate
from dossier.model.identity import Digest, Sha256
from dossier.model.measurement import Comparison, Measurement
from dossier.model.vocabulary import (
    Attribution,
    Completion,
    Kind,
    MeasurementClass,
    Path,
    Provenance,
    Relation,
)
from dossier.model.workload import Population


class Arm(Part):
    """One side of the work: candidate, baseline, control ..."""

    recipe: Maybe[RecipeId] | None = None
    title: Line | None = None
    path: Path | None = None
    server_starts: Maybe[Count] | None = None
    served: Line | None = Field(None, description="The start or instance, where it matters.")
    note: Prose | None = None


class Boundary(Part):
    """What was held fixed, what was varied, and so what a difference may be put down to."""

    fixed: tuple[Line, ...] = ()
    varied: tuple[Line, ...] = ()
    attribution: Attribution | None = None
    order: Line | None = Field(None, description="ABBA, bracketed, interleaved, sequential ...")
    note: Prose | None = None


class Oversize(Part):
    """Why an artifact above the limit is published, and who allowed it."""

    because: Prose
    approved_by: Line


class KeptFile(Part):
    """An artifact: a file in `artifacts/<finding-id>/`, a private one by digest, or an external one by URL."""

    id: Slug
    title: Line | None = None
    path: Line | None = Field(None, description="Relative to `artifacts/<finding-id>/`.")
    url: Line | None = Field(None, description="An immutable https address.")
    private: Prose | None = Field(None, description="Why the file is not published.")
    bytes: Count | None = None
    sha256: Sha256 | None = None
    oversize: Oversize | None = Field(None, description="For a file above 1 MiB: why, and who allowed it.")
    media_type: Line | None = None
    note: Prose | None = None

    @model_validator(mode="after")
    def _one_place(self) -> KeptFile:
        if sum(x is not None for x in (self.path, self.url, self.private)) != 1:
            raise PydanticCustomError("schema/artifact", "give exactly one of `path`, `url`, `private`")
        if self.sha256 is None:
            raise PydanticCustomError("schema/artifact", "`sha256` binds the figures to the file; give it")
        return self


class Failure(Part):
    """Something that went wrong, or cost time, and what is known of it."""

    id: Slug
    what: Prose
    stage: Line | None = None
    class_: Line | None = Field(None, alias="class", description="A short class: routing, budget, harness ...")
    count: Count | None = None
    excerpt: str | None = Field(None, max_length=8000, description="Raw text, shown literally.")
    cause: Maybe[Prose] | None = None
    recipe: RecipeId | None = None
    population: PopulationId | None = None
    resolved: Prose | None = None
    artifact: ArtifactId | None = None


class Observation(Part):
    """Something that was seen and is not a figure of the dictionary."""

    id: Slug
    what: Prose
    value: Line | None = None
    at: DayOrMoment | None = None
    class_: MeasurementClass | None = Field(None, alias="class")
    arm: ArmId | None = None
    provenance: Provenance | None = None
    artifact: ArtifactId | None = None


class Limit(Part):
    """What is not claimed, or holds only within bounds."""

    text: Prose
    binds: tuple[ItemId, ...] = Field((), description="Items of this finding that it limits.")

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, data: object) -> object:
        return {"text": data} if isinstance(data, str) else data


class Check(Part):
    """A short check with its count, as after a restoration."""

    what: Line
    passed: Maybe[Count] | None = None
    planned: Maybe[Count] | None = None
    note: Prose | None = None


class Restoration(Part):
    """What was put back after the work, and how that was checked."""

    recipe: Maybe[RecipeId] | None = None
    at: DayOrMoment | None = None
    by: Line | None = None
    identity_equal: Maybe[Flag] | None = None
    active_requests: Maybe[Count] | None = None
    restarts: Maybe[Count] | None = None
    checks: tuple[Check, ...] = ()
    note: Prose | None = None


class NotAttempted(Part):
    """Work that was planned or expected and not done."""

    what: Line
    because: Prose


class AllowedFigure(Part):
    """A figure that stays typed in prose although it looks like data, and why."""

    text: Line = Field(description="Exactly as it stands in the prose: `16 GB`.")
    because: Line


class HardwareRelation(Part):
    """A machine that the finding names beyond those of its recipes."""

    hardware: HardwareId
    relation: Relation
    note: Prose | None = None


class Links(Part):
    """How the finding stands to others; the pages show every link from both ends."""

    follows: tuple[FindingId, ...] = ()
    supersedes: tuple[FindingId, ...] = ()
    erratum_for: FindingId | None = None
    addendum_to: FindingId | None = None
    withdraws: FindingId | None = None
    see: tuple[FindingId, ...] = ()


class Withdrawal(Part):
    """Why an earlier finding is taken back."""

    reason: Prose
    by: Line
    replacement: FindingId | None = None


PART_LISTS = (
    "populations", "measurements", "comparisons", "gates", "decisions",
    "failures", "observations", "discrepancies", "artifacts",
)  # fmt: skip
"""The fields of a finding whose parts have ids of their own."""


class Finding(Record):
    """A dated finding."""

    FOLDER: ClassVar[str] = "findings"
    SCHEMA: ClassVar[str] = "dossier/finding/v1"

    schema_: Literal["dossier/finding/v1"] = Field(alias="schema")
    title: Line
    date: Day
    kind: Kind
    provenance: Provenance
    models: Annotated[tuple[ModelId, ...], Field(min_length=1)]
    completion: Completion = Completion.CONCLUDED
    observed: DayOrMoment | None = Field(None, description="When it was seen, where that differs from `date`.")
    published: Day | None = None
    reviewed: Day | None = None
    authors: tuple[Line, ...] = ()
    campaign: Slug | None = None
    classes: tuple[MeasurementClass, ...] = Field((), description="Beyond those of its populations.")

    summary: Prose = Field(description="Two or three sentences: what was done and what came out.")
    why_it_matters: Prose | None = None
    caveat: Prose | None = None
    narrative: Prose | None = None

    recipes: tuple[RecipeId, ...] = Field((), description="Recipes it is about, beyond those of its arms.")
    arms: dict[Slug, Arm] = Field({}, description="The sides of the work, by name.")
    hardware: tuple[HardwareRelation, ...] = ()
    boundary: Boundary | None = None
    populations: tuple[Population, ...] = ()
    measurements: tuple[Measurement, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    gates: tuple[Gate, ...] = ()
    decisions: tuple[Decision, ...] = ()
    failures: tuple[Failure, ...] = ()
    observations: tuple[Observation, ...] = ()
    artifacts: tuple[KeptFile, ...] = ()
    no_artifacts: Prose | None = Field(None, description="Why nothing raw is kept.")
    limits: tuple[Limit, ...] = ()
    not_attempted: tuple[NotAttempted, ...] = ()
    follow_ups: tuple[Prose, ...] = ()
    restoration: Restoration | None = None
    stated_roles: tuple[StatedRole, ...] = ()
    discrepancies: tuple[Discrepancy, ...] = ()
    links: Links = Links()
    withdrawal: Withdrawal | None = None
    allowed_figures: tuple[AllowedFigure, ...] = ()
    redactions: Prose | None = Field(None, description="What was left out before publishing.")
    pins: dict[str, Digest] = Field({}, description="`recipes/ID: sha256:...` of every record it rests on.")

    @cached_property
    def parts(self) -> dict[str, tuple[str, Part]]:
        """Each part that has an id, with its kind: `population`, `gate` and so on; the first of equal ids."""
        found: dict[str, tuple[str, Part]] = {}
        for name in PART_LISTS:
            kind = name.removesuffix("s")
            for part in getattr(self, name):
                found.setdefault(part.id, (kind, part))
        return found
