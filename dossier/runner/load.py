"""How requests are put on a server: closed (so many at once) or open (each at its scheduled time), and stopped."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class Halt:
    """Whether to go on. Asked once: what is in flight ends, nothing new starts. Asked twice: all ends now."""

    reason: str | None = None
    main: asyncio.Task[None] | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def ask(self, reason: str) -> None:
        """Stop, or stop now when it was asked before."""
        if self.reason is not None:
            self.at_once()
        self.reason = self.reason or reason

    def at_once(self) -> None:
        """End what is in flight, or the run's own task (`main`) where that is between populations."""
        for task in self._tasks or ([self.main] if self.main is not None else []):
            task.cancel()

    async def run(self, workers: Iterable[Awaitable[None]]) -> None:
        """Run workers to their end, or until a halt at once; the first error of one ends the others."""
        self._tasks = {asyncio.ensure_future(worker) for worker in workers}
        if not self._tasks:
            return
        try:
            done, pending = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            for task in self._tasks:
                task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
        tasks, self._tasks = self._tasks, set()
        for task in tasks & done:
            if not task.cancelled() and (error := task.exception()) is not None:
                raise error


async def closed(
    indices: Sequence[int], concurrency: int, one: Callable[[int, int | None], Awaitable[None]], halt: Halt
) -> None:
    """`one(index, None)` for every index, so many at a time, the next as soon as one ends."""
    waiting = iter(indices)

    async def worker() -> None:
        for index in waiting:
            if halt.reason is not None:
                return
            await one(index, None)

    await halt.run(worker() for _ in range(min(concurrency, len(indices))))


async def scheduled(
    due: Sequence[tuple[int, float]], most: int, one: Callable[[int, int | None], Awaitable[None]], halt: Halt
) -> None:
    """`one(index, due_ns)` at each index's due second, whatever earlier ones do; at most `most` in flight.

    `due_ns` is on the clock of `time.perf_counter_ns`: a client or a bound that sends later than that shows there.
    """
    began = time.perf_counter_ns()
    slots = asyncio.Semaphore(most)

    async def at(index: int, due_s: float) -> None:
        await asyncio.sleep(max(0.0, due_s - (time.perf_counter_ns() - began) / 1e9))
        async with slots:
            if halt.reason is None:
                await one(index, began + round(due_s * 1e9))

    await halt.run(at(index, due_s) for index, due_s in due)
