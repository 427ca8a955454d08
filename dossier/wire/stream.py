"""Record one generating stream: arrivals with their stamps, what was said, and whether it counts.

A stream counts only with a terminal event *and* a finish reason, some output, and no error on the way. Chunks
are not tokens: an `Arrival` is a chunk; tokens come from the server's usage or are None.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from dossier.wire.decode import DECODERS, Protocol
from dossier.wire.errors import Failure, FailureClass, WireError, bounded
from dossier.wire.events import Delta, Event, Fault, Finish, Named, Terminal, Usage, fault_of
from dossier.wire.sse import SseEvent, SseReader
from dossier.wire.status import parse_json
from dossier.wire.tools import ToolCall, ToolJoin
from dossier.wire.trace import Trace

DONE = b"[DONE]"
_BREAKS = frozenset({FailureClass.DISCONNECTED, FailureClass.IDLE, FailureClass.DEADLINE})
_KNOWN_NAMES = frozenset({"message", "error", "completion", "chunk"})


class Arrival(NamedTuple):
    """One chunk that carried output: when its read came, and how much of which kind it held."""

    at_ns: int
    content: int
    reasoning: int
    tools: int
    completion_tokens: int | None


@dataclass(frozen=True, slots=True)
class Expect:
    """What the asker knows about a right answer.

    `models` are the names a reply may bear (empty: any). `visible` False lets a reasoning-only answer at the
    length limit pass, for a cell that measures nothing but speed.
    """

    models: frozenset[str] = frozenset()
    visible: bool = True


@dataclass(frozen=True, slots=True)
class StreamOutcome:
    """One finished stream. `failure` None means that it is a sample; all stamps are those of `trace`."""

    failure: Failure | None
    trace: Trace
    arrivals: tuple[Arrival, ...]
    content: str
    reasoning: str
    tools: tuple[ToolCall, ...]
    finish: str | None
    terminal: str | None
    usage: Usage | None
    named: Named
    events: int
    comments: int
    deviations: tuple[str, ...]

    @property
    def ttft_any_ns(self) -> int | None:
        """From the request's start to the first output of any kind."""
        return self.arrivals[0].at_ns - self.trace.start_ns if self.arrivals else None

    @property
    def ttft_visible_ns(self) -> int | None:
        """From the request's start to the first visible text."""
        return next((item.at_ns - self.trace.start_ns for item in self.arrivals if item.content), None)

    @property
    def e2e_ns(self) -> int | None:
        """From the request's start to the last output; what follows it (usage, `[DONE]`) is not in it."""
        return self.arrivals[-1].at_ns - self.trace.start_ns if self.arrivals else None

    @property
    def tpot_ns(self) -> float | None:
        """(e2e - ttft) / (completion tokens - 1); None without usage or with fewer than two tokens."""
        tokens = self.usage.completion if self.usage else None
        if tokens is None or tokens < 2 or not self.arrivals:
            return None
        return (self.arrivals[-1].at_ns - self.arrivals[0].at_ns) / (tokens - 1)


