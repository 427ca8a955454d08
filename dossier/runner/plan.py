"""Plans: everything that a run will do, complete and digested before the first request."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from dossier.digest import digest_of
from dossier.errors import Problem, UsageError
from dossier.files import read_bytes
from dossier.model.base import Count, Figure, Flag, Line, ModelId, Part, Record, Slug
from dossier.model.parse import problems_of
from dossier.runner.arms import Block, Course, Declared, Restore, Side, Target, groups, wrong_course
from dossier.runner.identity import MOST_REQUESTS
from dossier.runner.judged import PlannedComparison, PlannedGate, Subjects, wrong_comparison, wrong_gate
from dossier.runner.probes import AnySpec, probe_of
from dossier.runner.probes.base import Cost, Spec
from dossier.runner.probes.cell import Cell
from dossier.runner.servermetrics import MOST
from dossier.source import read_document
from dossier.wire.dialect import LOOKS

__all__ = ["Declared", "Plan", "Target", "load_plan", "plan_of", "read_plan"]

CANDIDATE = "candidate"
"""The arm of a plan that has one target."""
REPEAT = "-repeat"


class Price(Part):
    """What a million tokens cost, in any one currency."""

    prompt: Figure
    output: Figure


class Bounds(Part):
    """Where the run stops by itself."""

    requests: Count = 5000
    tokens: Count = 20_000_000
    seconds: Annotated[Count, Field(ge=1)] = 3600
    request_seconds: Annotated[Count, Field(ge=1, le=86_400, description="Hard limit of one request.")] = 300
    idle_seconds: Annotated[Count, Field(ge=1, description="Longest silence inside a reply.")] = 120
    money: Figure | None = Field(None, description="Most that may be spent, in the currency of `price`.")
    price: Price | None = None

    @model_validator(mode="after")
    def _priced(self) -> Bounds:
        if self.money is not None and self.price is None:
            raise PydanticCustomError("plan/money", "a bound in `money` needs the `price` of prompt and output tokens")
        return self


class Calibration(Part):
    """How the instrument is measured before the run, at the plan's greatest concurrency."""

    requests: Annotated[Count, Field(ge=8, le=100_000)] = 128


@dataclass(frozen=True, slots=True)
class Instance:
    """A population of the plan in one block. `name` is its id in journal and finding."""

    name: str
    spec: Spec
    block: Block
    repeat_of: str | None = None

    @property
    def published(self) -> Spec:
        """The population under its id in the finding."""
        return self.spec if self.name == self.spec.id else self.spec.model_copy(update={"id": self.name})

    @property
    def repeat(self) -> Instance:
        """The same once more."""
        return Instance(f"{self.name}{REPEAT}", self.spec, self.block, self.name)


