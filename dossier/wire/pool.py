"""Connections to one origin: opened (TCP, TLS, CONNECT through a proxy), kept alive, reused newest first."""

from __future__ import annotations

import asyncio
import ssl
import time
from dataclasses import dataclass, field

from dossier.wire.connection import Connection
from dossier.wire.errors import FailureClass, WireError
from dossier.wire.pump import Pump
from dossier.wire.target import Origin, Proxy
from dossier.wire.trace import Trace

# Below uvicorn's five seconds: an idle connection is given up before the server may give it up.
KEEPALIVE_S = 4.0
_CONNECT_REPLY_LIMIT = 64 * 1024


@dataclass(slots=True)
class Pool:
    """Idle connections of one origin. With `tls` None the origin is plain http."""

    origin: Origin
    proxy: Proxy | None
    tls: ssl.SSLContext | None
    pump: Pump
    _idle: list[Connection] = field(default_factory=list)

    def reuse(self) -> Connection | None:
        """The newest idle connection that is still good, or None."""
        now = time.monotonic()
        while self._idle:
            connection = self._idle.pop()
            if connection.reusable and now - connection.idle_since < _keepalive(connection):
                return connection
            connection.abort()
        return None

    def give_back(self, connection: Connection) -> None:
        """Keep the connection for the next request, or drop it when it cannot serve one."""
        if connection.reusable:
            connection.idle_since = time.monotonic()
            self._idle.append(connection)
        else:
            connection.abort()

    async def open(self, timeout_s: float, trace: Trace) -> Connection:
        """Open a connection and note how long it took. Raises WireError (connect, tls, proxy)."""
        began = time.perf_counter_ns()
        try:
            async with asyncio.timeout(timeout_s):
                connection = await self._open()
        except TimeoutError as error:
            raise WireError(FailureClass.CONNECT, f"no connection within {timeout_s:g} s") from error
        except ssl.SSLError as error:
            raise WireError(FailureClass.TLS, f"TLS: {error.reason or error}") from error
        except ConnectionError as error:
            raise WireError(_refusal(self), f"cannot connect to {self._peer}: {error.strerror or error}") from error
        except OSError as error:
            raise WireError(_refusal(self), f"cannot connect to {self._peer}: {error}") from error
        trace.connect_ns = time.perf_counter_ns() - began
        trace.proxied = self.proxy is not None
        return connection

    def close(self) -> None:
        """Drop every idle connection."""
        while self._idle:
            self._idle.pop().abort()

    @property
    def _peer(self) -> str:
        return str(self.proxy.origin) if self.proxy else str(self.origin)

    async def _open(self) -> Connection:
        loop = asyncio.get_running_loop()
        peer = self.proxy.origin if self.proxy else self.origin
        if self.proxy is None or self.tls is None:
            name = self.origin.host if self.tls else None
            _, connection = await loop.create_connection(
                lambda: Connection(self.pump), peer.host, peer.port, ssl=self.tls, server_hostname=name
            )
            return connection
        transport, tunnel = await loop.create_connection(_Tunnel, peer.host, peer.port)
        return await self._through(transport, tunnel, self.proxy, self.tls)

    async def _through(
        self, transport: asyncio.Transport, tunnel: _Tunnel, proxy: Proxy, tls: ssl.SSLContext
    ) -> Connection:
        loop = asyncio.get_running_loop()
        try:
            transport.write(_connect_request(self.origin, proxy))
            await tunnel.established
            connection = Connection(self.pump)
            secured = await loop.start_tls(transport, connection, tls, server_hostname=self.origin.host)
        except BaseException:
            transport.abort()
            raise
        if secured is None:
            raise WireError(FailureClass.TLS, "the proxy closed the tunnel during the TLS handshake")
        connection.connection_made(secured)
        return connection


class _Tunnel(asyncio.Protocol):
    """Waits for a proxy's answer to CONNECT."""

    def __init__(self) -> None:
        self.established: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._reply = b""

    def data_received(self, data: bytes) -> None:
        self._reply += data
        if self.established.done():
            return
        if b"\r\n\r\n" in self._reply:
            self._judge(self._reply.split(b"\r\n", 1)[0].decode("latin-1"))
        elif len(self._reply) > _CONNECT_REPLY_LIMIT:
            self._refuse("sent headers without end")

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.established.done():
            self._refuse(f"closed the connection{f': {exc}' if exc else ''}")

    def _judge(self, status_line: str) -> None:
        version, _, rest = status_line.partition(" ")
        if version.startswith("HTTP/1.") and rest.startswith("2"):
            self.established.set_result(None)
        else:
            self._refuse(f"answered {status_line[:200]}")

    def _refuse(self, why: str) -> None:
        self.established.set_exception(WireError(FailureClass.PROXY, f"the proxy {why}"))


def _connect_request(origin: Origin, proxy: Proxy) -> bytes:
    host = f"[{origin.host}]" if ":" in origin.host else origin.host
    lines = [f"CONNECT {host}:{origin.port} HTTP/1.1", f"Host: {host}:{origin.port}"]
    if proxy.authorization:
        lines.append(f"Proxy-Authorization: {proxy.authorization}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _keepalive(connection: Connection) -> float:
    announced = connection.keepalive_s
    return KEEPALIVE_S if announced is None else min(KEEPALIVE_S, announced - 1)


def _refusal(pool: Pool) -> FailureClass:
    return FailureClass.PROXY if pool.proxy else FailureClass.CONNECT
