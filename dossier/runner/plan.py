"""Plans: everything that a run will do, complete and digested before the first request."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from dossier.digest import digest_of
from dossier.errors import Problem, UsageError
from dossier.files import read_bytes
from dossier.model.base import Count, Figure, Flag, Line, ModelId, Part, Prose, Record, Slug
from dossier.model.gate import Requirement, Test
from dossier.model.hardware import Gpu, Host, Link, Resident
from dossier.model.identity import Artifact, Quantization, Runtime
from dossier.model.parse import problems_of
from dossier.model.recipe import Speculation
from dossier.model.vocabulary import Path as Way
from dossier.runner.identity import MOST_REQUESTS
from dossier.runner.probes import AnySpec, probe_of
from dossier.runner.probes.base import Cost, Spec
from dossier.runner.probes.cell import Cell
from dossier.runner.servermetrics import MOST
from dossier.source import read_document
from dossier.wire.dialect import LOOKS


def _variable(value: Any) -> Any:
    if isinstance(value, str) and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,60}", value):
        text = "name the environment variable that holds the key, never the key itself"
        raise PydanticCustomError("plan/key", "{text}", {"text": text})
    return value


class Target(Part):
    """The server, and the name under which the model is asked for."""

    base_url: Line
    model: Line
    api_key_env: Annotated[str, BeforeValidator(_variable)] | None = None
    path: Way = Way.DIRECT
    context_tokens: Count | None = Field(None, description="Served context; asked of the server where left out.")


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


class Declared(Part):
    """What the operator knows and no request can find out. It is published as declared, not as measured."""

    model_name: Line | None = None
    caveat: Prose | None = Field(None, description="What a reader must know before quoting a figure.")
    artifacts: tuple[Artifact, ...] = ()
    runtime: Runtime | None = None
    quantization: Quantization | None = None
    license: Prose | None = None
    hardware_title: Line | None = None
    gpus: tuple[Gpu, ...] = ()
    links: tuple[Link, ...] = ()
    host: Host | None = None
    co_resident: tuple[Resident, ...] = ()
    parallelism: Line | None = None
    engine_sequences: Count | None = None
    batch_tokens: Count | None = None
    kv_dtype: Line | None = None
    prefix_cache: Line | None = None
    speculation: Speculation | None = None
    environment: dict[str, Line] = Field({})
    flags: tuple[Line, ...] = ()
    settings: dict[str, Line] = Field({})


class PlannedGate(Part):
    """A requirement on a population, or on a figure named `<population>-<metric>-<statistic>`."""

    id: Slug
    subject: Slug
    require: Requirement
    title: Line | None = None


class Calibration(Part):
    """How the instrument is measured before the run, at the plan's greatest concurrency."""

    requests: Annotated[Count, Field(ge=8, le=100_000)] = 128


class Plan(Record):
    """One run against one server. Populations are run in the order in which they stand, each once."""

    FOLDER: ClassVar[str] = "plans"
    SCHEMA: ClassVar[str] = "dossier/plan/v1"

    schema_: Literal["dossier/plan/v1"] = Field(alias="schema")
    title: Line
    subject: ModelId = Field(description="The model of the finding; a model record is made where there is none.")
    target: Target
    declared: Declared = Declared()
    bounds: Bounds = Bounds()
    calibration: Calibration = Calibration()
    populations: Annotated[tuple[AnySpec, ...], Field(min_length=1, max_length=200)]
    gates: tuple[PlannedGate, ...] = ()
    repeat_failed: Flag = Field(default=False, description="Repeat a population once, unchanged, if its gate fails.")

    @model_validator(mode="after")
    def _consistent(self) -> Plan:
        names = [*(spec.id for spec in self.specs), *(gate.id for gate in self.gates)]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise PydanticCustomError("plan/id", "{text}", {"text": f"the id {twice[0]!r} is given twice"})
        ids = [spec.id for spec in self.specs]
        for gate in self.gates:
            counts = gate.require.test in {Test.ALL, Test.AT_LEAST}
            known = gate.subject in ids if counts else any(gate.subject.startswith(f"{name}-") for name in ids)
            if not known:
                form = "a population" if counts else "a figure such as <population>-ttft_any-median"
                text = f"gate {gate.id}: `{gate.require}` judges {form}; {gate.subject!r} is none of this plan"
                raise PydanticCustomError("plan/gate", "{text}", {"text": text})
        return self

    @property
    def public(self) -> dict[str, Any]:
        """The plan as the journal keeps it: without the server's address, which says where and not what.

        Defaults are written out, so that a later version with others reads the same plan.
        """
        data = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        data["target"] = {key: value for key, value in data["target"].items() if key != "base_url"}
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
    return [_estimate(spec, plan.bounds) for spec in plan.populations]


def around(plan: Plan) -> list[Estimate]:
    """What is sent beside the populations: to know the server, to read its metrics, and to repeat what failed."""
    requests = LOOKS + 2 * MOST_REQUESTS
    found = [Estimate("before and after", "identity", requests, 200, requests * float(plan.bounds.request_seconds))]
    timed = [spec for spec in plan.populations if probe_of(spec).timed]
    if timed:
        readings = MOST * sum(len(probe_of(spec).rounds(spec)) for spec in timed)
        found.append(Estimate("beside timed ones", "server metrics", readings, 0, 0.0))
    gated = {gate.subject for gate in plan.gates}
    again = [_estimate(spec, plan.bounds) for spec in plan.populations if plan.repeat_failed and spec.id in gated]
    return [*found, *(replace(item, what=f"{item.what}, repeated") for item in again)]


def _estimate(spec: AnySpec, bounds: Bounds) -> Estimate:
    probe = probe_of(spec)
    each: Cost = probe.cost(spec)
    setup: Cost = probe.setup(spec)
    samples = spec.requests + spec.warmups
    waves = -(-samples // spec.concurrency) * each.requests + setup.requests
    tokens = samples * each.tokens + setup.tokens
    seconds = waves * float(bounds.request_seconds)
    return Estimate(spec.id, spec.probe, samples * each.requests + setup.requests, tokens, seconds)


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
    """The plan that a journal keeps. Its address is a stand-in: nothing is sent from here."""
    data = {**public, "target": {**public["target"], "base_url": "http://invalid"}}
    return Plan.model_validate(data)


def api_key(plan: Plan) -> str | None:
    """The key from the environment. Raises UsageError where the variable that the plan names is not set."""
    name = plan.target.api_key_env
    if name is None:
        return None
    key = os.environ.get(name)
    if not key:
        raise UsageError(f"the environment variable {name}, which the plan names for the API key, is not set")
    return key
