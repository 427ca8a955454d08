"""A relay between an external command and the server under test: it counts, checks names, and can cut the server off.

The command is given the relay's address and no key; the relay sends on with the run's own. Replies are passed on
whole, so a stream arrives at once: the relay is for verdicts, never for times.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httptools

from dossier.runner.session import BoundReachedError, Session
from dossier.wire.client import Request
from dossier.wire.errors import WireError
from dossier.wire.events import Usage, usage_of
from dossier.wire.receive import Body
from dossier.wire.trace import Trace

_MOST_REQUEST = 64 << 20
_CUT = b'{"error": {"message": "the server is cut off on purpose", "type": "unavailable", "code": 503}}'


@dataclass(frozen=True, slots=True)
class Relayed:
    """One request that came: the model it names, and the status it was answered with."""

    path: str
    model: str | None
    status: int
    held: bool
    """Did its body hold the text that was looked for?"""


@dataclass(slots=True)
class Relay:
    """Serves while it is entered. `cut`: every request is answered 503. `most`: so many are sent on, then 429."""

    session: Session
    most: int
    cut: bool = False
    looked_for: str = ""
    seen: list[Relayed] = field(default_factory=list)
    port: int = 0

    @property
    def base_url(self) -> str:
        """The API base for the command."""
        return f"http://127.0.0.1:{self.port}/v1"

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Relay]:
        """Listen on a free port of this machine."""
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, httptools.HttpParserError):
            came = await _request(reader)
            if came is not None:
                status, kind, body = await self._relayed(came)
                head = f"HTTP/1.1 {status} Relayed\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
                writer.write(head.encode() + b"Connection: close\r\n\r\n" + body)
                await writer.drain()
        writer.close()

    async def _relayed(self, came: _Came) -> tuple[int, str, bytes]:
        status, kind, body = await self._sent_on(came)
        held = bool(self.looked_for) and self.looked_for.encode() in bytes(came.body)
        self.seen.append(Relayed(came.path, _model(bytes(came.body)), status, held))
        return status, kind, body

    async def _sent_on(self, came: _Came) -> tuple[int, str, bytes]:
        if self.cut:
            return 503, "application/json", _CUT
        if len(self.seen) >= self.most:
            return (
                429,
                "application/json",
                _CUT.replace(b"cut off on purpose", b"out of requests").replace(b"503", b"429"),
            )
        path = self.session.client.target.api + came.path.removeprefix("/v1")
        receiver, trace = Body(self.session.client.limits.max_body), Trace()
        try:
            self.session.budget.request()
            body = bytes(came.body) if came.method == "POST" else b""
            await self.session.client.send(Request(came.method, path, body), receiver, trace)
        except BoundReachedError:
            return 429, "application/json", _CUT
        except WireError:
            return 502, "application/json", _CUT.replace(b"503", b"502")
        if body:
            self.session.budget.used(_usage(bytes(receiver.data)), _json(body))
        return trace.status or 502, trace.headers.get("content-type", "application/json"), bytes(receiver.data)


@dataclass(slots=True)
class _Came:
    """A request as it is parsed; the names of its methods are httptools' own."""

    path: str = ""
    method: str = ""
    body: bytearray = field(default_factory=bytearray)
    whole: bool = False

    def on_url(self, url: bytes) -> None:
        self.path += url.decode("latin-1")

    def on_body(self, data: bytes) -> None:
        self.body += data

    def on_message_complete(self) -> None:
        self.whole = True


async def _request(reader: asyncio.StreamReader) -> _Came | None:
    came = _Came()
    parser = httptools.HttpRequestParser(came)
    while not came.whole:
        data = await reader.read(1 << 16)
        if not data or len(came.body) > _MOST_REQUEST:
            return None
        parser.feed_data(data)
    came.method = parser.get_method().decode("latin-1")
    return came


def _model(body: bytes) -> str | None:
    name = _json(body).get("model")
    return name if isinstance(name, str) else None


def _usage(data: bytes) -> Usage | None:
    """What a reply says it used: one JSON object, or one of the last events of a stream."""
    found = (_json(line.removeprefix(b"data:")).get("usage") for line in (data, *data.splitlines()[-6:]))
    return next((usage for item in found if item and (usage := usage_of(item)) is not None), None)


def _json(data: bytes) -> Mapping[str, Any]:
    try:
        read = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}