@dataclass(slots=True)
class StreamRecorder:
    """The sink of a stream: feed it reads, then ask for the outcome."""

    protocol: Protocol
    max_event: int
    _sse: SseReader = field(init=False)
    _tools: ToolJoin = field(init=False)
    _arrivals: list[Arrival] = field(default_factory=list)
    _content: list[str] = field(default_factory=list)
    _reasoning: list[str] = field(default_factory=list)
    _finish: str | None = None
    _terminal: str | None = None
    _usage: Usage | None = None
    _named: Named = field(default_factory=Named)
    _fault: Fault | None = None
    _events: int = 0
    _skipped: set[str] = field(default_factory=set)
    _deviations: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._sse = SseReader(self.max_event)
        self._tools = ToolJoin(None if self.protocol is Protocol.RESPONSES else 0)

    def __call__(self, at_ns: int, data: bytes) -> bool:
        """Take plain bytes of one read; True once the terminal event came. Raises WireError."""
        for event in self._sse.feed(data):
            self._take(at_ns, event)
        return self._terminal is not None

    def outcome(self, trace: Trace, broke: Failure | None, expect: Expect) -> StreamOutcome:
        """Close the record. `broke` is what the transport says went wrong, if anything."""
        if broke is None:
            self._take_rest(trace)
        elif broke.kind in _BREAKS and self._terminal is not None:
            # All that was to be said was said; how the connection ended afterwards is no part of the sample.
            self._deviations.add("broken-after-terminal")
            broke = None
        if trace.left_open:
            self._deviations.add("left-open")
        return StreamOutcome(
            failure=self._judge(broke, expect),
            trace=trace,
            arrivals=tuple(self._arrivals),
            content="".join(self._content),
            reasoning="".join(self._reasoning),
            tools=self._tools.calls(),
            finish=self._finish,
            terminal=self._terminal,
            usage=self._usage,
            named=self._named,
            events=self._events,
            comments=self._sse.comments,
            deviations=tuple(sorted(self._deviations | self._tools.all_deviations() | self._usage_deviations())),
        )

    def _take(self, at_ns: int, event: SseEvent) -> None:
        self._events += 1
        if event.data == DONE:
            self._end(DONE.decode())
            return
        if event.name not in _KNOWN_NAMES and not event.name.startswith("response."):
            self._deviations.add("named-event")
            return
        if event.name == "error":
            self._fault = self._fault or _error_event(event)
            return
        payload = _payload(event)
        before = self._usage
        deltas = [delta for item in DECODERS[self.protocol](payload) if (delta := self._keep(item)) is not None]
        tokens = self._usage.completion if self._usage is not None and self._usage is not before else None
        if deltas:
            self._arrive(at_ns, deltas, tokens)

    def _keep(self, event: Event) -> Delta | None:
        match event:
            case Delta():
                return event
            case Usage():
                self._usage = event
            case Finish() if event.choice == 0 or self._finish is None:
                self._finish = event.reason
            case Named():
                self._name(event)
            case Terminal():
                self._end(event.name)
            case Fault():
                self._fault = self._fault or event
            case _:
                pass
        return None

    def _arrive(self, at_ns: int, deltas: list[Delta], tokens: int | None) -> None:
        content = "".join(delta.content for delta in deltas)
        reasoning = "".join(delta.reasoning for delta in deltas)
        pieces = [tool for delta in deltas for tool in delta.tools]
        if self._terminal is not None:
            self._deviations.add("output-after-terminal")
        if content:
            self._content.append(content)
        if reasoning:
            self._reasoning.append(reasoning)
        for piece in pieces:
            self._tools.add(piece)
        self._arrivals.append(Arrival(at_ns, len(content), len(reasoning), len(pieces), tokens))

    def _name(self, named: Named) -> None:
        known = self._named
        if named.model and known.model and named.model != known.model:
            self._deviations.add("model-changed")
        if named != known:
            self._named = Named(
                known.id or named.id, named.model or known.model, named.fingerprint or known.fingerprint
            )

    def _end(self, name: str) -> None:
        # vLLM and others send [DONE] after an error event, and some after `response.completed`.
        self._terminal = self._terminal or name

    def _take_rest(self, trace: Trace) -> None:
        event = self._sse.rest()
        if event is None:
            return
        self._deviations.add("unterminated-event")
        try:
            self._take(trace.last_ns or 0, event)
        except WireError:
            self._deviations.add("partial-event")

    def _usage_deviations(self) -> set[str]:
        tokens = self._usage.completion if self._usage else None
        return {"usage-without-output"} if tokens and not self._arrivals else set()

    def _judge(self, broke: Failure | None, expect: Expect) -> Failure | None:
        if self._fault is not None:
            text = bounded(self._fault.message)
            return Failure(FailureClass.STREAM_ERROR, text, status=200, code=self._fault.code)
        return broke or self._incomplete() or self._unfit(expect)

    def _incomplete(self) -> Failure | None:
        chunks = f"{len(self._arrivals)} output chunks"
        if self._terminal is None and self._finish is None:
            text = f"the body ended after {chunks}, with neither a finish reason nor a terminal event"
            return Failure(FailureClass.TRUNCATED, text, status=200)
        if self._terminal is None:
            text = f"finish reason {self._finish!r} after {chunks}, but no terminal event"
            return Failure(FailureClass.NO_TERMINAL, bounded(text), status=200)
        if self._finish is None:
            return Failure(FailureClass.NO_FINISH, f"{self._terminal} after {chunks}, but no finish reason", status=200)
        return None

    def _unfit(self, expect: Expect) -> Failure | None:
        model = self._named.model
        if expect.models and model not in expect.models:
            text = f"the reply names model {model!r}, not {' or '.join(sorted(expect.models))}"
            return Failure(FailureClass.WRONG_MODEL, bounded(text), status=200)
        if not self._arrivals:
            return Failure(FailureClass.EMPTY, f"no output, finish reason {self._finish!r}", status=200)
        answered = any(item.content or item.tools for item in self._arrivals)
        if expect.visible and not answered and self._finish == "length":
            return Failure(FailureClass.REASONING_ONLY, "reasoning used up the whole token budget", status=200)
        return None


def _payload(event: SseEvent) -> Mapping[str, object]:
    try:
        payload = parse_json(event.data)
    except ValueError as error:
        shown = event.data[:100].decode("utf-8", "replace")
        raise WireError(FailureClass.BAD_JSON, f"an event is not JSON ({error}): {shown!r}") from error
    if not isinstance(payload, dict):
        raise WireError(FailureClass.BAD_EVENT, f"an event is a JSON {type(payload).__name__}, not an object")
    # The responses protocol says each event's type twice; some servers only in the event's name.
    return payload if event.name == "message" or "type" in payload else {"type": event.name, **payload}


def _error_event(event: SseEvent) -> Fault:
    text = event.data.decode("utf-8", "replace")
    try:
        payload = parse_json(event.data)
    except ValueError:
        return Fault(text)
    fault = fault_of(payload) if isinstance(payload, dict) else None
    return fault or Fault(str(payload.get("message") or text) if isinstance(payload, dict) else text)
