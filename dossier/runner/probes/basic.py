"""Health, chat and streaming: is the model listed and ready, does it answer, is the stream well formed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from dossier.model.base import Count, Flag
from dossier.model.vocabulary import MeasurementClass
from dossier.runner.outcome import Outcome
from dossier.runner.probes.base import Cost, Probe, Reply, Sample, Spec, budgeted, failed, judged
from dossier.runner.session import Session
from dossier.wire import api

ENDS = frozenset({"stop", "length"})
WORD = "READY"
ASK = f"Reply with the single word {WORD}."
_PROMPT_TOKENS = 200


class Health(Spec):
    """The server is ready and lists the model."""

    probe: Literal["health"]


class Chat(Spec):
    """One question, one whole reply."""

    probe: Literal["chat"]
    exact: Flag = Field(default=False, description="The visible answer must be the one word that was asked for.")
    max_tokens: Annotated[Count, Field(ge=1, le=65_536)] = 32


class Streaming(Spec):
    """One question, one stream."""

    probe: Literal["streaming"]
    exact: Flag = Field(default=False, description="The visible answer must be the one word that was asked for.")
    max_tokens: Annotated[Count, Field(ge=1, le=65_536)] = 32


async def ask_health(session: Session, _: Health, __: int) -> Sample:
    """Ask for readiness where that costs nothing, then for the list of models."""
    ready = session.detection.habits.ready
    if ready is not None:
        session.budget.request()
        reply = await api.get_text(session.client, session.client.target.root + ready)
        if reply.failure is not None:
            return failed(None, reply.failure)
    session.budget.request()
    reply, served = await api.models(session.client)
    if reply.failure is not None:
        return failed(None, reply.failure)
    names = [model.id for model in served]
    if session.model not in names:
        told = ", ".join(names) or "no model"
        return Sample(Outcome.MISSED, kind="not-listed", observed=told, expected=session.model)
    return Sample(Outcome.PASSED)


async def ask_chat(session: Session, spec: Chat, _: int) -> Sample:
    """A whole reply that names the model, says why it ended, states usage within the budget, and answers."""
    return judge(await session.whole(session.body(ASK, spec.max_tokens)), spec.max_tokens, exact=spec.exact)


async def ask_streaming(session: Session, spec: Streaming, _: int) -> Sample:
    """A stream that ends as it should, with usage."""
    return judge(await session.stream(session.body(ASK, spec.max_tokens)), spec.max_tokens, exact=spec.exact)


def judge(reply: Reply, max_tokens: int, *, exact: bool = False) -> Sample:
    """What holds for any plain answer."""
    return judged(reply, _wrongs(reply, max_tokens, exact=exact))


def _wrongs(reply: Reply, max_tokens: int, *, exact: bool) -> Iterator[tuple[str, str, str]]:
    tokens = reply.usage.completion if reply.usage else None
    if not reply.content:
        yield "answer-missing", reply.reasoning, "visible text"
    if reply.finish not in ENDS:
        yield "unexpected-finish", str(reply.finish), "stop or length"
    if tokens is None or reply.usage is None or reply.usage.prompt is None:
        yield "usage-missing", "no token counts", "prompt and completion tokens"
    if tokens is not None and tokens > max_tokens:
        yield "budget-exceeded", f"{tokens} tokens", f"at most {max_tokens}"
    if exact and reply.content.strip().strip(".!").casefold() != WORD.casefold():
        yield "incorrect", reply.content, WORD
    if exact and reply.finish != "stop":
        yield "truncated", reply.content, "an answer that ends by itself"


PROBES = (
    Probe(
        "health", Health, MeasurementClass.COMPATIBILITY,
        "The server says that it is ready, and its list of models has the one under test.",
        "That it answers a request, or that the weights behind the name are the declared ones.",
        lambda _: Cost(2, 0), ask_health,
    ),
    Probe(
        "chat", Chat, MeasurementClass.FUNCTIONAL,
        "One whole chat reply: it names the model, ends for a stated reason, keeps its budget, has visible text.",
        "That answers are good; with `exact`, only that one word is looked for.",
        budgeted(_PROMPT_TOKENS), ask_chat,
    ),
    Probe(
        "streaming", Streaming, MeasurementClass.FUNCTIONAL,
        "One chat stream: well formed, with output, a finish reason, usage and a terminal event.",
        "Its speed under load, or that answers are good.",
        budgeted(_PROMPT_TOKENS), ask_streaming,
    ),
)  # fmt: skip
