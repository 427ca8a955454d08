"""Speculation: how many drafted tokens the engine accepts, by its own counters, while it answers ordinary tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files
from typing import Annotated, Any, Literal

from pydantic import Field

from dossier.digest import sha256_hex
from dossier.model.base import Count
from dossier.model.vocabulary import CacheMode, Load, MeasurementClass
from dossier.runner.journal import Entry
from dossier.runner.probes.base import (
    Cost,
    Probe,
    Reply,
    Sample,
    Spec,
    Thinking,
    judged,
    range_of,
    switched,
    timing_of,
)
from dossier.runner.session import Session
from dossier.wire.stream import Expect

_PROMPT_TOKENS = 150


class Speculation(Spec):
    """Ordinary tasks, one after another from the shipped list."""

    probe: Literal["speculation"]
    output_tokens: Annotated[Count, Field(ge=16, le=65_536, description="Greatest output of one answer.")] = 256
    thinking: Thinking = "default"


@lru_cache(1)
def tasks() -> tuple[tuple[str, ...], str]:
    """The shipped tasks, and the SHA-256 of their file."""
    data = (files("dossier") / "suites" / "tasks.txt").read_bytes()
    return tuple(data.decode().splitlines()), sha256_hex(data)


async def ask_speculation(session: Session, spec: Speculation, index: int) -> Sample:
    """One task, streamed; the engine's counters are read around the whole population."""
    asked, _ = tasks()
    body = session.body(asked[index % len(asked)], spec.output_tokens, **switched(spec.thinking))
    outcome = await session.stream(body, Expect(frozenset({session.model}), visible=False))
    return replace(judged(outcome, _wrongs(outcome)), timing=timing_of(outcome))


def _wrongs(reply: Reply) -> Iterator[tuple[str, str, str]]:
    if reply.usage is None or reply.usage.completion is None:
        yield "usage-missing", "no token counts", "completion tokens"
    if reply.finish not in {"stop", "length"}:
        yield "unexpected-finish", str(reply.finish), "stop or length"


def _facts(spec: Speculation, samples: Sequence[Entry]) -> Mapping[str, Any]:
    _, digest = tasks()
    return {
        "suite": f"dossier tasks, sha256:{digest}",
        "prompt_tokens": range_of(samples, "prompt"),
        "output_tokens": range_of(samples, "completion"),
        "output_budget": spec.output_tokens,
        "output_control": "up to the budget; answers may end earlier",
        "load": (Load.SERIAL if spec.concurrency == 1 else Load.CLOSED).value,
        "cache": CacheMode.MIXED.value,
        "thinking": spec.thinking,
        "protocol": "chat-completions, streamed",
    }


PROBES = (
    Probe(
        "speculation", Speculation, MeasurementClass.PERFORMANCE,
        "Ordinary tasks answered greedily, and beside them the engine's own counters of drafted and accepted tokens.",
        "A speed-up: that needs the same tasks on a server without speculation, as another arm; other texts are "
        "accepted at other rates, and an engine without these counters gives no figure.",
        lambda spec: Cost(1, spec.output_tokens + _PROMPT_TOKENS), ask_speculation, timed=True, facts=_facts,
    ),
)  # fmt: skip
