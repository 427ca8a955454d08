"""A server that plays given bytes, a CONNECT proxy, and requests sent to one of them."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from dossier.wire.api import Reply, get_json, post_json
from dossier.wire.client import connect
from dossier.wire.errors import FailureClass
from dossier.wire.loop import run


@dataclass
class Raw:
    """What a raw server saw: one entry a connection, each a list of request heads with bodies."""

    port: int = 0
    connections: list[list[bytes]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def requests(self) -> list[bytes]:
        return [request for requests in self.connections for request in requests]


async def read_request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = 0
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return head + await reader.readexactly(length)


@contextlib.asynccontextmanager
async def serving(handle, **options) -> AsyncIterator[int]:
    """Serve with `handle(reader, writer)`; on leaving, every connection is dropped and every handler has ended."""
    tasks: set[asyncio.Task] = set()
    writers: list[asyncio.StreamWriter] = []

    async def guarded(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, ssl.SSLError, asyncio.CancelledError):
            await handle(reader, writer)
        writer.close()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        tasks.add(asyncio.get_running_loop().create_task(guarded(reader, writer)))

    server = await asyncio.start_server(connected, "127.0.0.1", 0, **options)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for writer in writers:
            writer.transport.abort()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0.02)


@contextlib.asynccontextmanager
async def raw_server(answer: Callable[[int, int], bytes | None], **options) -> AsyncIterator[Raw]:
    """Answer request `n` of connection `c` with `answer(c, n)`; None closes the connection instead.

    An answer that ends in b"<close>" closes after what stands before it.
    """
    raw = Raw()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number, seen = len(raw.connections), []
        raw.connections.append(seen)
        while True:
            seen.append(await read_request(reader))
            reply = answer(number, len(seen) - 1)
            if reply is None:
                return
            writer.write(reply.removesuffix(b"<close>"))
            await writer.drain()
            if reply.endswith(b"<close>"):
                return

    async with serving(handle, **options) as raw.port:
        yield raw


def http(body: bytes = b"{}", status: str = "200 OK", kind: str = "application/json", *extra: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *extra]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@contextlib.asynccontextmanager
async def connect_proxy(refusal: bytes | None = None) -> AsyncIterator[Raw]:
    """A proxy that tunnels CONNECT to 127.0.0.1, or answers `refusal`; other requests get an empty object."""
    raw = Raw()

    async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await read_request(reader)
        raw.connections.append([head])
        if not head.startswith(b"CONNECT"):
            writer.write(http())
            return
        if refusal is not None:
            writer.write(refusal)
            return
        port = int(head.split()[1].rpartition(b":")[2])
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        back = asyncio.create_task(pipe(far_reader, writer))
        try:
            await pipe(reader, far_writer)
        finally:
            back.cancel()
            far_writer.transport.abort()

    async with serving(handle) as raw.port:
        yield raw


def ask(answer, *, times: int = 1, method: str = "GET", server=None, **options) -> tuple[list[Reply], object]:
    """Send `times` requests one after another to a raw server; return the replies and what the server saw."""

    async def main():
        async with (
            raw_server(answer, **(server or {})) as raw,
            connect(options.pop("url", raw.url).format(port=raw.port), **{"proxy": None, **options}) as client,
        ):
            send = (
                (lambda: post_json(client, "/v1/x", {"a": 1}))
                if method == "POST"
                else lambda: get_json(client, "/v1/x")
            )
            replies = []
            for _ in range(times):
                replies.append(await send())
                await asyncio.sleep(0.01)
            return replies, raw

    return run(main())


def kinds(replies: list[Reply]) -> list[FailureClass | None]:
    return [reply.failure and reply.failure.kind for reply in replies]
