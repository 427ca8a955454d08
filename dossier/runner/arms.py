"""Arms: the servers that a plan measures, how each is started and stopped, and in which order they are measured."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from dossier.model.base import Count, Flag, Line, Part, Prose, Slug
from dossier.model.hardware import Gpu, Host, Link, Resident
from dossier.model.identity import Artifact, Quantization, Runtime
from dossier.model.recipe import Speculation
from dossier.model.vocabulary import Path as Way
from dossier.model.vocabulary import Word


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

    def over(self, common: Declared) -> Declared:
        """What is declared here, and for the rest what is declared for all arms; lists and tables are joined."""
        own = {name: value for name in Declared.model_fields if (value := getattr(self, name)) not in (None, (), {})}
        joined = {"flags": (*common.flags, *self.flags), "environment": {**common.environment, **self.environment},
                  "settings": {**common.settings, **self.settings}}  # fmt: skip
        return common.model_copy(update={**own, **joined})


class Side(Target):
    """One arm: a server that is running already, or one that the run starts and stops.

    The commands run in the folder where the runner was started. `start` may stay in the foreground or leave the
    server running behind it. Commands are published with the plan: a secret comes from the environment.
    """

    title: Line | None = None
    start: tuple[Line, ...] = Field((), description="The command and its arguments, without a shell.")
    stop: tuple[Line, ...] = Field((), description="Not needed where `start` stays in the foreground.")
    ready_seconds: Annotated[Count, Field(ge=1, le=7200, description="How long it may take to answer.")] = 600
    stop_seconds: Annotated[Count, Field(ge=1, le=3600)] = 60
    reset_cache: Line | None = Field(None, description="Path that is POSTed to before each block of this arm.")
    declared: Declared = Declared()


class Order(Word):
    """The order in which arms are measured."""

    ABBA = "ABBA", "each pair of starts in turned order, so that a drift over time falls on both arms alike"
    BRACKETED = "bracketed", "the first arm before and after every start of the other"
    INTERLEAVED = "interleaved", "both servers run side by side, and the arms take turns at every population"
    SEQUENTIAL = "sequential", "all of one arm, then all of the next: a drift over time falls on one of them"


class Course(Part):
    """In which order, how many starts of each server, and what lies between."""

    order: Order = Order.ABBA
    starts: Annotated[Count, Field(ge=1, le=50, description="Server starts an arm: the unit that is replicated.")] = 2
    cool_down_seconds: Annotated[Count, Field(le=3600)] = 0
    own_prompts: Flag = Field(default=False, description="Every arm its own prompts: where both reach one cache.")


class Restore(Part):
    """Which arm is put back at the end, in any case, and how that is checked."""

    arm: Slug
    requests: Annotated[Count, Field(ge=1, le=20, description="Preflight requests, each way.")] = 2
    routed: Target | None = Field(None, description="The way that clients take, for a preflight of its own.")


@dataclass(frozen=True, slots=True)
class Block:
    """One stretch of work with one server start: the `start`-th of its arm. Blocks are numbered from 1."""

    number: int
    arm: str
    start: int


def groups(arms: Sequence[str], course: Course) -> list[tuple[Block, ...]]:
    """The blocks in order; those of one group are measured side by side."""
    order = list(_order(arms, course))
    counted = [Block(n, arm, order[:n].count(arm)) for n, arm in enumerate(order, 1)]
    return [tuple(counted)] if course.order is Order.INTERLEAVED else [(block,) for block in counted]


def _order(arms: Sequence[str], course: Course) -> Iterator[str]:
    match course.order:
        case Order.SEQUENTIAL:
            for arm in arms:
                yield from [arm] * course.starts
        case Order.ABBA:
            for number in range(course.starts):
                yield from arms if number % 2 == 0 else reversed(arms)
        case Order.BRACKETED:
            for _ in range(course.starts):
                yield from arms
            yield arms[0]
        case _:
            yield from arms


def wrong_course(arms: dict[str, Side], course: Course) -> str | None:
    """What does not go together, in words."""
    starting = [name for name, side in arms.items() if side.start]
    if course.order is Order.INTERLEAVED and (starting or course.starts > 1):
        return "interleaved arms run side by side: start both servers beforehand, and write starts: 1"
    if course.order in {Order.ABBA, Order.BRACKETED} and len(arms) != 2:
        return f"{course.order} is an order of two arms; this plan has {len(arms)}"
    if course.order is Order.ABBA and course.starts % 2:
        return f"ABBA needs an even number of starts, not {course.starts}"
    still = [name for name, side in arms.items() if not side.start]
    if course.starts > 1 and still:
        return f"starts: {course.starts}, but {', '.join(still)} has no `start` command: without one, write starts: 1"
    return None
