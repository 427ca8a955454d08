"""A performance cell: prompt size x concurrency x cache x output control, under a closed or an open load."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from enum import StrEnum
from itertools import accumulate
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from dossier.model.base import Count, Figure
from dossier.model.vocabulary import CacheMode, MeasurementClass
from dossier.runner.outcome import Goal
from dossier.runner.probes.base import Cost, Probe, Sample, Spec, Thinking, Wanted, judged, switched, timing_of
from dossier.runner.prompts import prompt
from dossier.runner.session import Session
from dossier.wire.dialect import Dialect
from dossier.wire.events import Usage
from dossier.wire.stream import Expect, StreamOutcome


class Output(StrEnum):
    """How output length is held."""

    EXACT = "exact"
    """Exactly so many tokens: the end token is ignored; a shorter or longer reply is a miss."""
    UP_TO = "up-to"
    """At most so many; replies may end earlier."""


class Arrivals(StrEnum):
    """When requests of an open load are due."""

    CONSTANT = "constant"
    POISSON = "poisson"


class Cell(Spec):
    """One performance cell. Without `rate` the load is closed: `concurrency` requests at once."""

    probe: Literal["cell"]
    prompt_tokens: Annotated[Count, Field(ge=16, le=4_000_000, description="Target, in the server's own tokens.")]
    output_tokens: Annotated[Count, Field(ge=2, le=65_536)] = 64
    output: Output = Output.EXACT
    cache: CacheMode = CacheMode.UNIQUE
    shared_tokens: Count = 0
    rate: Figure | None = Field(None, description="Requests a second of an open load.")
    arrivals: Arrivals = Arrivals.POISSON
    thinking: Thinking = "default"
    tolerance: Figure = Field(Decimal("0.05"), description="How far actual prompt tokens may lie off the target.")
    goal: Goal | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Cell:
        if self.cache not in {CacheMode.UNIQUE, CacheMode.SHARED, CacheMode.WARM, CacheMode.COLD}:
            raise PydanticCustomError("plan/cache", "a cell can make `unique`, `shared`, `warm` or `cold` prompts")
        if (self.cache is CacheMode.SHARED) != (0 < self.shared_tokens < self.prompt_tokens):
            text = "`shared_tokens` (fewer than prompt_tokens) goes with cache: shared, and only with it"
            raise PydanticCustomError("plan/cache", "{text}", {"text": text})
        if self.cache is CacheMode.WARM and self.warmups == 0:
            raise PydanticCustomError("plan/cache", "a warm cache needs `warmups`, which send the prompt before")
        if self.rate is not None and self.rate <= 0:
            raise PydanticCustomError("plan/rate", "`rate` is above zero; without it the load is closed")
        return self

    def due_s(self, seed: str) -> tuple[float, ...]:
        """When each request of an open load is due, in seconds from the start; the first at 0."""
        rate = float(self.rate or 1)
        if self.arrivals is Arrivals.CONSTANT:
            return tuple(index / rate for index in range(self.requests))
        draw = random.Random(f"{seed}/arrivals")  # noqa: S311 - a schedule, not a secret
        waits = (draw.expovariate(rate) for _ in range(self.requests - 1))
        return tuple(accumulate(waits, initial=0.0))


_IGNORES_EOS = {Dialect.VLLM, Dialect.SGLANG, Dialect.TRTLLM, Dialect.LLAMA_CPP}
_MIN_TOKENS = {Dialect.VLLM, Dialect.SGLANG, Dialect.TRTLLM}
_WARM_TOKENS = 64
_WARM_SHARE = 0.1


async def ask_cell(session: Session, spec: Cell, index: int) -> Sample:
    """One streamed request of the size that was found for this cell (`session.sizes`)."""
    words = session.sizes[spec.id]
    shared = round(words * spec.shared_tokens / spec.prompt_tokens)
    text = prompt(f"{session.seed}/{spec.id}", index, words, spec.cache, shared)
    expect = Expect(frozenset({session.model}), visible=False)
    more = {**controls(session, spec), **(salted(session, index) if spec.cache is CacheMode.COLD else {})}
    outcome = await session.stream(session.body(text, spec.output_tokens, **more), expect)
    # The words are ours and the reply is filler: neither is kept a thousand times.
    return replace(judged(outcome, _wrongs(outcome, spec)), timing=timing_of(outcome), text=None)


def controls(session: Session, spec: Cell) -> dict[str, Any]:
    """The request fields that hold the output length, and the thinking switch."""
    dialect = session.detection.dialect
    more: dict[str, Any] = {}
    if spec.output is Output.EXACT and dialect in _IGNORES_EOS:
        more["ignore_eos"] = True
    if spec.output is Output.EXACT and dialect in _MIN_TOKENS:
        more["min_tokens"] = spec.output_tokens
    return more | switched(spec.thinking)


def salted(session: Session, index: int) -> dict[str, Any]:
    """What keeps one request apart in the server's prefix cache, as far as its dialect has a field for that."""
    habits = session.detection.habits
    salt = {habits.salt: f"{session.seed[-16:]}-{index}"} if habits.salt is not None else {}
    return {**salt, **habits.uncached}


