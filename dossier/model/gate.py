"""Gates: a requirement declared before the run; its verdict is computed, see `dossier.derive.gates`."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any

from pydantic import Field, model_serializer, model_validator
from pydantic_core import PydanticCustomError

from dossier.model.base import Count, DayOrMoment, Flag, ItemRef, Line, Maybe, Part, Prose, Quantity, Slug
from dossier.model.vocabulary import Verdict

_ALL = re.compile(r"all passed")
_LEAST = re.compile(r"at least ([0-9]+(?:\.[0-9]+)?)( %)? passed")
_LIMIT = re.compile(r"(<=|>=|<|>)\s*(.+)")
_WITHIN = re.compile(r"within ±?\s*(.+)")
_SHOWN = "shown "


class Test(StrEnum):
    """How a requirement compares."""

    ALL = "all passed"
    AT_LEAST = "at least"
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    NOT_LESS = ">="
    WITHIN = "within"


class Requirement(Part):
    """`all passed`, `at least 95 % passed`, `<= 5 %`, `>= 3072 MiB`, `shown < 0 %`, `shown within ±5 %`."""

    test: Test
    limit: Quantity | None = None
    shown: bool = Field(default=False, description="The whole interval of a difference has to meet it.")

    @model_validator(mode="before")
    @classmethod
    def _parse(cls, data: Any) -> Any:
        if not isinstance(data, str):
            return data
        shown = data.startswith(_SHOWN)
        if not shown and _ALL.fullmatch(data):
            return {"test": Test.ALL}
        if not shown and (match := _LEAST.fullmatch(data)):
            return {"test": Test.AT_LEAST, "limit": match[1] + (match[2] or "")}
        if match := _LIMIT.fullmatch(data.removeprefix(_SHOWN)):
            return {"test": match[1], "limit": match[2], "shown": shown}
        if match := _WITHIN.fullmatch(data.removeprefix(_SHOWN)):
            return {"test": Test.WITHIN, "limit": match[1], "shown": shown}
        text = f"{data[:60]!r} is not a requirement; write one of: {cls.__doc__}"
        raise PydanticCustomError("schema/requirement", "{text}", {"text": text, "seen": data})

    @model_serializer
    def _join(self) -> str:
        return str(self)

    def __str__(self) -> str:
        if self.test is Test.ALL:
            return "all passed"
        if self.test is Test.AT_LEAST:
            return f"at least {self.limit} passed"
        limit = f"within ±{self.limit}" if self.test is Test.WITHIN else f"{self.test} {self.limit}"
        return f"{_SHOWN if self.shown else ''}{limit}"


class Gate(Part):
    """A requirement on one population, measurement or comparison.

    `rule` puts it in words. Without `require` the verdict is what the source states, and is shown so. A human
    sets a failed gate aside by a decision `waive`, which leaves the failure visible.
    """

    id: Slug
    title: Line | None = None
    rule: Prose | None = None
    require: Requirement | None = None
    subject: ItemRef | None = Field(None, description="Id of what is judged, or `finding-id#id`.")
    predeclared: Maybe[Flag] | None = None
    declared_at: DayOrMoment | None = None
    repeats_allowed: Count | None = None
    stated: Verdict | None = Field(None, description="The verdict as the source gives it.")
    stated_differs: Prose | None = None
    not_run: Prose | None = Field(None, description="Why it was not run.")
    not_applicable: Prose | None = None
    note: Prose | None = None

    @model_validator(mode="after")
    def _decidable(self) -> Gate:
        if self.require is not None and self.subject is None:
            raise PydanticCustomError("schema/gate", "a gate with `require` names the `subject` that it judges")
        if not (self.require or self.stated or self.not_run or self.not_applicable):
            raise PydanticCustomError("schema/gate", "give `require`, `stated`, `not_run` or `not_applicable`")
        return self
