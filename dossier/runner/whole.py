"""A reply that was not streamed, read by the same decoders and judged by the same rules as a stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dossier.wire.api import Reply
from dossier.wire.decode import DECODERS, Protocol
from dossier.wire.errors import Failure, FailureClass, bounded
from dossier.wire.events import Delta, Fault, Finish, Named, Usage, fault_of, usage_of
from dossier.wire.tools import ToolCall, ToolJoin


@dataclass(frozen=True, slots=True)
class Whole:
    """What one reply says; `failure` None means that it is complete and names the right model."""

    failure: Failure | None
    content: str
    reasoning: str
    tools: tuple[ToolCall, ...]
    finish: str | None
    usage: Usage | None
    named: Named
    data: Any
    stale_retries: int
    deviations: tuple[str, ...] = ()


def read_whole(reply: Reply, protocol: Protocol, model: str) -> Whole:
    """Read a whole reply. A reply of another model, without output or without a finish reason is a failure."""
    data = reply.data if isinstance(reply.data, Mapping) else {}
    said = _responses(data) if protocol is Protocol.RESPONSES else _choices(data, protocol)
    failure = reply.failure or _fault(data) or _unfit(said, model)
    return Whole(
        failure=failure,
        content=said.content,
        reasoning=said.reasoning,
        tools=said.join.calls(),
        finish=said.finish,
        usage=said.usage,
        named=said.named,
        data=reply.data,
        stale_retries=reply.trace.stale_retries,
        deviations=tuple(sorted(said.join.deviations - {"tool-index-missing"})),
    )


@dataclass(slots=True)
class _Said:
    join: ToolJoin
    content: str = ""
    reasoning: str = ""
    finish: str | None = None
    usage: Usage | None = None
    named: Named = field(default_factory=Named)


def _choices(data: Mapping[str, Any], protocol: Protocol) -> _Said:
    said = _Said(ToolJoin())
    for event in DECODERS[protocol](data):
        match event:
            case Delta():
                said.content += event.content
                said.reasoning += event.reasoning
                for tool in event.tools:
                    said.join.add(tool)
            case Finish():
                said.finish = said.finish or event.reason
            case Usage():
                said.usage = event
            case Named():
                said.named = event
            case _:
                pass
    return said


def _responses(data: Mapping[str, Any]) -> _Said:
    """A whole `/responses` object: its status, and the text of its message items."""
    said = _Said(ToolJoin(None))
    output = data.get("output")
    for item in output if isinstance(output, list) else ():
        parts = item.get("content") if isinstance(item, Mapping) else None
        for part in parts if isinstance(parts, list) else ():
            text = part.get("text") if isinstance(part, Mapping) else None
            if isinstance(text, str) and item.get("type") == "reasoning":
                said.reasoning += text
            elif isinstance(text, str):
                said.content += text
    status = data.get("status")
    said.finish = status if isinstance(status, str) else None
    said.usage = usage_of(data.get("usage"))
    name = data.get("model")
    said.named = Named(model=name if isinstance(name, str) else None)
    return said


def _fault(data: Mapping[str, Any]) -> Failure | None:
    fault: Fault | None = fault_of(data) if data.get("error") else None
    if fault is None:
        return None
    return Failure(FailureClass.STREAM_ERROR, bounded(fault.message), status=200, code=fault.code)


def _unfit(said: _Said, model: str) -> Failure | None:
    if said.named.model is not None and said.named.model != model:
        text = f"the reply names model {said.named.model!r}, not {model}"
        return Failure(FailureClass.WRONG_MODEL, bounded(text), status=200)
    if said.finish is None:
        return Failure(FailureClass.NO_FINISH, "the reply gives no finish reason", status=200)
    if not (said.content or said.reasoning or said.join.calls()):
        return Failure(FailureClass.EMPTY, f"no output, finish reason {said.finish!r}", status=200)
    if said.reasoning and not (said.content or said.join.calls()) and said.finish == "length":
        return Failure(FailureClass.REASONING_ONLY, "reasoning used up the whole token budget", status=200)
    return None
