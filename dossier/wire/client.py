"""The HTTP client: one target, keep-alive, one retry of a stale connection, redirects, a hard deadline."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Literal
from urllib.parse import urljoin

from dossier.wire.connection import StaleConnectionError
from dossier.wire.errors import BadTargetError, Failure, FailureClass, WireError
from dossier.wire.pool import Pool
from dossier.wire.pump import Pump
from dossier.wire.target import Origin, Proxy, Target, environment_proxy, parse_origin, parse_proxy, parse_target
from dossier.wire.trace import Receiver, Trace

_REDIRECTS = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one request. `deadline_s` is hard: it covers connecting, retry, redirects and the whole body.

    `idle_s` bounds the silence between two reads; bodies and events are bounded in bytes.
    """

    deadline_s: float = 600.0
    idle_s: float = 120.0
    connect_s: float = 10.0
    max_body: int = 64 * 1024 * 1024
    max_event: int = 16 * 1024 * 1024
    max_redirects: int = 5


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent: method, absolute path with query, body, and headers beside the client's own."""

    method: str
    path: str
    body: bytes | None = None
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class Client:
    """Sends requests to one target; use as an async context manager or call `close`.

    `secrets` are the texts that must never leave in an error message: the API key and proxy credentials.
    """

    target: Target
    limits: Limits
    fresh: bool
    _headers: tuple[tuple[str, str], ...]
    _proxy: Proxy | Literal["environment"] | None
    _tls: ssl.SSLContext | None
    secrets: frozenset[str]
    _pools: dict[Origin, Pool] = field(default_factory=dict)
    _pump: Pump = field(default_factory=Pump)

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Drop every idle connection."""
        for pool in self._pools.values():
            pool.close()

    async def warm(self, connections: int) -> None:
        """Open connections ahead, so that a burst of first requests does not time their handshakes."""
        pool = self._pool(self.target.origin)
        opening = (pool.open(self.limits.connect_s, Trace()) for _ in range(connections))
        for connection in await asyncio.gather(*opening):
            pool.give_back(connection)

    async def send(self, request: Request, receiver: Receiver, trace: Trace) -> None:
        """Send a request; the reply goes to `receiver`, the facts to `trace`. Raises WireError.

        Redirects are followed on the same host only, never from https to http, and never turn a POST into a GET.
        """
        loop_deadline = asyncio.get_running_loop().time() + self.limits.deadline_s
        try:
            async with asyncio.timeout_at(loop_deadline):
                await self._follow(request, receiver, trace)
        except TimeoutError as error:
            text = f"not complete within {self.limits.deadline_s:g} s ({trace.received} bytes received)"
            raise WireError(FailureClass.DEADLINE, text) from error

    def scrub(self, failure: Failure) -> Failure:
        """Take the client's own secrets out of a failure's text: servers quote keys back."""
        message = failure.message
        for secret in self.secrets:
            message = message.replace(secret, "<redacted>")
        return replace(failure, message=message)

    async def _follow(self, request: Request, receiver: Receiver, trace: Trace) -> None:
        origin = self.target.origin
        for _ in range(self.limits.max_redirects + 1):
            await self._attempt(origin, request, receiver, trace)
            location = trace.headers.get("location")
            if trace.status not in _REDIRECTS or not location:
                return
            origin, request = _redirected(origin, request, trace.status, location)
            trace.redirects += 1
        raise WireError(FailureClass.REDIRECT, f"more than {self.limits.max_redirects} redirects")

    async def _attempt(self, origin: Origin, request: Request, receiver: Receiver, trace: Trace) -> None:
        pool = self._pool(origin)
        connection = None if self.fresh else pool.reuse()
        trace.reused = connection is not None
        raw = self._encode(origin, request, pool.proxy)
        if connection is not None:
            try:
                await connection.exchange(raw, receiver, trace, self.limits.idle_s)
            except StaleConnectionError:
                trace.stale_retries += 1
                trace.reused = False
            else:
                pool.give_back(connection)
                return
        connection = await pool.open(self.limits.connect_s, trace)
        await connection.exchange(raw, receiver, trace, self.limits.idle_s)
        if self.fresh:
            connection.abort()
        else:
            pool.give_back(connection)

    def _pool(self, origin: Origin) -> Pool:
        pool = self._pools.get(origin)
        if pool is None:
            proxy = environment_proxy(origin) if self._proxy == "environment" else self._proxy
            tls = (self._tls or ssl.create_default_context()) if origin.scheme == "https" else None
            pool = self._pools[origin] = Pool(origin, proxy, tls, self._pump)
        return pool

    def _encode(self, origin: Origin, request: Request, proxy: Proxy | None) -> bytes:
        forward = proxy is not None and origin.scheme == "http"
        lines = [f"{request.method} {origin if forward else ''}{request.path} HTTP/1.1", f"Host: {origin.authority}"]
        lines += [f"{name}: {value}" for name, value in (*self._headers, *request.headers)]
        if forward and proxy is not None and proxy.authorization:
            lines.append(f"Proxy-Authorization: {proxy.authorization}")
        if self.fresh:
            lines.append("Connection: close")
        if request.body is not None:
            lines += ["Content-Type: application/json", f"Content-Length: {len(request.body)}"]
        return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + (request.body or b"")


def connect(
    base_url: str,
    *,
    api_key: str | None = None,
    headers: Iterable[tuple[str, str]] = (),
    proxy: str | None = "environment",
    ca_file: str | None = None,
    limits: Limits | None = None,
    fresh: bool = False,
) -> Client:
    """Make a client for a base URL. Nothing is sent yet; raises BadTargetError when nothing could be.

    `proxy` is a URL, None for none, or "environment". `ca_file` adds trust in a private CA. `fresh` opens a new
    connection for every request.
    """
    target = parse_target(base_url)
    own = [("User-Agent", "dossier"), ("Accept", "*/*"), ("Accept-Encoding", "identity"), *headers]
    if api_key is not None:
        own.append(("Authorization", f"Bearer {api_key}"))
    for name, value in own:
        _check_header(name, value)
    via = proxy if proxy is None or proxy == "environment" else parse_proxy(proxy)
    return Client(
        target=target,
        limits=limits or Limits(),
        fresh=fresh,
        _headers=tuple(own),
        _proxy="environment" if isinstance(via, str) else via,
        _tls=_trust(ca_file) if target.origin.scheme == "https" or ca_file else None,
        secrets=frozenset(filter(None, [api_key])),
    )


def _trust(ca_file: str | None) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if ca_file is not None:
        try:
            context.load_verify_locations(cafile=ca_file)
        except OSError as error:
            raise BadTargetError(f"cannot read certificates from {ca_file}: {error.strerror or error}") from error
    return context


def _check_header(name: str, value: str) -> None:
    if not all(32 < ord(char) < 127 for char in name) or not all(32 <= ord(char) < 127 for char in value):
        raise BadTargetError(
            f"header {name.encode('ascii', 'replace').decode()!r} has characters that HTTP does not carry"
        )


def _redirected(origin: Origin, request: Request, status: int, location: str) -> tuple[Origin, Request]:
    try:
        new, path = parse_origin(urljoin(f"{origin}{request.path}", location))
    except BadTargetError as error:
        raise WireError(FailureClass.REDIRECT, f"redirected to what is no URL: {error}") from error
    if new.host != origin.host or (origin.scheme == "https" and new.scheme == "http"):
        raise WireError(FailureClass.REDIRECT, f"redirected from {origin} to {new}: not followed")
    if status not in (HTTPStatus.TEMPORARY_REDIRECT, HTTPStatus.PERMANENT_REDIRECT) and request.method != "GET":
        raise WireError(FailureClass.REDIRECT, f"status {status} would turn this {request.method} into a GET")
    return new, replace(request, path=path)
