"""The endpoints: one streamed generation, and JSON or text requests whose failures are values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dossier.wire.client import Client, Request
from dossier.wire.decode import Protocol
from dossier.wire.errors import Failure, FailureClass, WireError
from dossier.wire.events import fault_of
from dossier.wire.receive import Body, Stream
from dossier.wire.status import http_failure, parse_json
from dossier.wire.stream import Expect, StreamOutcome, StreamRecorder
from dossier.wire.trace import Trace


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply that was not streamed. `failure` None: a 2xx, and `data` is its JSON (for `text`, its text)."""

    failure: Failure | None
    data: Any
    trace: Trace

    @property
    def status(self) -> int | None:
        """The HTTP status, if one was read."""
        return self.trace.status


@dataclass(frozen=True, slots=True)
class ServedModel:
    """One entry of `/models`. `context` is the *served* context in tokens where the server says it."""

    id: str
    context: int | None
    owned_by: str | None
    raw: Mapping[str, Any]


async def stream(
    client: Client,
    protocol: Protocol,
    body: Mapping[str, Any],
    expect: Expect | None = None,
    headers: tuple[tuple[str, str], ...] = (),
) -> StreamOutcome:
    """Generate with `"stream": true` and record the stream. Never raises for what a server or network does."""
    recorder = StreamRecorder(protocol, client.limits.max_event)
    receiver = Stream(recorder, client.limits.max_body, Body(client.limits.max_body))
    trace = Trace()
    sent = encode({**body, "stream": True})
    request = Request("POST", client.target.api + protocol, sent, (("Accept", "text/event-stream"), *headers))
    broke = await _send(client, request, receiver, trace)
    if broke is None:
        broke = _not_streamed(trace, receiver)
    return recorder.outcome(trace, broke and client.scrub(broke), expect or Expect())


async def get_json(client: Client, path: str) -> Reply:
    """GET an absolute path (see `Target.root` and `Target.api`) and parse its JSON."""
    return await _exchange(client, Request("GET", path, headers=(("Accept", "application/json"),)))


async def post_json(client: Client, path: str, body: Mapping[str, Any]) -> Reply:
    """POST JSON to an absolute path and parse the JSON that comes back."""
    return await _exchange(client, Request("POST", path, encode(body), (("Accept", "application/json"),)))


async def get_text(client: Client, path: str) -> Reply:
    """GET an absolute path as UTF-8 text, whatever it is."""
    reply, raw = await _raw(client, Request("GET", path))
    return reply if reply.failure else Reply(None, raw.decode("utf-8", "replace"), reply.trace)


async def post_text(client: Client, path: str) -> Reply:
    """POST nothing to an absolute path and take the text that comes back, whatever it is."""
    reply, raw = await _raw(client, Request("POST", path, b""))
    return reply if reply.failure else Reply(None, raw.decode("utf-8", "replace"), reply.trace)


async def generate(client: Client, protocol: Protocol, body: Mapping[str, Any]) -> Reply:
    """Generate without streaming."""
    return await post_json(client, client.target.api + protocol, {**body, "stream": False})


async def count_tokens(client: Client, endpoint: tuple[str, str], text: str) -> Reply:
    """Ask the server to tokenise; `data` is the number of tokens. `endpoint` is `Habits.tokenize`."""
    path, field = endpoint
    reply = await post_json(client, client.target.root + path, {field: text})
    if reply.failure is not None:
        return reply
    count = _token_count(reply.data)
    if count is None:
        failure = Failure(FailureClass.BAD_EVENT, f"{path} sent neither a count nor tokens", reply.status)
        return Reply(failure, None, reply.trace)
    return Reply(None, count, reply.trace)


async def models(client: Client) -> tuple[Reply, tuple[ServedModel, ...]]:
    """GET `/models`, with the entries that could be read."""
    reply = await get_json(client, f"{client.target.api}/models")
    return reply, served_models(reply.data)


def served_models(data: object) -> tuple[ServedModel, ...]:
    """Read the body of `/models`; entries without an id are left out."""
    entries = data.get("data") if isinstance(data, Mapping) else None
    if not isinstance(entries, list):
        return ()
    return tuple(_served(item) for item in entries if isinstance(item, Mapping) and isinstance(item.get("id"), str))


def encode(body: Mapping[str, Any]) -> bytes:
    """Request JSON: compact, UTF-8, key order as given. Raises ValueError for NaN and infinities."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


async def _exchange(client: Client, request: Request) -> Reply:
    reply, raw = await _raw(client, request)
    if reply.failure is not None:
        return reply
    try:
        return Reply(None, parse_json(raw), reply.trace)
    except ValueError as error:
        shown = raw[:100].decode("utf-8", "replace")
        failure = Failure(FailureClass.BAD_JSON, f"the reply is not JSON ({error}): {shown!r}", reply.status)
        return Reply(client.scrub(failure), None, reply.trace)


async def _raw(client: Client, request: Request) -> tuple[Reply, bytes]:
    receiver, trace = Body(client.limits.max_body), Trace()
    broke = await _send(client, request, receiver, trace)
    raw = bytes(receiver.data)
    status = trace.status or 0
    if broke is None and not 200 <= status < 300:
        broke = http_failure(status, trace.headers, raw)
    return Reply(broke and client.scrub(broke), None, trace), raw


async def _send(client: Client, request: Request, receiver: Body | Stream, trace: Trace) -> Failure | None:
    try:
        await client.send(request, receiver, trace)
    except WireError as error:
        return error.failure
    return None


def _not_streamed(trace: Trace, receiver: Stream) -> Failure | None:
    if receiver.is_stream:
        return None
    raw, status = bytes(receiver.other.data), trace.status or 0
    if not 200 <= status < 300:
        return http_failure(status, trace.headers, raw)
    kind = trace.headers.get("content-type", "no content type")
    try:
        payload = parse_json(raw)
    except ValueError:
        payload = None
    fault = fault_of(payload) if isinstance(payload, Mapping) else None
    if fault is not None:
        return Failure(FailureClass.STREAM_ERROR, fault.message, status, fault.code)
    return Failure(FailureClass.NOT_A_STREAM, f"asked for an event stream, got {kind[:100]}", status)


def _token_count(data: object) -> int | None:
    tokens = data.get("tokens") if isinstance(data, Mapping) else data
    if isinstance(tokens, list):
        return len(tokens)
    count = data.get("count") if isinstance(data, Mapping) else None
    return count if isinstance(count, int) else None


_CONTEXT_NAMES = ("max_model_len", "max_context_length", "context_length", "n_ctx")


def _served(item: Mapping[str, Any]) -> ServedModel:
    owner = item.get("owned_by")
    return ServedModel(item["id"], _context(item), owner if isinstance(owner, str) else None, item)


def _context(item: Mapping[str, Any]) -> int | None:
    meta = item.get("meta")
    for place in (item, meta if isinstance(meta, Mapping) else {}):
        for name in _CONTEXT_NAMES:
            value = place.get(name)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
    return None
