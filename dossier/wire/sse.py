"""Server-sent events, as the WHATWG HTML standard reads them (section 9.2.6), from reads cut anywhere.

Two liberties are taken, both from servers in use: a field named `error` (older llama.cpp) is an event of that
name, and `SseReader.rest` hands out an event whose closing blank line never came.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dossier.wire.errors import FailureClass, WireError

MAX_EVENT = 16 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One event: its name ("message" when none was given) and its data, still bytes."""

    name: str
    data: bytes


@dataclass(slots=True)
class SseReader:
    """Turns reads of any size into events; holds at most `max_event` bytes of an unfinished one."""

    max_event: int = MAX_EVENT
    comments: int = 0
    _partial: list[bytes] = field(default_factory=list)
    _held: int = 0
    _data: list[bytes] = field(default_factory=list)
    _name: str = ""
    _after_cr: bool = False
    _started: bool = False

    def feed(self, read: bytes) -> list[SseEvent]:
        """Return the events that this read completes.

        Raises WireError (oversize-event) when one event outgrows `max_event`.
        """
        read = self._plain_newlines(read)
        head, newline, tail = read.rpartition(b"\n")
        if not newline:
            self._hold(read)
            return []
        events: list[SseEvent] = []
        for line in self._lines(head):
            event = self._take(line)
            if event is not None:
                events.append(event)
        self._hold(tail)
        return events

    def rest(self) -> SseEvent | None:
        """The event that the end of the stream left without its blank line, if any."""
        self._take(b"".join(self._partial))
        self._partial.clear()
        return self._dispatch()

    def _plain_newlines(self, read: bytes) -> bytes:
        if self._after_cr and read.startswith(b"\n"):
            read = read[1:]
            self._after_cr = False
        if b"\r" in read:
            self._after_cr = read.endswith(b"\r")
            return read.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if read:
            self._after_cr = False
        return read

    def _lines(self, head: bytes) -> list[bytes]:
        if self._partial:
            self._partial.append(head)
            head = b"".join(self._partial)
            self._partial.clear()
            self._held = sum(map(len, self._data))
        if not self._started:
            self._started = True
            head = head.removeprefix(_BOM)
        return head.split(b"\n")

    def _hold(self, piece: bytes) -> None:
        if piece:
            self._partial.append(piece)
            self._count(len(piece))

    def _count(self, size: int) -> None:
        self._held += size
        if self._held > self.max_event:
            raise WireError(FailureClass.OVERSIZE_EVENT, f"one event exceeds {self.max_event} bytes")

    def _take(self, line: bytes) -> SseEvent | None:
        if not line:
            return self._dispatch()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._add(value)
        elif not name:
            self.comments += 1
        elif name == b"event":
            self._name = value.decode("utf-8", "replace")
        elif name == b"error":
            self._name = "error"
            self._add(value)
        return None

    def _add(self, value: bytes) -> None:
        self._data.append(value)
        self._count(len(value))

    def _dispatch(self) -> SseEvent | None:
        name, self._name, self._held = self._name or "message", "", 0
        if not self._data:
            return None
        data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
        self._data.clear()
        return SseEvent(name, data)
