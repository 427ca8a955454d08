"""An OpenAI-compatible server whose schedule is exactly known, and which logs when it really sent what.

A request may carry `x_schedule`, an object of `Schedule` fields, over the server's defaults; `X-Request-Id` names
it in the log. Every output chunk has an absolute due time; a late chunk never moves the next one. Send times are
`time.perf_counter_ns()` just before the write, comparable with a client's stamps on the same machine.
"""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from types import TracebackType
from typing import IO, Any, cast

import httptools
from pydantic import ValidationError

from dossier.runner.schedule import Fault, Schedule
from dossier.runner.script import FINGERPRINT, MODEL, Ask, Step, Then, error_body, reply, script
from dossier.runner.traits import Mind, Traits
from dossier.wire.decode import Protocol
from dossier.wire.status import parse_json

CONTEXT = 32_768


@dataclass(slots=True)
class Served:
    """One generation as the server saw it. `sent_ns` has one stamp for each output chunk, `late_ns` its lateness.

    `open` counts the generations in progress when this one came, itself included.
    """

    id: str
    path: str
    received_ns: int
    open: int
    sent_ns: list[int] = field(default_factory=list)
    late_ns: list[int] = field(default_factory=list)
    end_ns: int = 0
    complete: bool = False


class ReferenceServer:
    """Serves on one address; use as an async context manager.

    `log` holds every generation that ended; it is written to `log_file` as JSON lines on leaving, and not before:
    writing while others stream would delay them.
    """

    def __init__(
        self,
        defaults: Schedule | None = None,
        traits: Traits | None = None,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        tls: ssl.SSLContext | None = None,
        log_file: IO[str] | None = None,
    ) -> None:
        self.defaults = defaults or Schedule()
        self.mind = Mind(traits or Traits())
        self.log: list[Served] = []
        self.connections = 0
        self.open = 0
        self.prompt_tokens = 0
        self.output_tokens = 0
        self._address = (host, port)
        self._tls = tls
        self._log_file = log_file
        self._server: asyncio.Server | None = None
        self._live: set[_Connection] = set()

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self._address[1]

    @property
    def base_url(self) -> str:
        """The API base for a client."""
        host = self._address[0]
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}/v1"

    async def __aenter__(self) -> ReferenceServer:
        host, port = self._address
        listener = socket.create_server((host, port), backlog=2048)
        self._address = (host, listener.getsockname()[1])
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self), sock=listener, ssl=self._tls, backlog=2048)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
        self.drop_connections()
        await asyncio.sleep(0)
        if self._log_file is not None:
            self._log_file.writelines(json.dumps(asdict(served)) + "\n" for served in self.log)

    def drop_connections(self) -> None:
        """Close every connection now, idle ones too."""
        for connection in list(self._live):
            connection.abort()

    def wrote(self, served: Served) -> None:
        """A generation ended: keep it."""
        self.open -= 1
        self.log.append(served)


class _Connection(asyncio.Protocol):
    def __init__(self, server: ReferenceServer) -> None:
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._player: _Player | None = None
        self._new_request()

    def _new_request(self) -> None:
        self._parser = httptools.HttpRequestParser(self)
        self._headers: dict[bytes, bytes] = {}
        self._url = b""
        self._body = bytearray()
        self._received_ns = 0

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._server.connections += 1
        self._server._live.add(self)  # noqa: SLF001 - server and connection are one unit

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._transport = None
        self._server._live.discard(self)  # noqa: SLF001
        if self._player is not None:
            self._player.stop()

    def data_received(self, data: bytes) -> None:
        self._received_ns = time.perf_counter_ns()
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self.abort()

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.lower()] = value

    def on_body(self, data: bytes) -> None:
        self._body += data

    def on_message_complete(self) -> None:
        path, _, query = self._url.decode("latin-1").partition("?")
        if self._parser.get_method() == b"POST" and path.removeprefix("/v1") in set(Protocol):
            self._generate(Protocol(path.removeprefix("/v1")), again=bool(query))
        else:
            self._write(_plain(self._server, path, bytes(self._body)))
        self._headers, self._url, self._body = {}, b"", bytearray()

    def _generate(self, protocol: Protocol, *, again: bool) -> None:
        server = self._server
        if server.mind.dead:
            self.abort()
            return
        ask = _understand(bytes(self._body), protocol, server, again=again, at_ns=self._received_ns)
        if isinstance(ask, bytes):
            self._write(ask)
            return
        server.open += 1
        server.prompt_tokens += ask.prompt_tokens
        name = self._headers.get(b"x-request-id", b"").decode("latin-1")
        served = Served(name, protocol, self._received_ns, server.open)
        if self._transport is not None:
            self._player = _Player(self._transport, script(ask), ask.schedule, served, server.wrote)
            self._player.play()

    def _write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)


