"""Parsing in small slices, so that reads are stamped on arrival however much there is to parse."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

SLICE_NS = 1_000_000


@dataclass(slots=True)
class Pump:
    """Runs queued work for a millisecond at most, then lets the event loop look at its sockets again.

    When hundreds of streams are readable at once, parsing each as it is read would stamp the last one late by the
    parsing of all others.
    """

    _queue: deque[Callable[[], None]] = field(default_factory=deque)
    _scheduled: bool = False

    def add(self, work: Callable[[], None]) -> None:
        """Run `work` soon, after what was queued before it."""
        self._queue.append(work)
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._run)

    def _run(self) -> None:
        until = time.perf_counter_ns() + SLICE_NS
        while self._queue and time.perf_counter_ns() < until:
            self._queue.popleft()()
        if self._queue:
            asyncio.get_running_loop().call_soon(self._run)
        else:
            self._scheduled = False
