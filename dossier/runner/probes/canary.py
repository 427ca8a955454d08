"""Markers and counted words: each request bears a marker of its own, and a reply may bear no other."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from dossier.model.base import Count
from dossier.model.vocabulary import MeasurementClass
from dossier.runner.figure import Figure as Computed
from dossier.runner.haystack import haystack
from dossier.runner.journal import Entry
from dossier.runner.probes.base import (
    Cost,
    Probe,
    Reply,
    Round,
    Sample,
    Spec,
    Thinking,
    judged,
    range_of,
    switched,
)
from dossier.runner.session import Session

_MARKER = re.compile(r"CANARY-[A-Z0-9]{4}-[A-Z0-9]{4}")
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
WORD = "amber"
_TOKENS_A_WORD = 3
_ASK_TOKENS = 120


class Canary(Spec):
    """Requests that must come back with their own marker, and with so many words where any are asked for."""

    probe: Literal["canary"]
    words: Annotated[Count, Field(le=2000, description="How often one word must be repeated; 0 asks for none.")] = 0
    sizes: tuple[Annotated[Count, Field(le=200_000)], ...] = Field(
        (0,), min_length=1, max_length=50, description="Words of other text before the question, in turn."
    )
    wave: Count = Field(0, description="So many requests are sent together, and all end before the next ones begin.")
    max_tokens: Annotated[Count, Field(ge=16, le=65_536)] = 512
    thinking: Thinking = "default"


def marker(seed: str, index: int) -> str:
    """The marker of one request."""
    draw = random.Random(f"{seed}/marker/{index}")  # noqa: S311 - a name, not a secret
    return "CANARY-" + "-".join("".join(draw.choices(_LETTERS, k=4)) for _ in range(2))


async def ask_canary(session: Session, spec: Canary, index: int) -> Sample:
    """One request with its marker."""
    seed = f"{session.seed}/{spec.id}"
    own = marker(seed, index)
    body = session.body(question(spec, seed, index), spec.max_tokens, **switched(spec.thinking))
    return judge(await session.stream(body), own, spec.words)


def question(spec: Canary, seed: str, index: int) -> str:
    """The whole prompt of one request."""
    size = spec.sizes[max(0, index) % len(spec.sizes)]
    text = f"{haystack(f'{seed}/{index}', size)}\n\n" if size else ""
    then = f" After it write the word {WORD} exactly {spec.words} times, separated by spaces." if spec.words else ""
    return f"{text}Begin your answer with the marker {marker(seed, index)}.{then} Write nothing else."


def judge(reply: Reply, own: str, words: int) -> Sample:
    """Its own marker first, no other anywhere, and the words, no more and no fewer."""
    return judged(reply, _wrongs(reply, own, words))


def _wrongs(reply: Reply, own: str, words: int) -> Iterator[tuple[str, str, str]]:
    said = reply.content.strip()
    foreign = sorted(set(_MARKER.findall(f"{reply.reasoning} {said}")) - {own})
    if foreign:
        yield "foreign-marker", ", ".join(foreign), f"only {own}"
    if reply.finish != "stop":
        yield "truncated", f"{said} (finish {reply.finish})", f"{own}, and an answer that ends by itself"
    if not said.startswith(own):
        yield "marker-missing", said or reply.reasoning, f"an answer that begins with {own}"
    if words:
        rest = said.removeprefix(own).split()
        strange = [word for word in rest if word.strip(".,;:") != WORD]
        if strange:
            yield "extra-words", f"{len(strange)} others: {' '.join(strange[:20])}", f"{WORD} {words} times"
        if len(rest) != words:
            yield "word-count", f"{len(rest)} words", f"{words} words"


def leaks(_: Canary, samples: Sequence[Entry], __: Sequence[Entry]) -> list[Computed]:
    """How many replies bore another request's marker: any at all is a failure of correctness and of privacy."""
    whole = [entry for entry in samples if entry["outcome"] != "failed"]
    foreign = sum(entry.get("kind") == "foreign-marker" for entry in whole)
    return [Computed("foreign_markers", "total", foreign, "replies", len(whole))] if whole else []


def _rounds(spec: Canary) -> Sequence[Round]:
    if not spec.wave:
        return (Round(spec.id, range(spec.requests), spec.concurrency),)
    starts = range(0, spec.requests, spec.wave)
    return [Round(spec.id, range(at, min(at + spec.wave, spec.requests)), spec.concurrency) for at in starts]


def _facts(spec: Canary, samples: Sequence[Entry]) -> Mapping[str, Any]:
    return {
        "prompt_tokens": range_of(samples, "prompt"),
        "output_tokens": range_of(samples, "completion"),
        "output_budget": spec.max_tokens,
        "output_control": f"one word {spec.words} times, counted in the answer" if spec.words else None,
        "thinking": spec.thinking,
        "protocol": "chat-completions, streamed",
    }


def _cost(spec: Canary) -> Cost:
    return Cost(1, max(spec.sizes) * _TOKENS_A_WORD + _ASK_TOKENS + spec.max_tokens)


PROBES = (
    Probe(
        "canary", Canary, MeasurementClass.ENDURANCE,
        "Every reply begins with the marker of its own request and bears no other, and repeats one word exactly as "
        "often as asked; a foreign marker is a failure of correctness and of privacy.",
        "That no text of another request ever reaches a reply: only markers are looked for, at this concurrency and "
        "for so many requests; nor that longer or freer answers keep to what is asked.",
        _cost, ask_canary, rounds=_rounds, figures=leaks, facts=_facts,
    ),
)  # fmt: skip
