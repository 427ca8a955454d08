"""A schedule as the exact writes of one reply: pure, and cached, so that serving is nothing but sending."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import lru_cache
from typing import Any

from dossier.runner.schedule import NS_PER_MS, Call, Fault, Reasoning, Role, Schedule, ToolStyle, UsageStyle
from dossier.wire.decode import Protocol

MODEL = "reference"
FINGERPRINT = "reference-1"
WORD = " token"
_ID = "chatcmpl-reference"


class Then(Enum):
    """What follows a write."""

    GO_ON = auto()
    END = auto()
    CLOSE = auto()
    RESET = auto()
    HOLD = auto()
    REPEAT = auto()


@dataclass(frozen=True, slots=True)
class Step:
    """One write, due `due_ns` after the request was received; `output` marks a chunk that carries output."""

    due_ns: int
    data: bytes
    output: bool = False
    then: Then = Then.GO_ON


@dataclass(frozen=True, slots=True)
class Ask:
    """What of a request shapes its reply."""

    protocol: Protocol
    schedule: Schedule
    prompt_tokens: int
    usage: bool
    stream: bool = True
    cached: int | None = None


@dataclass(frozen=True, slots=True)
class _Piece:
    due_ns: int
    kind: str
    text: str
    tokens: int


@lru_cache(maxsize=64)
def script(ask: Ask) -> tuple[Step, ...]:
    """Every write of the reply to `ask`, in order; the last says how it ends."""
    schedule = ask.schedule
    early = _refusals().get(schedule.fault)
    if early is not None:
        return early(ask)
    if not ask.stream or schedule.fault is Fault.JSON:
        return (_whole(ask),)
    steps = [replace(step, data=_event_lines(schedule, step.data)) for step in _events(ask)]
    return tuple(_framed(schedule, steps))


def reply(status: int, body: bytes, kind: str = "application/json", extra: str = "") -> bytes:
    """A whole HTTP reply."""
    head = f"HTTP/1.1 {status} Reference\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{extra}\r\n"
    return head.encode() + body


def error_body(message: str, kind: str, code: int) -> bytes:
    """An error in the nested shape."""
    return _dump({"error": {"message": message, "type": kind, "param": None, "code": code}})


def _refusals() -> Mapping[Fault, Callable[[Ask], tuple[Step, ...]]]:
    return {
        Fault.SILENT: lambda _: (Step(0, b"", then=Then.HOLD),),
        Fault.BAD_HTTP: lambda _: (Step(0, b"SPAM/9 what?\r\n\r\n", then=Then.CLOSE),),
        Fault.HTML: lambda _: (Step(0, reply(200, b"<html>welcome</html>", "text/html"), then=Then.END),),
        Fault.STATUS: _status,
        Fault.REDIRECT: lambda ask: (
            Step(0, reply(307, b"", extra=f"Location: /v1{ask.protocol}?again=1\r\n"), then=Then.END),
        ),
    }


def _status(ask: Ask) -> tuple[Step, ...]:
    schedule = ask.schedule
    extra = f"Retry-After: {schedule.retry_after}\r\n" if schedule.retry_after else ""
    body = error_body(f"fault on demand: {schedule.status}", "reference_fault", schedule.status)
    return (Step(0, reply(schedule.status, body, extra=extra), then=Then.END),)


# The events of a stream, before lines and framing: data is the payload, or a literal line when it starts so.


def _events(ask: Ask) -> Iterator[Step]:
    schedule, fault = ask.schedule, ask.schedule.fault
    yield from _opening(ask)
    pieces = [] if fault is Fault.EMPTY else list(_pieces(schedule))
    sent = 0
    for number, piece in enumerate(pieces):
        if number == schedule.fault_at and fault in _CUTS:
            yield from _cut(ask, piece.due_ns)
            return
        sent += piece.tokens
        yield Step(piece.due_ns, _dump(_chunk(ask, piece, sent)), output=True)
    end = pieces[-1].due_ns if pieces else round(schedule.ttft_ms * NS_PER_MS)
    if fault in _CUTS:
        yield from _cut(ask, end)
        return
    yield from _closing(ask, end, sent)


def _opening(ask: Ask) -> Iterator[Step]:
    if ask.schedule.named_event:
        yield Step(0, b"event: reference_note\ndata: {}")
    if ask.protocol is Protocol.RESPONSES:
        yield Step(0, _dump({"type": "response.created", "response": {**_head(ask), "status": "in_progress"}}))
    elif ask.protocol is Protocol.CHAT and ask.schedule.role is not Role.NONE:
        content = "" if ask.schedule.role is Role.EMPTY else None
        yield Step(0, _dump(_choice(ask, {"role": "assistant", "content": content}, None, 0)))


def _pieces(schedule: Schedule) -> Iterator[_Piece]:
    due = iter(schedule.due_ns())
    reasoning = min(schedule.reasoning, schedule.tokens)
    for kind, tokens in ((schedule.reasoning_field, reasoning), ("content", schedule.tokens - reasoning)):
        words = _words(schedule, tokens) if kind == "content" else [WORD] * tokens
        for start in range(0, tokens, schedule.per_chunk):
            part = words[start : start + schedule.per_chunk]
            yield _Piece(next(due), kind, "".join(part), len(part))
    for number in range(schedule.tools):
        yield _Piece(next(due), "tool-open", str(number), 1)
        yield _Piece(next(due), "tool-arguments", str(number), 1)


def _words(schedule: Schedule, tokens: int) -> list[str]:
    text = schedule.text
    if text is None or tokens == 0:
        return [WORD] * tokens
    size = -(-len(text) // tokens)
    return [text[index * size : (index + 1) * size] for index in range(tokens)]


def _closing(ask: Ask, due: int, sent: int) -> Iterator[Step]:
    schedule, fault = ask.schedule, ask.schedule.fault
    if ask.protocol is Protocol.RESPONSES:
        yield Step(due, _dump(_response_end(ask, sent)))
    else:
        if fault is not Fault.NO_FINISH:
            finish = _choice(ask, {}, finish_of(schedule), sent)
            yield Step(due, _dump(finish | ({"usage": _usage(ask, sent)} if schedule.usage is UsageStyle.LAST else {})))
        if ask.usage and schedule.usage in (UsageStyle.ASKED, UsageStyle.CONTINUOUS):
            yield Step(due, _dump({**_head(ask), "choices": [], "usage": _usage(ask, sent)}))
        if fault is not Fault.NO_DONE:
            yield Step(due, b"[DONE]")
    ends = {Fault.LEFT_OPEN: Then.HOLD, Fault.CLOSE_AFTER: Then.CLOSE}
    yield Step(due, b"", then=ends.get(fault, Then.END))


_CUTS = {
    Fault.RESET: Then.RESET,
    Fault.EOF: Then.CLOSE,
    Fault.TRUNCATED: Then.END,
    Fault.HANG: Then.HOLD,
    Fault.DRIP: Then.REPEAT,
    Fault.ERROR: Then.END,
    Fault.GARBAGE: Then.END,
}


def _cut(ask: Ask, due: int) -> Iterator[Step]:
    fault = ask.schedule.fault
    if fault is Fault.ERROR:
        yield Step(due, error_body("fault on demand inside the stream", "reference_fault", 500))
        yield Step(due, b"[DONE]")
    elif fault is Fault.GARBAGE:
        yield Step(due, b"{not json")
    yield Step(due, b": drip" if fault is Fault.DRIP else b"", then=_CUTS[fault])


# Payloads


def finish_of(schedule: Schedule) -> str:
    """The finish reason: the one asked for, else `tool_calls` or `stop`."""
    return schedule.finish or ("tool_calls" if schedule.tools else "stop")


def _head(ask: Ask) -> dict[str, Any]:
    model = "another-model" if ask.schedule.fault is Fault.WRONG_MODEL else MODEL
    kind = {Protocol.CHAT: "chat.completion.chunk", Protocol.COMPLETIONS: "text_completion"}.get(
        ask.protocol, "response"
    )
    return {"id": _ID, "object": kind, "created": 1_700_000_000, "model": model, "system_fingerprint": FINGERPRINT}


def _choice(ask: Ask, delta: Mapping[str, Any], finish: str | None, sent: int) -> dict[str, Any]:
    body = {"text": delta.get("content") or ""} if ask.protocol is Protocol.COMPLETIONS else {"delta": delta}
    chunk = {**_head(ask), "choices": [{"index": 0, **body, "finish_reason": finish}]}
    if ask.schedule.usage is UsageStyle.CONTINUOUS:
        chunk["usage"] = _usage(ask, sent)
    return chunk


def _chunk(ask: Ask, piece: _Piece, sent: int) -> dict[str, Any]:
    padding = {"padding": "x" * ask.schedule.pad} if ask.schedule.pad else {}
    if ask.protocol is Protocol.RESPONSES:
        return _response_delta(piece) | padding
    if piece.kind.startswith("tool-"):
        return _choice(ask, {"tool_calls": [_tool(ask.schedule, piece)]}, None, sent) | padding
    return _choice(ask, {piece.kind: piece.text}, None, sent) | padding


def _tool(schedule: Schedule, piece: _Piece) -> dict[str, Any]:
    number, style, opens = int(piece.text), schedule.tool_style, piece.kind == "tool-open"
    call: dict[str, Any] = {}
    if style is not ToolStyle.NO_INDEX:
        call["index"] = {ToolStyle.FROM_ONE: number + 1, ToolStyle.ALL_ZERO: 0}.get(style, number)
    if style is not ToolStyle.NO_ID and (opens or style is ToolStyle.ALL_ZERO):
        call["id"] = f"call-{number}"
    called = _called(schedule, number)
    if opens:
        return call | {"type": "function", "function": {"name": called.name, "arguments": ""}}
    return call | {"function": {"arguments": called.arguments}}


def _called(schedule: Schedule, number: int) -> Call:
    if number < len(schedule.calls):
        return schedule.calls[number]
    return Call(name="get_weather", arguments=f'{{"city":"City {number}"}}')


def _response_delta(piece: _Piece) -> dict[str, Any]:
    if piece.kind == "tool-open":
        item = {"type": "function_call", "call_id": f"call-{piece.text}", "name": "get_weather", "arguments": ""}
        return {"type": "response.output_item.added", "output_index": int(piece.text) + 1, "item": item}
    if piece.kind == "tool-arguments":
        arguments = f'{{"city":"City {piece.text}"}}'
        kind = "response.function_call_arguments.delta"
        return {"type": kind, "output_index": int(piece.text) + 1, "delta": arguments}
    name = "reasoning_text" if piece.kind in set(Reasoning) else "output_text"
    return {"type": f"response.{name}.delta", "output_index": 0, "delta": piece.text}


def _response_end(ask: Ask, sent: int) -> dict[str, Any]:
    short = finish_of(ask.schedule) == "length"
    status = "incomplete" if short else "completed"
    details = {"incomplete_details": {"reason": "max_output_tokens"}} if short else {}
    output = [{"type": "function_call"}] * ask.schedule.tools
    usage = {} if ask.schedule.usage is UsageStyle.NEVER else {"usage": _response_usage(ask, sent)}
    return {
        "type": f"response.{status}",
        "response": {**_head(ask), "status": status, "output": output, **details, **usage},
    }


def _usage(ask: Ask, sent: int) -> dict[str, Any]:
    reasoning = min(ask.schedule.reasoning, sent)
    details = {"completion_tokens_details": {"reasoning_tokens": reasoning}} if reasoning else {}
    if ask.cached is not None:
        details["prompt_tokens_details"] = {"cached_tokens": ask.cached}
    if ask.schedule.cached is not None:
        details["prompt_tokens_details"] = {"cached_tokens": ask.schedule.cached}
    total = ask.prompt_tokens + sent
    return {"prompt_tokens": ask.prompt_tokens, "completion_tokens": sent, "total_tokens": total, **details}


def _response_usage(ask: Ask, sent: int) -> dict[str, Any]:
    return {"input_tokens": ask.prompt_tokens, "output_tokens": sent, "total_tokens": ask.prompt_tokens + sent}


def _whole(ask: Ask) -> Step:
    pieces = list(_pieces(ask.schedule))
    due = pieces[-1].due_ns if pieces else round(ask.schedule.ttft_ms * NS_PER_MS)
    text = "".join(piece.text for piece in pieces if piece.kind == "content")
    sent = sum(piece.tokens for piece in pieces)
    body: dict[str, Any]
    if ask.protocol is Protocol.RESPONSES:
        message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
        body = {**_response_end(ask, sent)["response"]}
        body["output"] = [message, *body["output"]]
    else:
        body = {**_head(ask), "object": "chat.completion", "choices": [_whole_choice(ask, pieces, text)]}
        body |= {} if ask.schedule.usage is UsageStyle.NEVER else {"usage": _usage(ask, sent)}
    return Step(due, reply(200, _dump(body)), output=True, then=Then.END)


def _whole_choice(ask: Ask, pieces: list[_Piece], text: str) -> dict[str, Any]:
    finish = {"index": 0, "finish_reason": finish_of(ask.schedule)}
    if ask.protocol is Protocol.COMPLETIONS:
        return finish | {"text": text}
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    reasoning = "".join(piece.text for piece in pieces if piece.kind in set(Reasoning))
    if reasoning:
        message[ask.schedule.reasoning_field] = reasoning
    if ask.schedule.tools:
        message["tool_calls"] = [
            {
                "id": f"call-{number}",
                "type": "function",
                "function": _called(ask.schedule, number).model_dump(),
            }
            for number in range(ask.schedule.tools)
        ]
    return finish | {"message": message}


# Lines and framing


def _event_lines(schedule: Schedule, payload: bytes) -> bytes:
    if not payload:
        return b""
    newline = schedule.newline.encode()
    lines = payload.split(b"\n") if payload.startswith((b":", b"event:")) else [b"data: " + payload]
    ping = b": ping" + newline * 2 if schedule.pings else b""
    return ping + newline.join(lines) + newline * 2


def _framed(schedule: Schedule, steps: list[Step]) -> Iterator[Step]:
    encoding = "Content-Encoding: gzip\r\n" if schedule.gzip else ""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n{encoding}\r\n"
    squeeze = zlib.compressobj(wbits=31) if schedule.gzip else None
    prefix = head.encode()
    for step in steps:
        data = step.data
        if squeeze is not None and data:
            data = squeeze.compress(data) + squeeze.flush(zlib.Z_SYNC_FLUSH)
        framed = prefix + _chunked(data)
        if step.then is Then.END or (schedule.fault is Fault.CLOSE_AFTER and step.then is Then.CLOSE):
            framed += b"0\r\n\r\n"
        prefix = b""
        yield replace(step, data=framed)


def _chunked(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data) if data else b""


def _dump(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