class Plan(Record):
    """One `target`, or several `arms`. Populations are run in the order in which they stand, each once a block."""

    FOLDER: ClassVar[str] = "plans"
    SCHEMA: ClassVar[str] = "dossier/plan/v1"

    schema_: Literal["dossier/plan/v1"] = Field(alias="schema")
    title: Line
    subject: ModelId = Field(description="The model of the finding; a model record is made where there is none.")
    target: Target | None = None
    arms: dict[Slug, Side] | None = Field(None, description="Instead of `target`: each by name, the baseline first.")
    schedule: Course | None = None
    restore: Restore | None = None
    declared: Declared = Declared()
    bounds: Bounds = Bounds()
    calibration: Calibration = Calibration()
    populations: Annotated[tuple[AnySpec, ...], Field(min_length=1, max_length=200)]
    comparisons: tuple[PlannedComparison, ...] | None = None
    gates: tuple[PlannedGate, ...] = ()
    repeat_failed: Flag = Field(default=False, description="Repeat a population once, unchanged, if its gate fails.")

    @model_validator(mode="after")
    def _consistent(self) -> Plan:
        for text in self._wrongs():
            raise PydanticCustomError("plan/consistent", "{text}", {"text": text})
        return self

    def _wrongs(self) -> Iterator[str]:
        if (self.target is None) == (not self.arms):
            yield "name one `target`, or several `arms`"
        if self.target is not None and (self.schedule or self.restore or self.comparisons):
            yield "`schedule`, `restore` and `comparisons` go with `arms`"
        if self.arms and (wrong := wrong_course(self.arms, self.course)):
            yield wrong
        if self.restore is not None and self.restore.arm not in self.sides:
            yield f"restore: {self.restore.arm!r} is none of the arms: {', '.join(self.sides)}"
        subjects = self.subjects
        names = [*(spec.id for spec in self.specs), *(gate.id for gate in self.gates)]
        names += [comparison.id for comparison in self.comparisons or ()]
        names += subjects.named if self.arms else ()
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            yield f"the id {twice[0]!r} is given twice"
        for comparison in self.comparisons or ():
            yield from wrong_comparison(comparison, subjects)
        for gate in self.gates:
            yield from wrong_gate(gate, subjects)

    @property
    def sides(self) -> Mapping[str, Side]:
        """The arms by name; a plan with one target has one."""
        if self.arms:
            return self.arms
        return {CANDIDATE: Side.model_construct(**{n: getattr(self.target, n) for n in Target.model_fields})}

    @property
    def course(self) -> Course:
        """In which order the arms are measured, and how often each is started."""
        return self.schedule or Course.model_validate({"starts": 1, "order": "sequential"})

    @cached_property
    def groups(self) -> list[tuple[Block, ...]]:
        """The blocks in order; those of one group are measured side by side."""
        return groups(list(self.sides), self.course)

    @property
    def blocks(self) -> list[Block]:
        """All blocks by number."""
        return [block for group in self.groups for block in group]

    def instances(self, group: tuple[Block, ...] | None = None) -> list[Instance]:
        """The populations of all blocks, or of one group, in the order in which they are run."""
        found: list[Instance] = []
        for blocks in self.groups if group is None else [group]:
            for number, spec in enumerate(self.populations):
                turn = blocks if number % 2 == 0 else tuple(reversed(blocks))
                found += [Instance(self.name_in(block, spec.id), spec, block) for block in turn]
        return found

    def name_in(self, block: Block, population: str) -> str:
        """The id of a population in a block: bare, by arm, or by arm and start where there are several."""
        if not self.arms:
            return population
        several = sum(other.arm == block.arm for other in self.blocks) > 1
        return f"{block.arm}-{block.start}-{population}" if several else f"{block.arm}-{population}"

    def starts_of(self, arm: str) -> list[Block]:
        """The blocks of an arm."""
        return [block for block in self.blocks if block.arm == arm]

    @property
    def subjects(self) -> Subjects:
        """What gates and comparisons can be about."""
        starts = {arm: len(self.starts_of(arm)) for arm in self.sides}
        named = {
            spec.id if not self.arms else f"{arm}-{spec.id}": (arm, spec)
            for arm in self.sides
            for spec in (self.specs if starts[arm] == 1 else self.populations)
        }
        return Subjects(named, starts, {c.id: c for c in self.comparisons or ()})

    def declared_of(self, arm: str) -> Declared:
        """What is declared of an arm: its own, else what holds for all."""
        return self.sides[arm].declared.over(self.declared) if self.arms else self.declared

    @property
    def public(self) -> dict[str, Any]:
        """The plan as the journal keeps it: without the servers' addresses, which say where and not what.

        Defaults are written out, so that a later version with others reads the same plan.
        """
        data = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        restored = data.get("restore", {}).get("routed", {})
        for target in [data.get("target", {}), restored, *data.get("arms", {}).values()]:
            target.pop("base_url", None)
        return data

    @property
    def digest(self) -> str:
        """SHA-256 over the canonical form of the public plan."""
        return digest_of(self.public)

    @property
    def specs(self) -> list[Spec]:
        """The populations, each followed by the parts that are published apart."""
        return [item for spec in self.populations for item in (spec, *(s.spec for s in probe_of(spec).shares(spec)))]

    @staticmethod
    def streams_of(populations: Iterable[Spec]) -> set[int]:
        """At how many streams at once times are measured."""
        timed = [spec for spec in populations if probe_of(spec).timed]
        return {item.concurrency for spec in timed for item in probe_of(spec).rounds(spec)}

    @property
    def concurrency(self) -> int:
        """The most streams at once that any timed population asks for."""
        return max(self.streams_of(self.populations), default=1)

    @property
    def cells(self) -> list[Cell]:
        """The performance cells."""
        return [spec for spec in self.populations if isinstance(spec, Cell)]


