"""The facts of one exchange, kept even when it fails.

Clock: every `*_ns` here is `time.perf_counter_ns()` of this process. On Linux and macOS it is the system-wide
monotonic clock, so two processes of one host may compare their stamps; it has no relation to the time of day.
A read is stamped first thing in `data_received`, before any parsing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol


@dataclass(slots=True)
class Trace:
    """What happened to one request, filled in while it happens.

    `start_ns` is just before the request was written, restarted by a retry or a redirect; connecting is apart
    (`connect_ns` is a duration, 0 on a reused connection). `reads` counts socket reads, `received` their bytes.
    `left_open` says that the server never ended the body after its terminal event.
    """

    start_ns: int = 0
    first_ns: int | None = None
    headers_ns: int | None = None
    last_ns: int | None = None
    end_ns: int = 0
    connect_ns: int = 0
    reads: int = 0
    received: int = 0
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    reused: bool = False
    stale_retries: int = 0
    redirects: int = 0
    proxied: bool = False
    left_open: bool = False

    def restart(self, now_ns: int) -> None:
        """Begin again on another connection: nothing of the former attempt is kept but the counts."""
        self.start_ns, self.end_ns = now_ns, 0
        self.first_ns = self.headers_ns = self.last_ns = None
        self.reads = self.received = 0
        self.status = None
        self.headers = {}


class Receiver(Protocol):
    """Takes a reply as it comes."""

    def begin(self, trace: Trace) -> None:
        """The final status and headers are in `trace`."""

    def body(self, at_ns: int, data: bytes) -> bool:
        """Take body bytes, as framed; return True once nothing more is needed. Raises WireError to stop."""
