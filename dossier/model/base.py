"""What every record is made of: frozen parts, identifiers, and a value that may be unknown with its reason.

The loader hands over text only (`dossier.source` never types a scalar), so each scalar type here says exactly
which texts it takes and what to write otherwise. An error whose type holds a slash names its own rule.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainSerializer,
    Tag,
    model_serializer,
    model_validator,
)
from pydantic_core import PydanticCustomError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Mark:
    """What a text field means to the rest of the evidence, kept in its annotation.

    `target` is `prose`, `formula`, a folder such as `recipes`, `metric`, `arm` (of the same finding), `item` (a
    part of the same finding, or `finding-id#id`) or `evidence` (a finding, or an item). `kinds` narrows what an
    item may be.
    """

    target: str
    kinds: tuple[str, ...] = ()


_SLUG = re.compile(r"[a-z0-9]+(?:[._-][a-z0-9]+)*")
_COUNT = re.compile(r"0|[1-9][0-9]{0,14}")
_FIGURE = re.compile(r"[+\-−]?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,17})?")
_QUANTITY = re.compile(rf"({_FIGURE.pattern})(?:\s*((?![eE][+\-]?[0-9])[^\s0-9.+\-−][^\n]{{0,30}}))?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?Z")
# Names that Windows keeps for devices: a page or folder of that name could not be checked out there.
_RESERVED = frozenset({"con", "prn", "aux", "nul", *(f"{d}{n}" for d in ("com", "lpt") for n in range(10))})


class Part(BaseModel):
    """A frozen piece of a record; a key that it does not know is a problem."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", validate_default=False, defer_build=True
    )


class Unknown(Part):
    """A value that the evidence does not give, and why: it is never 0 and never blank."""

    unknown: Annotated[str, Field(min_length=1, description="Why the value is not known.")]


def _known_or_not(value: Any) -> str:
    if isinstance(value, str):  # nearly every value, and asked a hundred times a record
        return "known"
    unknown = isinstance(value, Unknown) or (isinstance(value, dict) and set(value) == {"unknown"})
    return "unknown" if unknown else "known"


Maybe = Annotated[
    Annotated[T, Tag("known")] | Annotated[Unknown, Tag("unknown")],
    Discriminator(_known_or_not),
]
"""A value, or `{unknown: why}`. The tags `known` and `unknown` in error locations are not part of the file."""


def _fail(rule: str, message: str, value: Any) -> PydanticCustomError:
    # Braces would be read as a template by pydantic.
    return PydanticCustomError(rule, "{text}", {"text": message, "seen": value})


