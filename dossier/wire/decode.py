"""One SSE payload to events, a decoder a protocol: chat completions, completions, responses."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any

from dossier.wire.events import Delta, Event, Fault, Finish, Json, Named, Terminal, ToolDelta, fault_of, usage_of


class Protocol(StrEnum):
    """A generating endpoint; the value is its path under the API base."""

    CHAT = "/chat/completions"
    COMPLETIONS = "/completions"
    RESPONSES = "/responses"


def chat_events(payload: Json) -> Iterator[Event]:
    """Read one `/chat/completions` chunk."""
    return _choices_events(payload, _chat_delta)


def completion_events(payload: Json) -> Iterator[Event]:
    """Read one `/completions` chunk."""
    return _choices_events(payload, _completion_delta)


def responses_events(payload: Json) -> Iterator[Event]:
    """Read one `/responses` event; its name is the payload's own `type`."""
    kind = payload.get("type")
    if kind in _RESPONSES_ENDS:
        yield from _responses_end(kind, payload)
    elif kind in _RESPONSES_DELTAS:
        delta = _RESPONSES_DELTAS[kind](payload)
        if delta:
            yield delta
    elif kind == "response.created":
        yield from _named(_object(payload.get("response")))
    elif (fault := fault_of(payload)) is not None:
        yield fault


DECODERS: dict[Protocol, Callable[[Json], Iterator[Event]]] = {
    Protocol.CHAT: chat_events,
    Protocol.COMPLETIONS: completion_events,
    Protocol.RESPONSES: responses_events,
}


def _choices_events(payload: Json, delta_of: Callable[[Json, int], Delta]) -> Iterator[Event]:
    choices = payload.get("choices")
    if not choices and (fault := fault_of(payload)) is not None:
        yield fault
        return
    yield from _named(payload)
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, dict):
            yield from _choice_events(choice, delta_of)
    usage = usage_of(payload.get("usage"))
    if usage is not None:
        yield usage
    if payload.get("error"):
        yield from filter(None, [fault_of(payload)])


def _choice_events(choice: Json, delta_of: Callable[[Json, int], Delta]) -> Iterator[Event]:
    index = choice.get("index")
    number = index if isinstance(index, int) else 0
    delta = delta_of(choice, number)
    if delta:
        yield delta
    reason = choice.get("finish_reason")
    if isinstance(reason, str) and reason:
        yield Finish(reason, number)


def _chat_delta(choice: Json, number: int) -> Delta:
    # A server that answers without deltas, or puts the whole message on the last chunk, says `message`.
    delta = choice.get("delta") or choice.get("message")
    if not isinstance(delta, dict):
        return Delta()
    return Delta(
        content=_string(delta.get("content")),
        reasoning=_string(delta.get("reasoning_content")) or _string(delta.get("reasoning")),
        tools=_tool_deltas(delta.get("tool_calls")),
        choice=number,
    )


def _completion_delta(choice: Json, number: int) -> Delta:
    return Delta(content=_string(choice.get("text")), choice=number)


def _tool_deltas(raw: object) -> tuple[ToolDelta, ...]:
    if not isinstance(raw, list) or not raw:
        return ()
    return tuple(_tool_delta(item) for item in raw if isinstance(item, dict))


def _tool_delta(item: Json) -> ToolDelta:
    function = _object(item.get("function"))
    index = item.get("index")
    return ToolDelta(
        index=index if isinstance(index, int) else None,
        id=_string(item.get("id")) or None,
        name=_string(function.get("name")) or None,
        arguments=_arguments(function.get("arguments")),
    )


def _arguments(value: object) -> str:
    if isinstance(value, dict):
        return json.dumps(value)
    return _string(value)


def _named(payload: Json) -> Iterator[Named]:
    named = Named(
        id=_string(payload.get("id")) or None,
        model=_string(payload.get("model")) or None,
        fingerprint=_string(payload.get("system_fingerprint")) or None,
    )
    if named.id or named.model or named.fingerprint:
        yield named


def _responses_text(payload: Json) -> Delta:
    return Delta(content=_string(payload.get("delta")))


def _responses_reasoning(payload: Json) -> Delta:
    return Delta(reasoning=_string(payload.get("delta")))


def _responses_arguments(payload: Json) -> Delta:
    return Delta(tools=(_responses_tool(payload, None, None, _string(payload.get("delta"))),))


def _responses_item(payload: Json) -> Delta:
    item = _object(payload.get("item"))
    if item.get("type") != "function_call":
        return Delta()
    call = _string(item.get("call_id")) or _string(item.get("id")) or None
    return Delta(tools=(_responses_tool(payload, call, _string(item.get("name")) or None, ""),))


def _responses_tool(payload: Json, call: str | None, name: str | None, arguments: str) -> ToolDelta:
    index = payload.get("output_index")
    return ToolDelta(index if isinstance(index, int) else None, call, name, arguments)


def _responses_end(kind: str, payload: Json) -> Iterator[Event]:
    response = _object(payload.get("response")) or payload
    yield from _named(response)
    usage = usage_of(response.get("usage"))
    if usage is not None:
        yield usage
    if kind in ("response.failed", "error"):
        yield fault_of(response) or fault_of(payload) or Fault("the response failed without a reason", kind)
    else:
        yield Finish(_responses_reason(kind, response))
    yield Terminal(kind)


def _responses_reason(kind: str, response: Json) -> str:
    details = _object(response.get("incomplete_details"))
    if kind == "response.incomplete" or response.get("status") == "incomplete":
        return _RESPONSES_LIMITS.get(_string(details.get("reason")), _string(details.get("reason")) or "incomplete")
    output = response.get("output")
    items = output if isinstance(output, list) else []
    called = any(isinstance(item, dict) and item.get("type") == "function_call" for item in items)
    return "tool_calls" if called else "stop"


_RESPONSES_LIMITS = {"max_output_tokens": "length", "max_tokens": "length", "content_filter": "content_filter"}
_RESPONSES_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed", "error"})
_RESPONSES_DELTAS: dict[str, Callable[[Json], Delta]] = {
    "response.output_text.delta": _responses_text,
    "response.refusal.delta": _responses_text,
    "response.reasoning_text.delta": _responses_reasoning,
    "response.reasoning_summary_text.delta": _responses_reasoning,
    "response.function_call_arguments.delta": _responses_arguments,
    "response.output_item.added": _responses_item,
}


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
