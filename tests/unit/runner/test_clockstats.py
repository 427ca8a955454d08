"""Spread, the client's own health, and the rule that calls a cell client-limited."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from dossier.runner.clockstats import Health, Meter, Spread, client_limits, closed_loop, spread
from dossier.wire.stream import Arrival


def test_no_p99_under_a_hundred_values():
    assert spread(range(99)).p99 is None
    assert spread(range(1, 101)) == Spread(100, 50, 99, 1, 100)


def test_nothing_measured_is_none_not_zero():
    assert spread([]) == Spread(0, None, None, None, None)


def lag(p99: float) -> Spread:
    return Spread(200, 0.1, p99, 0.0, p99)


WELL = Health(
    asked=64, peak=64, mean=63.0, loop_lag_ms=lag(1.0), chunks_per_read=1.0, gaps_under_1ms=0.0, cpu_s=1.0, wall_s=6.0
)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"loop_lag_ms": lag(10.1)}, "event-loop lag p99 10.1 ms"),
        ({"loop_lag_ms": Spread(50, 0.1, None, 0.0, 47.0)}, "event-loop lag p99 47.0 ms"),
        ({"loop_lag_ms": lag(6.0), "gaps_under_1ms": 0.2}, "20% of gaps are under 1 ms"),
        ({"peak": 60}, "60 streams in flight of 64"),
        ({"cpu_s": 5.5}, "92% of a core"),
    ],
    ids=["lag", "greatest lag when n is small", "bursts read late", "too few in flight", "core used up"],
)
def test_a_client_that_cannot_keep_up_is_named(change, words):
    [reason] = client_limits(replace(WELL, **change))
    assert words in reason


@pytest.mark.parametrize(
    "change",
    [{}, {"loop_lag_ms": lag(10.0)}, {"gaps_under_1ms": 0.9}, {"peak": 61}, {"loop_lag_ms": Spread(0, *[None] * 4)}],
    ids=["well", "at the limit", "a server that sends bursts", "nearly all in flight", "no lag seen"],
)
def test_a_client_that_keeps_up_is_not_limited(change):
    assert client_limits(replace(WELL, **change)) == ()


def test_health_counts_reads_and_gaps():
    def at(*stamps_ms: float) -> tuple[Arrival, ...]:
        return tuple(Arrival(int(stamp * 1e6), 1, 0, 0, None) for stamp in stamps_ms)

    async def main() -> Health:
        meter = Meter(asked=2)
        with meter.watching():
            await closed_loop(2, 5, lambda _: _fly(meter))
        return meter.health([at(0, 10, 10, 20), at(0, 0.5)])

    health = asyncio.run(main())
    assert (health.asked, health.peak) == (2, 2)
    assert health.chunks_per_read == pytest.approx(6 / 5)
    assert health.gaps_under_1ms == pytest.approx(2 / 4)


async def _fly(meter: Meter) -> None:
    with meter.flight():
        await asyncio.sleep(0)


def test_a_closed_loop_never_exceeds_its_streams_and_keeps_order():
    async def main() -> tuple[list[int], int]:
        running, peak = 0, 0

        async def one(index: int) -> int:
            nonlocal running, peak
            running += 1
            peak = max(peak, running)
            await asyncio.sleep(0.001 * (index % 3))
            running -= 1
            return index * index

        return await closed_loop(3, 10, one), peak

    results, peak = asyncio.run(main())
    assert results == [index * index for index in range(10)]
    assert peak == 3
