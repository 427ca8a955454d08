"""The client's own health while it measures: loop lag, bursts, delivered concurrency, CPU; and the rule on it."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeVar

from dossier.stats import nearest_rank
from dossier.wire.stream import Arrival, StreamOutcome

T = TypeVar("T")

P99_MINIMUM = 100
LAG_LIMIT_MS = 10.0
BURST_LAG_MS = 5.0
BURST_SHARE = 0.05
DELIVERED_SHARE = 0.95
CPU_SHARE = 0.9
_LAG_PERIOD_S = 0.005


@dataclass(frozen=True, slots=True)
class Spread:
    """Nearest-rank p50 and p99, least and greatest of `n` values; p99 is None under 100 values."""

    n: int
    p50: float | None
    p99: float | None
    least: float | None
    greatest: float | None


@dataclass(frozen=True, slots=True)
class Health:
    """How well the client kept up, in a form that needs no knowledge of the server.

    `loop_lag_ms` is how late a 5 ms timer fired; `chunks_per_read` output chunks for each read that held any;
    `gaps_under_1ms` a share of all gaps; `peak` and `mean` the streams in flight; `cpu_s` of this process, during
    the load only.
    """

    asked: int
    peak: int
    mean: float
    loop_lag_ms: Spread
    chunks_per_read: float | None
    gaps_under_1ms: float | None
    cpu_s: float
    wall_s: float


def spread(values: Iterable[float]) -> Spread:
    """Summarise values; all None when there are none."""
    ranked = sorted(values)
    if not ranked:
        return Spread(0, None, None, None, None)
    p50, p99 = (ranked[nearest_rank(len(ranked), percent) - 1] for percent in (50, 99))
    return Spread(len(ranked), p50, p99 if len(ranked) >= P99_MINIMUM else None, ranked[0], ranked[-1])


def client_limits(health: Health) -> tuple[str, ...]:
    """Why a cell is client-limited; empty when the client kept up. Such a cell supports no claim."""
    lag = health.loop_lag_ms.p99 if health.loop_lag_ms.p99 is not None else health.loop_lag_ms.greatest
    reasons: list[str] = []
    if lag is not None and lag > LAG_LIMIT_MS:
        reasons.append(f"event-loop lag p99 {lag:.1f} ms exceeds {LAG_LIMIT_MS:g} ms")
    elif lag is not None and lag > BURST_LAG_MS and (health.gaps_under_1ms or 0.0) > BURST_SHARE:
        reasons.append(f"{health.gaps_under_1ms:.0%} of gaps are under 1 ms while the event loop lags {lag:.1f} ms")
    if health.peak < DELIVERED_SHARE * health.asked:
        reasons.append(f"{health.peak} streams in flight of {health.asked} asked for")
    if health.cpu_s > CPU_SHARE * health.wall_s:
        reasons.append(f"the client used {health.cpu_s / health.wall_s:.0%} of a core")
    return tuple(reasons)


@dataclass(slots=True)
class Meter:
    """Watches one load; wrap each request in `flight()` and read `health` afterwards."""

    asked: int
    _now: int = 0
    _peak: int = 0
    _flown_ns: int = 0
    _lags_ms: list[float] = field(default_factory=list)
    _timer: asyncio.TimerHandle | None = None
    _due: float = 0.0
    _began_ns: int = 0
    _cpu_ns: int = 0

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Measure from here to the end of the block; the garbage of the set-up is put aside first."""
        gc.collect()
        gc.freeze()
        self._began_ns, self._cpu_ns = time.perf_counter_ns(), time.process_time_ns()
        self._arm()
        try:
            yield
        finally:
            if self._timer is not None:
                self._timer.cancel()
            self._began_ns = time.perf_counter_ns() - self._began_ns
            self._cpu_ns = time.process_time_ns() - self._cpu_ns
            gc.unfreeze()

    @contextmanager
    def flight(self) -> Iterator[None]:
        """One request is under way."""
        self._now += 1
        self._peak = max(self._peak, self._now)
        began = time.perf_counter_ns()
        try:
            yield
        finally:
            self._now -= 1
            self._flown_ns += time.perf_counter_ns() - began

    def health(self, streams: Iterable[Sequence[Arrival]]) -> Health:
        """The health over the watched block, with the arrivals of every stream in it."""
        gaps, chunks, reads = 0, 0, 0
        short = 0
        for arrivals in streams:
            chunks += len(arrivals)
            reads += len({arrival.at_ns for arrival in arrivals})
            steps = [later.at_ns - sooner.at_ns for sooner, later in pairwise(arrivals)]
            gaps += len(steps)
            short += sum(step < 1_000_000 for step in steps)
        return Health(
            asked=self.asked,
            peak=self._peak,
            mean=self._flown_ns / self._began_ns if self._began_ns else 0.0,
            loop_lag_ms=spread(self._lags_ms),
            chunks_per_read=chunks / reads if reads else None,
            gaps_under_1ms=short / gaps if gaps else None,
            cpu_s=self._cpu_ns / 1e9,
            wall_s=self._began_ns / 1e9,
        )

    def _arm(self) -> None:
        self._due = time.perf_counter() + _LAG_PERIOD_S
        self._timer = asyncio.get_running_loop().call_later(_LAG_PERIOD_S, self._tick)

    def _tick(self) -> None:
        self._lags_ms.append(max(0.0, (time.perf_counter() - self._due) * 1e3))
        self._arm()


async def closed_loop(streams: int, requests: int, one: Callable[[int], Awaitable[T]]) -> list[T]:
    """Run `one(index)` for every index, `streams` at a time, the next as soon as one ends; in index order."""
    indices = iter(range(requests))
    results: dict[int, T] = {}

    async def worker() -> None:
        for index in indices:
            results[index] = await one(index)

    await asyncio.gather(*(worker() for _ in range(min(streams, requests))))
    return [results[index] for index in range(requests)]


def arrivals_of(outcomes: Iterable[StreamOutcome]) -> list[tuple[Arrival, ...]]:
    """The arrivals of the streams that count."""
    return [outcome.arrivals for outcome in outcomes if outcome.failure is None]
