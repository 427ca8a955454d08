"""What every probe is: parameters, a cost that is known beforehand, and one sample at a time.

A sample *passed* when its output was verified, *missed* when a whole reply was not what it should be, and *failed*
when there was no whole reply. HTTP 200 decides none of the three.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Annotated, Any, Generic, TypeVar

from pydantic import Field

from dossier.model.base import Count, Line, Part, Slug
from dossier.model.vocabulary import MeasurementClass
from dossier.runner.figure import Figure as Computed
from dossier.runner.journal import Entry
from dossier.runner.outcome import Outcome
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


def budgeted(prompt_tokens: int, requests: Callable[[Any], int] = lambda _: 1) -> Callable[[Any], Cost]:
    """The cost of a probe whose every request has a short prompt and `max_tokens` of its spec to answer."""

    def cost(spec: Any) -> Cost:
        count = requests(spec)
        return Cost(count, count * (prompt_tokens + spec.max_tokens))

    return cost


@dataclass(frozen=True, slots=True)
class Wanted:
    """A size that prompts are made for: a target in the server's tokens, and the text of so many words.

    `text(seed, words)` makes a prompt like those of the probe; how many words make the target is found by asking.
    """

    tokens: int
    tolerance: float
    text: Callable[[str, int], str]


@dataclass(frozen=True, slots=True)
class Round:
    """Requests that are put on the server together; the next round begins when all of them have ended."""

    population: str
    indices: Sequence[int]
    concurrency: int


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a population that is published as a population of its own: its spec, and which requests are its."""

    spec: Spec
    indices: Sequence[int]


def conversation(turns: int, tokens: int) -> Cost:
    """The cost of a sample whose every turn sends all turns before it again; `tokens` is what one turn adds."""
    return Cost(turns, tokens * turns * (turns + 1) // 2)


S = TypeVar("S", bound=Spec)


@dataclass(frozen=True, slots=True)
class Probe(Generic[S]):
    """A kind of question. `asks` and `not_shown` are published with every population.

    `sizes` are prompt sizes to be found before, by the name under which `Session.sizes` gives the words. `rounds`
    say what is sent together, `shares` what is published apart. A `timed` probe runs beside meters of the client and
    the server, at a calibrated concurrency, and has the figures of times; `figures` adds those of its own, from the
    samples and what was seen of the whole. `facts` are fields of the population.
    """

    name: str
    spec: type[S]
    class_: MeasurementClass
    asks: str
    not_shown: str
    cost: Callable[[S], Cost]
    ask: Callable[[Session, S, int], Awaitable[Sample]]
    setup: Callable[[S], Cost] = lambda _: Cost(0, 0)
    sizes: Callable[[S], Mapping[str, Wanted]] = lambda _: {}
    rounds: Callable[[S], Sequence[Round]] = lambda spec: (Round(spec.id, range(spec.requests), spec.concurrency),)
    shares: Callable[[S], Sequence[Share]] = lambda _: ()
    timed: bool = False
    figures: Callable[[S, Sequence[Entry], Sequence[Entry]], Sequence[Computed]] = lambda _, __, ___: ()
    facts: Callable[[S, Sequence[Entry]], Mapping[str, Any]] = lambda _, __: {}


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


def switched(thinking: str) -> dict[str, Any]:
    """The request field that switches thinking, where it is to be switched."""
    return {} if thinking == "default" else {"chat_template_kwargs": {"enable_thinking": thinking == "on"}}


def range_of(samples: Sequence[Entry], name: str) -> Any:
    """The least and the greatest count of one kind of tokens (`prompt`, `completion`), as usage states them."""
    counts = [entry["usage"][name] for entry in samples if name in entry.get("usage", {})]
    if not counts:
        return {"unknown": "The server stated no token counts." if samples else "No request was sent."}
    low, high = min(counts), max(counts)
    return low if low == high else f"{low}..{high}"


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
