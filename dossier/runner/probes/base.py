"""What every probe is: parameters, a cost that is known beforehand, and one sample at a time.

A sample *passed* when its output was verified, *missed* when a whole reply was not what it should be, and *failed*
when there was no whole reply. HTTP 200 decides none of the three.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import Annotated, Any, Generic, TypeVar

from pydantic import Field

from dossier.model.base import Count, Line, Part, Slug
from dossier.model.vocabulary import MeasurementClass
from dossier.runner.session import Session
from dossier.runner.whole import Whole
from dossier.wire.errors import Failure, bounded
from dossier.wire.events import Usage
from dossier.wire.stream import StreamOutcome

EXCERPT = 200

Thinking = Annotated[str, Field(pattern="^(default|on|off)$", description="default sends no switch.")]


class Spec(Part):
    """One population of a plan: a probe, how often, and how many at once."""

    id: Slug
    title: Line | None = None
    requests: Annotated[Count, Field(ge=1, le=100_000)] = 1
    warmups: Annotated[Count, Field(le=1000, description="Sent before, kept apart, never counted.")] = 0
    concurrency: Annotated[Count, Field(ge=1, le=4096)] = 1


class Outcome(StrEnum):
    """What became of one sample."""

    PASSED = "passed"
    MISSED = "missed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Timing:
    """When output came, in nanoseconds after the request was written; gaps lie between output chunks.

    `lag_ns` is how late an open load sent it, after its scheduled time.
    """

    ttft_any: int
    ttft_visible: int | None
    e2e: int
    gaps_us: tuple[int, ...]
    start_ns: int
    lag_ns: int = 0


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample, as the journal keeps it."""

    outcome: Outcome
    kind: str | None = None
    observed: str | None = None
    expected: str | None = None
    finish: str | None = None
    text: str | None = None
    usage: Usage | None = None
    timing: Timing | None = None
    fingerprint: str | None = None
    deviations: tuple[str, ...] = ()
    stale_retries: int = 0
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cost:
    """What one sample sends at most: HTTP requests, and prompt and output tokens together."""

    requests: int
    tokens: int


S = TypeVar("S", bound=Spec)


@dataclass(frozen=True, slots=True)
class Probe(Generic[S]):
    """A kind of question. `asks` and `not_shown` are published with every population."""

    name: str
    spec: type[S]
    class_: MeasurementClass
    asks: str
    not_shown: str
    cost: Callable[[S], Cost]
    ask: Callable[[Session, S, int], Awaitable[Sample]]
    setup: Callable[[S], Cost] = lambda _: Cost(0, 0)


Reply = StreamOutcome | Whole


def passed(reply: Reply, **facts: Any) -> Sample:
    """A sample whose output was verified."""
    return _sample(Outcome.PASSED, reply, facts=facts)


def missed(reply: Reply, kind: str, observed: str, expected: str, **facts: Any) -> Sample:
    """A whole reply that is not what it should be."""
    shown = {"kind": kind, "observed": excerpt(observed), "expected": excerpt(expected)}
    return _sample(Outcome.MISSED, reply, facts=facts, **shown)


def judged(reply: Reply, wrongs: Iterable[tuple[str, str, str]]) -> Sample:
    """A sample by the first thing that is wrong with a whole reply: its kind, what was observed, what expected."""
    if reply.failure is not None:
        return failed(reply, reply.failure)
    first = next(iter(wrongs), None)
    return missed(reply, *first) if first is not None else passed(reply)


def failed(reply: Reply | None, failure: Failure) -> Sample:
    """No whole reply, with the class of the failure and bounded text."""
    told = f"{failure.message} (HTTP {failure.status})" if failure.status else failure.message
    if reply is None:
        return Sample(Outcome.FAILED, kind=failure.kind, observed=bounded(told, 2 * EXCERPT))
    return _sample(Outcome.FAILED, reply, kind=failure.kind, observed=bounded(told, 2 * EXCERPT))


def excerpt(text: str) -> str:
    """The beginning of a text on one line, without characters that a terminal or a YAML file would act on."""
    line = " ".join(text.split())
    line = (
        "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in line[: 2 * EXCERPT])
        + line[2 * EXCERPT :]
    )
    return bounded(line, EXCERPT) if line else "(nothing)"


def timing_of(outcome: StreamOutcome) -> Timing | None:
    """The times of a stream that carried output."""
    if not outcome.arrivals:
        return None
    stamps = [arrival.at_ns for arrival in outcome.arrivals]
    gaps = tuple((later - sooner) // 1000 for sooner, later in pairwise(stamps))
    start = outcome.trace.start_ns
    return Timing(stamps[0] - start, outcome.ttft_visible_ns, stamps[-1] - start, gaps, start)


def _sample(outcome: Outcome, reply: Reply, **more: Any) -> Sample:
    said = reply.content or reply.reasoning
    return Sample(
        outcome,
        finish=reply.finish,
        text=excerpt(said) if said else None,
        usage=reply.usage,
        fingerprint=reply.named.fingerprint,
        deviations=reply.deviations,
        stale_retries=reply.trace.stale_retries if isinstance(reply, StreamOutcome) else reply.stale_retries,
        **more,
    )
