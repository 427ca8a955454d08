"""The responses protocol: whole, streamed, and cut short, which must say incomplete."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field

from dossier.model.base import Count, Flag
from dossier.model.vocabulary import MeasurementClass
from dossier.runner.probes.base import Probe, Sample, Spec, budgeted, failed, missed, passed
from dossier.runner.session import Session
from dossier.wire.decode import Protocol

_LIMIT = 8
_PROMPT_TOKENS = 200


class Way(StrEnum):
    """Which behaviour is verified."""

    WHOLE = "whole"
    STREAM = "stream"
    CUT = "cut"


class Responses(Spec):
    """One request of the responses protocol."""

    probe: Literal["responses"]
    way: Way = Way.WHOLE
    exact: Flag = Field(default=False, description="The visible answer must be the one word that was asked for.")
    max_tokens: Annotated[Count, Field(ge=8, le=65_536)] = 64


async def ask_responses(session: Session, spec: Responses, _: int) -> Sample:
    """Ask in one of the ways."""
    if spec.way is Way.CUT:
        return await _cut(session)
    body = _body(session, "Reply with the single word READY.", spec.max_tokens)
    if spec.way is Way.STREAM:
        reply: Any = await session.stream(body, protocol=Protocol.RESPONSES)
        ended = reply.finish in {"stop", "length"}
    else:
        reply = await session.whole(body, Protocol.RESPONSES)
        ended = reply.finish in {"completed", "incomplete"}
    if reply.failure is not None:
        return failed(reply, reply.failure)
    if not ended:
        return missed(reply, "unexpected-finish", str(reply.finish), "completed or incomplete")
    if not reply.content:
        return missed(reply, "answer-missing", reply.reasoning, "visible text")
    if spec.exact and reply.content.strip().strip(".!") != "READY":
        return missed(reply, "incorrect", reply.content, "READY")
    return passed(reply)


async def _cut(session: Session) -> Sample:
    """A reply cut by its budget is incomplete; one that calls itself completed lies."""
    whole = await session.whole(_body(session, "Tell a long story about the sea.", _LIMIT), Protocol.RESPONSES)
    if whole.failure is not None:
        return failed(whole, whole.failure)
    tokens = whole.usage.completion if whole.usage else None
    if tokens is not None and tokens > _LIMIT:
        return missed(whole, "budget-ignored", f"{tokens} tokens", f"at most {_LIMIT}")
    if whole.finish == "completed" and (tokens is None or tokens >= _LIMIT):
        return missed(whole, "completed-when-cut", f"status completed after {tokens} tokens", "status incomplete")
    return passed(whole)


def _body(session: Session, text: str, limit: int) -> dict[str, Any]:
    return {"model": session.model, "input": text, "max_output_tokens": limit, "temperature": 0}


PROBES = (
    Probe(
        "responses", Responses, MeasurementClass.FUNCTIONAL,
        "The responses protocol: a whole reply, a stream, or one cut by its budget, which must call itself incomplete.",
        "State kept between requests, tools or other item kinds of that protocol.",
        budgeted(_PROMPT_TOKENS), ask_responses,
    ),
)  # fmt: skip