def _line(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if "\n" in value:
        raise _fail("schema/line", "this field is one line; use a shorter text, or another field for prose", value)
    if not value.strip():
        raise _fail("schema/blank", "blank; leave the key out, or write {unknown: why}", value)
    return value


def _prose(value: Any) -> Any:
    if isinstance(value, str) and not value.strip():
        raise _fail("schema/blank", "blank; leave the key out", value)
    return value.strip() if isinstance(value, str) else value


@lru_cache(maxsize=4096)
def _slug(value: str) -> str:
    if len(value) > 120 or not _SLUG.fullmatch(value):
        raise _fail(
            "schema/id",
            f"{value[:60]!r} is not an id: at most 120 lower-case letters, digits, and single '-', '_' or '.' inside",
            value,
        )
    if value.split(".", maxsplit=1)[0] in _RESERVED:
        raise _fail("schema/id", f"{value!r} is a device name on Windows; choose another id", value)
    return value


def _count(value: Any) -> Any:
    if isinstance(value, str):
        if not _COUNT.fullmatch(value):
            hint = "; write digits only, without separators, or {unknown: why}"
            raise _fail("schema/count", f"{value[:60]!r} is not a whole number{hint}", value)
        return int(value)
    return value


def decimal_of(text: str) -> Decimal:
    """The exact decimal that a figure's text states; a typographic minus is a minus."""
    return Decimal(text.replace("−", "-"))


def _figure(value: Any) -> Any:
    if isinstance(value, str):
        if not _FIGURE.fullmatch(value):
            raise _fail("schema/figure", f"{value[:60]!r} is not a figure; write plain digits such as 97.60", value)
        return decimal_of(value)
    return value


def _flag(value: Any) -> Any:
    if isinstance(value, str):
        if value not in {"true", "false"}:
            raise _fail("schema/flag", f"{value[:60]!r} is neither true nor false", value)
        return value == "true"
    return value


def _day(value: Any) -> Any:
    if isinstance(value, str):
        if not _DATE.fullmatch(value):
            raise _fail("schema/date", f"{value[:60]!r} is not a date; write YYYY-MM-DD (UTC)", value)
        try:
            return date.fromisoformat(value)
        except ValueError:
            raise _fail("schema/date", f"{value!r} is not a day of the calendar", value) from None
    return value


def _moment(value: Any) -> Any:
    if isinstance(value, str):
        if not _MOMENT.fullmatch(value):
            raise _fail("schema/moment", f"{value[:60]!r} is not a UTC time; write YYYY-MM-DDTHH:MM:SSZ", value)
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            raise _fail("schema/moment", f"{value!r} is not a time of the calendar", value) from None
    return value


def _day_or_moment(value: Any) -> Any:
    return _moment(value) if isinstance(value, str) and "T" in value else _day(value)


def _utc(value: date | datetime) -> str:
    return value.strftime("%Y-%m-%dT%H:%M:%SZ") if isinstance(value, datetime) else value.isoformat()


Line = Annotated[str, BeforeValidator(_line), Field(max_length=1000)]
"""One line of text."""
Prose = Annotated[str, Mark("prose"), BeforeValidator(_prose), Field(max_length=60_000)]
"""Markdown; a figure in it is a reference such as `[[decode-4k]]`, never typed."""
Formula = Annotated[Line, Mark("formula")]
"""Arithmetic over references and numbers: `[[pool]] / 2`; it has to give the figure beside it."""
Slug = Annotated[str, AfterValidator(_slug)]
"""An identifier: lower-case letters, digits, single '-' or '.' inside."""
ModelId = Annotated[Slug, Mark("models")]
IdentityId = Annotated[Slug, Mark("identities")]
HardwareId = Annotated[Slug, Mark("hardware")]
RecipeId = Annotated[Slug, Mark("recipes")]
FindingId = Annotated[Slug, Mark("findings")]
MetricId = Annotated[Slug, Mark("metric")]
ArmId = Annotated[Slug, Mark("arm")]
ArtifactId = Annotated[Slug, Mark("item", ("artifact",))]
PopulationId = Annotated[Slug, Mark("item", ("population",))]
ItemId = Annotated[Slug, Mark("item")]
ItemRef = Annotated[Line, Mark("item")]
EvidenceRef = Annotated[Line, Mark("evidence")]
Count = Annotated[int, BeforeValidator(_count), Field(ge=0)]
"""A whole number, written in digits only."""
Figure = Annotated[Decimal, BeforeValidator(_figure)]
"""A decimal whose digits are kept as written: 97.60 stays 97.60."""
Flag = Annotated[bool, BeforeValidator(_flag)]
"""true or false."""
Day = Annotated[date, BeforeValidator(_day)]
"""A calendar day, UTC."""
Moment = Annotated[datetime, BeforeValidator(_moment), PlainSerializer(_utc, when_used="json")]
"""A UTC time ending in Z."""
DayOrMoment = Annotated[date | datetime, BeforeValidator(_day_or_moment), PlainSerializer(_utc, when_used="json")]
"""A day, or a UTC time where the evidence gives one."""


class Quantity(Part):
    """A figure with its unit, written together: `83.08 tok/s`, `96 GB`, `2493817 tokens`, or a bare `17`."""

    value: Figure
    unit: str = ""

    @model_validator(mode="before")
    @classmethod
    def _split(cls, data: Any) -> Any:
        if not isinstance(data, str):
            return data
        match = _QUANTITY.fullmatch(data)
        if match is None:
            raise _fail(
                "schema/quantity",
                f"{data[:60]!r} is not a figure with a unit; write for example 83.08 tok/s",
                data,
            )
        return {"value": match[1], "unit": (match[2] or "").strip()}

    @model_serializer
    def _join(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return f"{self.value:f} {self.unit}".rstrip()


class Range(Part):
    """The least and the greatest of several whole numbers, written `255647..255672`."""

    low: Count
    high: Count

    @model_validator(mode="before")
    @classmethod
    def _split(cls, data: Any) -> Any:
        if not isinstance(data, str):
            return data
        low, dots, high = data.partition("..")
        if not dots:
            return {"low": data, "high": data}
        return {"low": low, "high": high}

    @model_validator(mode="after")
    def _ordered(self) -> Range:
        if self.low > self.high:
            raise _fail("arithmetic/range", f"{self.low}..{self.high} runs backwards", str(self))
        return self

    @model_serializer
    def _join(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return str(self.low) if self.low == self.high else f"{self.low}..{self.high}"


class Source(Part):
    """Where a statement comes from: a page, a repository, a person."""

    title: Line
    published: Day | None = None
    retrieved: Day | None = None
    author: Line | None = None
    url: Annotated[str, BeforeValidator(_line), Field(max_length=2000)] | None = None
    revision: Line | None = None
    claim: Prose | None = Field(None, description="What the source states, when it is not measured here.")
    hardware: Line | None = Field(None, description="The hardware of the source's own claim.")
    note: Prose | None = None


class Record(Part):
    """A file of its own in `evidence/`; its stem is its id."""

    FOLDER: ClassVar[str]
    SCHEMA: ClassVar[str]
    IMMUTABLE: ClassVar[bool] = True

    id: Slug
    notes: Prose | None = None
    sources: tuple[Source, ...] = ()