def _wrongs(outcome: StreamOutcome, spec: Cell) -> Iterator[tuple[str, str, str]]:
    """A reply of another length, or to a prompt of another size, is no sample of this cell."""
    usage = outcome.usage or Usage()
    if usage.completion is None:
        yield "usage-missing", "no token counts", "completion tokens"
        return
    if spec.output is Output.EXACT and usage.completion != spec.output_tokens:
        yield "output-length", f"{usage.completion} tokens", f"{spec.output_tokens} tokens"
    if usage.completion > spec.output_tokens:
        yield "budget-exceeded", f"{usage.completion} tokens", f"at most {spec.output_tokens}"
    if usage.prompt is not None and abs(usage.prompt - spec.prompt_tokens) > tolerated(spec):
        yield "prompt-size", f"{usage.prompt} tokens", f"{spec.prompt_tokens} tokens"
    if spec.cache is CacheMode.UNIQUE and is_warm(usage.prompt, usage.cached):
        yield "warm-prefix", f"{usage.cached} cached tokens", "a prompt that no cache holds"
    if spec.cache is CacheMode.COLD and usage.cached is None:
        yield "cold-unproven", "no count of cached tokens", "0 cached tokens"
    if spec.cache is CacheMode.COLD and usage.cached:
        yield "warm-prefix", f"{usage.cached} cached tokens", "0 cached tokens"


def tolerated(spec: Cell) -> float:
    """How many tokens a prompt may lie off its target: the share, and at least 8."""
    return max(8.0, float(spec.tolerance) * spec.prompt_tokens)


def is_warm(prompt_tokens: int | None, cached: int | None) -> bool:
    """Did the cache hold more than the template's own beginning?"""
    return cached is not None and cached > max(_WARM_TOKENS, _WARM_SHARE * (prompt_tokens or 0))


def sizes(spec: Cell) -> dict[str, Wanted]:
    """The one prompt size of a cell."""
    return {spec.id: Wanted(spec.prompt_tokens, float(spec.tolerance), _text)}


def _text(seed: str, words: int) -> str:
    return prompt(seed, words, words, CacheMode.UNIQUE)


def cost(spec: Cell) -> Cost:
    """One request of the target's size and its output."""
    return Cost(1, spec.prompt_tokens + round(tolerated(spec)) + spec.output_tokens)


def setup(spec: Cell) -> Cost:
    """Sizing: a few prompts of the target's size, for one token each."""
    return Cost(14, 5 * spec.prompt_tokens + 500)


PROBES = (
    Probe(
        "cell", Cell, MeasurementClass.PERFORMANCE,
        "Streamed requests of one size under one stated load, with the output length held and verified.",
        "Speed at another prompt size, output length, load or cache state, after another server start, or with real "
        "text: the words are filler.",
        cost, ask_cell, setup, sizes, timed=True,
    ),
)  # fmt: skip