class _Player:
    """Plays one script on one transport by absolute due times."""

    def __init__(
        self,
        transport: asyncio.Transport,
        steps: tuple[Step, ...],
        schedule: Schedule,
        served: Served,
        ended: Callable[[Served], None],
    ) -> None:
        self._transport = transport
        self._steps = steps
        self._schedule = schedule
        self._served = served
        self._ended = ended
        self._next = 0
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()

    def play(self) -> None:
        """Send what is due, then sleep until the next step is."""
        self._timer = None
        while self._next < len(self._steps):
            step = self._steps[self._next]
            now = time.perf_counter_ns()
            wait = self._served.received_ns + step.due_ns - now
            if wait > 0:
                self._timer = self._loop.call_later(wait / 1e9, self.play)
                return
            self._next += 1
            if step.output:
                self._served.sent_ns.append(now)
                self._served.late_ns.append(-wait)
            self._send(step.data)
            if step.then is not Then.GO_ON:
                self._end(step)

    def stop(self) -> None:
        """The peer went away."""
        if self._timer is not None:
            self._timer.cancel()
        self._finish(complete=False)

    def _send(self, data: bytes) -> None:
        size = self._schedule.split
        if not size:
            self._transport.write(data)
            return
        for start in range(0, len(data), size):
            self._transport.write(data[start : start + size])

    def _end(self, step: Step) -> None:
        match step.then:
            case Then.END:
                self._finish(complete=True)
            case Then.CLOSE:
                self._finish(complete=self._schedule.fault is Fault.CLOSE_AFTER)
                self._transport.close()
            case Then.RESET:
                self._finish(complete=False)
                self._transport.abort()
            case Then.REPEAT:
                gap = max(self._schedule.gap_ms, 1.0) / 1e3
                self._timer = self._loop.call_later(gap, self._drip, step)
            case _:
                pass

    def _drip(self, step: Step) -> None:
        if not self._transport.is_closing():
            self._transport.write(step.data)
            self._end(step)

    def _finish(self, *, complete: bool) -> None:
        if self._served.end_ns == 0:
            self._served.end_ns = time.perf_counter_ns()
            self._served.complete = complete
            self._ended(self._served)


def _understand(body: bytes, protocol: Protocol, server: ReferenceServer, *, again: bool, at_ns: int) -> Ask | bytes:
    """What the request asks for, or the reply that refuses it."""
    try:
        request = parse_json(body)
        schedule = _schedule(request, server.defaults)
    except (ValueError, TypeError, AttributeError) as error:
        return _refuse(400, f"bad request: {error}", "invalid_request_error")
    if request.get("model", MODEL) != MODEL:
        return _refuse(404, f"The model `{request['model']}` does not exist.", "NotFoundError")
    prompt = _prompt_tokens(request) + server.mind.tool_words(request)
    if prompt + schedule.tokens > CONTEXT:
        text = f"This model's maximum context length is {CONTEXT} tokens, but {prompt} were given."
        return _refuse(400, text, "invalid_request_error")
    if again and schedule.fault is Fault.REDIRECT:
        schedule = schedule.model_copy(update={"fault": Fault.NONE})
    cached = None
    if refusal := server.mind.refusal(request):
        return _refuse(400, refusal, "invalid_request_error")
    if server.mind.traits != Traits():
        shaped = server.mind.shape(request, schedule, _limit(request), at_ns)
        schedule, cached = shaped.schedule, shaped.cached
    options = request.get("stream_options")
    usage = isinstance(options, Mapping) and options.get("include_usage") is True
    return Ask(protocol, schedule, prompt, usage, stream=request.get("stream") is True, cached=cached)


def _schedule(request: Mapping[str, Any], defaults: Schedule) -> Schedule:
    """The defaults, then what the request says; a token limit below the schedule cuts it with `length`."""
    wanted = request.get("x_schedule") or {}
    try:
        schedule = Schedule.model_validate({**defaults.model_dump(), **wanted}) if wanted else defaults
    except ValidationError as error:
        raise ValueError(error.errors(include_url=False, include_input=False)) from error
    limit = _limit(request)
    if limit is None or limit >= schedule.tokens:
        return schedule
    return schedule.model_copy(update={"tokens": limit, "finish": "length"})


def _limit(request: Mapping[str, Any]) -> int | None:
    limits = [request.get(name) for name in ("max_completion_tokens", "max_tokens", "max_output_tokens")]
    return next((value for value in limits if isinstance(value, int)), None)


def _prompt_tokens(request: Mapping[str, Any]) -> int:
    prompt = request.get("messages") or request.get("prompt") or request.get("input") or ""
    if isinstance(prompt, list):
        prompt = " ".join(str(item.get("content", "")) for item in prompt if isinstance(item, Mapping))
    return len(str(prompt).split())


def _refuse(status: int, message: str, kind: str) -> bytes:
    return reply(status, error_body(message, kind, status))


def _plain(server: ReferenceServer, path: str, body: bytes) -> bytes:
    match path:
        case "/v1/models":
            entry = {"id": MODEL, "object": "model", "owned_by": "dossier", "max_model_len": CONTEXT}
            return _json({"object": "list", "data": [entry]})
        case "/health" | "/reset_prefix_cache":
            if path != "/health":
                server.mind.forget()
            return reply(200, b"")
        case "/version":
            return _json({"version": FINGERPRINT})
        case "/tokenize":
            return _tokenize(body)
        case "/metrics":
            return reply(200, _metrics(server), "text/plain; version=0.0.4")
        case _:
            return _refuse(404, "no such path", "NotFoundError")


def _tokenize(body: bytes) -> bytes:
    try:
        words = str(parse_json(body)["prompt"]).split()
    except (ValueError, KeyError, TypeError):
        return _refuse(400, "prompt is missing", "invalid_request_error")
    return _json({"count": len(words), "max_model_len": CONTEXT, "tokens": list(range(len(words)))})


def _metrics(server: ReferenceServer) -> bytes:
    counters = {
        "requests": len(server.log),
        "prompt_tokens": server.prompt_tokens,
        "output_chunks": sum(len(served.sent_ns) for served in server.log),
        "prefix_hits": server.mind.cached,
        "drafted": server.mind.drafted,
        "accepted": server.mind.accepted,
    }
    lines = [f"# TYPE reference:{name} counter\nreference:{name}_total {value}" for name, value in counters.items()]
    lines.append(f"# TYPE reference:requests_running gauge\nreference:requests_running {server.open}")
    return ("\n".join(lines) + "\n").encode()


def _json(value: Mapping[str, Any]) -> bytes:
    return reply(200, json.dumps(value).encode())
