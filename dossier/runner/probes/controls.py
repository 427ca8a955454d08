"""Controls: max_tokens, stop, seed, logprobs, streaming of characters; thinking on and off; each by its output."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field

from dossier.model.base import Count
from dossier.model.vocabulary import MeasurementClass
from dossier.runner.probes.base import Probe, Sample, Spec, budgeted, failed, missed, passed
from dossier.runner.session import Session
from dossier.runner.whole import Whole
from dossier.wire.errors import FailureClass
from dossier.wire.stream import Expect

_ASK = "Tell a story about a long journey by sea and land."
_STOP = "e"
_LIMIT = 8
_PROMPT_TOKENS = 200


class Control(StrEnum):
    """Which request field is verified."""

    MAX_TOKENS = "max_tokens"
    STOP = "stop"
    SEED = "seed"
    LOGPROBS = "logprobs"
    UNICODE = "unicode"


class Controls(Spec):
    """One request field, verified by what came."""

    probe: Literal["controls"]
    control: Control
    max_tokens: Annotated[Count, Field(ge=8, le=4096)] = 48


class ThinkingSwitch(Spec):
    """The thinking switch, verified by what came."""

    probe: Literal["thinking"]
    state: Annotated[str, Field(pattern="^(on|off)$")]
    max_tokens: Annotated[Count, Field(ge=1, le=65_536)] = 1024


async def ask_controls(session: Session, spec: Controls, index: int) -> Sample:
    """One of the fields."""
    match spec.control:
        case Control.MAX_TOKENS:
            return await _max_tokens(session)
        case Control.STOP:
            return await _stop(session, spec)
        case Control.SEED:
            return await _seed(session, spec, index)
        case Control.LOGPROBS:
            return await _logprobs(session)
        case Control.UNICODE:
            return await _unicode(session, spec)


async def _max_tokens(session: Session) -> Sample:
    whole = await session.whole(session.body(_ASK, _LIMIT))
    if whole.failure is not None:
        return failed(whole, whole.failure)
    tokens = whole.usage.completion if whole.usage else None
    if whole.finish != "length" or tokens is None or tokens > _LIMIT:
        return missed(whole, "budget-ignored", f"{tokens} tokens, finish {whole.finish}", f"at most {_LIMIT}, length")
    return passed(whole)


async def _stop(session: Session, spec: Controls) -> Sample:
    whole = await session.whole(session.body(_ASK, spec.max_tokens, stop=[_STOP]))
    # A text that begins with the stop sequence leaves nothing to show, and that is right.
    stopped_at_once = whole.failure is not None and whole.failure.kind is FailureClass.EMPTY and whole.finish == "stop"
    if whole.failure is not None and not stopped_at_once:
        return failed(whole, whole.failure)
    if _STOP in whole.content or whole.finish != "stop":
        return missed(whole, "stop-ignored", f"{whole.content} (finish {whole.finish})", f"nothing from {_STOP!r} on")
    return passed(whole)


async def _seed(session: Session, spec: Controls, index: int) -> Sample:
    body = session.body(_ASK, spec.max_tokens, seed=1000 + index) | {"temperature": 1}
    first, again = await session.whole(body), await session.whole(body)
    for whole in (first, again):
        if whole.failure is not None:
            return failed(whole, whole.failure)
    if first.content != again.content:
        return missed(again, "seed-not-repeatable", again.content, first.content)
    return passed(again)


async def _logprobs(session: Session) -> Sample:
    whole = await session.whole(session.body(_ASK, _LIMIT, logprobs=True, top_logprobs=2))
    if whole.failure is not None:
        return failed(whole, whole.failure)
    entries = _entries(whole)
    if not entries:
        return missed(whole, "logprobs-missing", "no log probabilities", "one for each token")
    tokens = whole.usage.completion if whole.usage else None
    values = [entry.get("logprob") for entry in entries if isinstance(entry, Mapping)]
    bad = [value for value in values if not isinstance(value, int | float) or not -math.inf < value <= 0]
    if bad or len(values) != len(entries):
        return missed(whole, "logprobs-invalid", str(bad[:3]), "finite numbers of at most 0")
    if tokens is not None and abs(len(entries) - tokens) > 1:
        return missed(whole, "logprobs-count", f"{len(entries)} entries", f"one for each of {tokens} tokens")
    return passed(whole)


def _entries(whole: Whole) -> list[Any]:
    try:
        content = whole.data["choices"][0]["logprobs"]["content"]
    except (KeyError, IndexError, TypeError):
        return []
    return content if isinstance(content, list) else []


async def _unicode(session: Session, spec: Controls) -> Sample:
    """Copying text of many scripts: a stream must not cut a character in two."""
    text = "naïve café, 日本語, Ελλάδα, 🙂🙃"
    outcome = await session.stream(session.body(f"Repeat exactly: {text}", spec.max_tokens))
    if outcome.failure is not None:
        return failed(outcome, outcome.failure)
    if "�" in outcome.content:
        return missed(outcome, "broken-character", outcome.content, text)
    if text not in outcome.content:
        return missed(outcome, "incorrect", outcome.content, text)
    return passed(outcome)


async def ask_thinking(session: Session, spec: ThinkingSwitch, _: int) -> Sample:
    """With thinking on reasoning has to come, and an answer; with it off there may be none, under any name."""
    switch = {"chat_template_kwargs": {"enable_thinking": spec.state == "on"}}
    body = session.body("What is 17 times 3? Answer with the number.", spec.max_tokens, **switch)
    outcome = await session.stream(body, Expect(frozenset({session.model})))
    if outcome.failure is not None:
        return failed(outcome, outcome.failure)
    reasoned = bool(outcome.reasoning) or "<think>" in outcome.content
    if spec.state == "on" and not outcome.reasoning:
        kind = "reasoning-in-answer" if reasoned else "thinking-not-on"
        return missed(outcome, kind, outcome.content, "reasoning apart from the answer")
    if spec.state == "off" and reasoned:
        return missed(outcome, "thinking-not-off", outcome.reasoning or outcome.content, "no reasoning")
    return passed(outcome)


PROBES = (
    Probe(
        "controls", Controls, MeasurementClass.FUNCTIONAL,
        "One request field (max_tokens, stop, seed, logprobs, or many scripts in a stream), verified by the output.",
        "That the field is obeyed at other values or together with others; a seed that repeats here is no promise "
        "of reproducibility under load.",
        budgeted(_PROMPT_TOKENS, lambda spec: 2 if spec.control is Control.SEED else 1),
        ask_controls,
    ),
    Probe(
        "thinking", ThinkingSwitch, MeasurementClass.FUNCTIONAL,
        "chat_template_kwargs.enable_thinking, verified by whether reasoning came.",
        "That reasoning helps, or that another switch or effort level is obeyed.",
        budgeted(_PROMPT_TOKENS), ask_thinking,
    ),
)  # fmt: skip