@dataclass(frozen=True, slots=True)
class Estimate:
    """What one part of a run costs at most: HTTP requests, tokens, and seconds if every request hangs to its limit."""

    what: str
    probe: str
    requests: int
    tokens: int
    seconds: float


def estimate(plan: Plan) -> list[Estimate]:
    """The cost of every population, by its own parameters."""
    return [_estimate(spec, plan.bounds, len(plan.blocks)) for spec in plan.populations]


def around(plan: Plan) -> list[Estimate]:
    """What is sent beside the populations: to know the server, to read its metrics, and to repeat what failed."""
    blocks = len(plan.blocks)
    requests = blocks * (LOOKS + 2 * MOST_REQUESTS)
    found = [Estimate("before and after", "identity", requests, 200 * blocks,
                      requests * float(plan.bounds.request_seconds))]  # fmt: skip
    timed = [spec for spec in plan.populations if probe_of(spec).timed]
    if timed:
        readings = blocks * MOST * sum(len(probe_of(spec).rounds(spec)) for spec in timed)
        found.append(Estimate("beside timed ones", "server metrics", readings, 0, 0.0))
    gated = {gate.subject for gate in plan.gates}
    again = [
        (each.spec, f"{each.name}, repeated")
        for each in plan.instances()
        if plan.repeat_failed and (f"{each.block.arm}-{each.spec.id}" if plan.arms else each.spec.id) in gated
    ]
    return [*found, *(replace(_estimate(spec, plan.bounds, 1), what=what) for spec, what in again)]


def _estimate(spec: Spec, bounds: Bounds, blocks: int) -> Estimate:
    probe = probe_of(spec)
    each: Cost = probe.cost(spec)
    setup: Cost = probe.setup(spec)
    samples = blocks * (spec.requests + spec.warmups)
    waves = -(-samples // spec.concurrency) * each.requests + setup.requests
    tokens = samples * each.tokens + setup.tokens
    seconds = waves * float(bounds.request_seconds)
    return Estimate(spec.id, probe.name, samples * each.requests + setup.requests, tokens, seconds)


def load_plan(path: Path) -> tuple[Plan | None, list[Problem]]:
    """Read a plan file; None and every problem in it where it is not valid. Raises StorageError."""
    return read_plan(read_bytes(path), path.name)


def read_plan(data: bytes | str, shown: str) -> tuple[Plan | None, list[Problem]]:
    """Read a plan's text."""
    document, problems = read_document(data, shown)
    if document is None:
        return None, problems
    schema = document.data.get("schema")
    if schema != Plan.SCHEMA:
        mark = document.locate(("schema",))
        return None, [Problem(shown, mark.line, mark.column, "schema/kind", f"a plan says schema: {Plan.SCHEMA}")]
    try:
        return Plan.model_validate(document.data), []
    except ValidationError as error:
        return None, sorted(set(problems_of(error, Plan, document, shown)))


def plan_of(public: Mapping[str, Any]) -> Plan:
    """The plan that a journal keeps. Its addresses are stand-ins: nothing is sent from here."""
    nowhere = {"base_url": "http://invalid"}
    data = dict(public)
    if "target" in data:
        data["target"] = {**data["target"], **nowhere}
    if "arms" in data:
        data["arms"] = {name: {**side, **nowhere} for name, side in data["arms"].items()}
    if "routed" in data.get("restore", {}):
        data["restore"] = {**data["restore"], "routed": {**data["restore"]["routed"], **nowhere}}
    return Plan.model_validate(data)


def api_key(target: Target) -> str | None:
    """The key from the environment. Raises UsageError where the variable that the plan names is not set."""
    name = target.api_key_env
    if name is None:
        return None
    key = os.environ.get(name)
    if not key:
        raise UsageError(f"the environment variable {name}, which the plan names for the API key, is not set")
    return key


def api_keys(plan: Plan) -> list[str]:
    """Every key that the plan names. Raises UsageError where one is not set."""
    return [key for target in _targets(plan) if (key := api_key(target)) is not None]


def base_urls(plan: Plan) -> list[str]:
    """Every address that requests go to."""
    return [target.base_url for target in _targets(plan)]


def _targets(plan: Plan) -> list[Target]:
    return [*plan.sides.values(), *([plan.restore.routed] if plan.restore and plan.restore.routed else [])]
