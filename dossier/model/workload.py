"""Populations: what was asked, how often, under which load, and what came of every request."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from dossier.model.base import (
    ArmId,
    ArtifactId,
    Count,
    Flag,
    Line,
    Maybe,
    Part,
    PopulationId,
    Prose,
    Quantity,
    Range,
    Slug,
)
from dossier.model.vocabulary import CacheMode, Exclusion, Load, MeasurementClass, Path, Provenance

_ITEM = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/-]{0,119}")


def _label(value: Any) -> Any:
    if isinstance(value, str) and not _ITEM.fullmatch(value):
        raise PydanticCustomError("schema/label", "{text}", {"text": f"{value[:60]!r} is not a short label"})
    return value


class Miss(Part):
    """One request that did not pass."""

    index: Maybe[Count] | None = None
    count: Count = Field(1, ge=1, description="How many misses of this very kind.")
    kind: Annotated[str, BeforeValidator(_label)] = Field(description="word-count, truncated, empty, incorrect ...")
    observed: Line | None = None
    expected: Line | None = None
    limit: Line | None = None
    finish: Line | None = Field(None, description="The finish reason of the reply.")
    text: Prose | None = None


class Excluded(Part):
    """Why a population, though complete and visible, feeds nothing of the named classes."""

    reason: Exclusion
    classes: tuple[MeasurementClass, ...] = Field((), description="Empty means: from everything.")
    note: Prose | None = None


class Population(Part):
    """Requests of one kind. planned = completed + failed + not_run; passed counts within completed."""

    id: Slug
    title: Line | None = None
    class_: MeasurementClass | None = Field(None, alias="class")
    arm: ArmId | None = None
    probe: Line | None = Field(None, description="What was asked: a suite, a needle, a controlled output.")
    suite: Line | None = Field(None, description="The suite's name, version or digest.")
    repeat_of: PopulationId | None = Field(None, description="A repeat is another population; both stay.")
    part_of: PopulationId | None = Field(None, description="A bucket of the named population.")
    provenance: Provenance | None = Field(None, description="Only where it differs from the finding's.")

    planned: Maybe[Count] | None = None
    completed: Maybe[Count] | None = None
    failed: Maybe[Count] | None = None
    not_run: Maybe[Count] | None = None
    passed: Maybe[Count] | None = None
    warmups: Maybe[Count] | None = Field(None, description="Apart from the planned requests.")
    repetitions: Maybe[Count] | None = None
    runs: Maybe[Count] | None = Field(None, description="Separate runs that the requests come from.")
    server_starts: Maybe[Count] | None = None

    target: Line | None = Field(None, description="The cell as the source labels it: 4K, 120K target ...")
    target_tokens: Maybe[Count] | None = Field(None, description="Nominal prompt size.")
    prompt_tokens: Maybe[Range] | None = Field(None, description="Actual prompt tokens, `206630` or `low..high`.")
    output_tokens: Maybe[Range] | None = None
    output_budget: Maybe[Count] | None = Field(None, description="Greatest output allowed a request.")
    output_control: Maybe[Line] | None = Field(None, description="How output length was held, and verified.")
    reserve_tokens: Maybe[Count] | None = None

    concurrency: Maybe[Count] | None = None
    load: Maybe[Load] | None = None
    rate: Maybe[Quantity] | None = Field(None, description="Arrivals of an open load.")
    cache: Maybe[CacheMode] | None = None
    thinking: Maybe[Line] | None = None
    path: Maybe[Path] | None = None
    protocol: Maybe[Line] | None = None
    client: Line | None = Field(None, description="A real client, with its version.")
    duration: Maybe[Quantity] | None = None

    misses: tuple[Miss, ...] = ()
    excluded: Excluded | None = None
    artifact: ArtifactId | None = None
    note: Prose | None = None
    complete_parts: Flag | None = Field(None, description="Whether its parts make up the whole.")
