"""Measurements and comparisons: a figure is entered once; a difference is computed, never typed."""

from __future__ import annotations

import re
from decimal import Decimal
from enum import StrEnum
from typing import Any

from pydantic import Field, model_serializer, model_validator
from pydantic_core import PydanticCustomError

from dossier.model.base import (
    ArmId,
    ArtifactId,
    Count,
    Figure,
    Flag,
    Formula,
    ItemRef,
    Line,
    Maybe,
    MetricId,
    Part,
    PopulationId,
    Prose,
    Quantity,
    Slug,
    decimal_of,
)
from dossier.model.vocabulary import MeasurementClass, Provenance
from dossier.model.workload import Excluded

_DELTA = re.compile(r"(±|[+\-−])?([0-9]+(?:\.[0-9]+)?)\s*(%|[x×]|[A-Za-z][A-Za-z/]{0,15})")


class Statistic(StrEnum):
    """Which number of many was taken."""

    SINGLE = "single"
    MEAN = "mean"
    MEDIAN = "median"
    MIN = "min"
    MAX = "max"
    P90 = "p90"
    P95 = "p95"
    P99 = "p99"
    TOTAL = "total"
    RATE = "rate"
    POOLED = "pooled-median"
    GEOMETRIC = "geometric-mean"
    REPORTED = "reported"
    UNSTATED = "unstated"


class Replicate(StrEnum):
    """What was done again for each of several figures."""

    REQUEST = "request"
    PROMPT = "prompt"
    SERVER_START = "server-start"


class Each(Part):
    """The figure of every replicate, in the order of running and in the unit of the value that sums them up."""

    of: Replicate
    values: tuple[Figure, ...] = Field(min_length=1)


class Interval(Part):
    """What the sample says about the quantity: level in percent, and by which method."""

    low: Figure
    high: Figure
    level: Figure
    method: Line


class Origin(Part):
    """Where in a kept artifact the figure stands."""

    artifact: ArtifactId
    pointer: Line = Field(description="A JSON pointer (RFC 6901), or `line 12` of a text file.")


class Measurement(Part):
    """One figure: metric, statistic, value and unit, of how many, from where."""

    id: Slug
    metric: MetricId
    value: Maybe[Quantity]
    statistic: Statistic = Statistic.UNSTATED
    approximate: Flag = Field(default=False, description="The source says about, nominal or at most.")
    n: Maybe[Count] | None = None
    each: Each | None = Field(None, description="The figure of each request, prompt or server start, where kept.")
    population: PopulationId | None = None
    arm: ArmId | None = None
    class_: MeasurementClass | None = Field(None, alias="class")
    per: Line | None = Field(None, description="Per card, per rank, per request ...")
    when: Line | None = Field(None, description="At which stage: after warm-up, before cutover ...")
    interval: Interval | None = None
    origin: Origin | None = Field(None, alias="from")
    computed_from: Formula | None = Field(None, description="For a planned figure: `[[pool]] / 2`; + - * / and ().")
    provenance: Provenance | None = Field(None, description="Only where it differs from the finding's.")
    excluded: Excluded | None = None
    title: Line | None = None
    note: Prose | None = None


class Delta(Part):
    """A stated difference: `+39.5 %`, `-5.19 %`, `±2.3 %` (within), `3.17x`, `+2 points`."""

    sign: str = ""
    size: Figure
    unit: str

    @model_validator(mode="before")
    @classmethod
    def _split(cls, data: Any) -> Any:
        if not isinstance(data, str):
            return data
        match = _DELTA.fullmatch(data.strip())
        if match is None:
            text = f"{data[:40]!r} is not a difference; write for example +39.5 %, ±2.3 % or 3.17x"
            raise PydanticCustomError("schema/delta", "{text}", {"text": text, "seen": data})
        return {
            "sign": (match[1] or "").replace("−", "-"),
            "size": match[2],
            "unit": "x" if match[3] == "×" else match[3],
        }

    @model_serializer
    def _join(self) -> str:
        return str(self)

    @property
    def signed(self) -> Decimal:
        """The value with its sign; a `±` bound is given as its size."""
        return decimal_of(f"{'-' if self.sign == '-' else ''}{self.size}")

    def __str__(self) -> str:
        gap = "" if self.unit == "x" else " "
        return f"{self.sign}{self.size:f}{gap}{self.unit}"


class Comparison(Part):
    """Two measurements or populations side by side.

    `candidate` and `baseline` name a measurement of this finding, or of another as `finding-id#measurement-id`.
    With values on both sides the difference is computed. A transcribed one may carry only `stated`, and then
    names populations and a metric. `stated_differs` explains a stated value that does not recompute.
    """

    id: Slug
    candidate: ItemRef
    baseline: ItemRef
    title: Line | None = None
    metric: MetricId | None = Field(None, description="Needed only where the sides are populations.")
    statistic: Statistic | None = None
    matched: tuple[Line, ...] = Field((), description="What was held equal.")
    differs: tuple[Line, ...] = Field((), description="Known differences besides the varied one.")
    stated: Delta | None = None
    stated_differs: Prose | None = None
    band: Delta | None = Field(None, description="A declared band, for a claim of equivalence.")
    paired: Flag | None = Field(None, description="The n-th of `each` on one side belongs to the n-th on the other.")
    family: Slug | None = Field(None, description="A word that the comparisons of one question share, for Holm.")
    primary: Flag | None = Field(None, description="Named in the plan as the one of its family that decides.")
    interval: Interval | None = Field(
        None, description="Of the difference, in its unit; equivalence needs one at 90 % or more inside the band."
    )
    excluded: Excluded | None = None
    class_: MeasurementClass | None = Field(None, alias="class")
    note: Prose | None = None
