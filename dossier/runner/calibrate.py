"""Measure the reference server with the real client: what the instrument adds, at a given load.

Both clocks are one (see `wire.trace`), so a chunk's delay is the client's stamp minus the server's. Errors are
client minus truth: positive means that the client saw it late or long.
"""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dossier.runner.clockstats import Health, Meter, Spread, arrivals_of, client_limits, closed_loop, spread
from dossier.runner.reference_process import running
from dossier.runner.reference_server import Served
from dossier.runner.schedule import Schedule
from dossier.runner.script import MODEL
from dossier.wire.api import stream
from dossier.wire.client import Client, Limits, connect
from dossier.wire.decode import Protocol
from dossier.wire.loop import loop_name, run
from dossier.wire.stream import Expect, StreamOutcome

TTFT_LIMIT_MS = 10.0
TPOT_LIMIT = 0.01
PROMPT = " ".join(f"word{index}" for index in range(128))


@dataclass(frozen=True, slots=True)
class Calibration:
    """The instrument at one load.

    `ttft_error_ms` is the client's TTFT minus the server's (received to sent); it splits into the request's way
    (`request_leg_ms`, write to received) and the reply's (`chunk_delay_ms`, over all chunks). `tpot_error` is
    relative. `server_late_ms` says how far the server itself missed its schedule: no part of the errors.
    `limits` is empty, or says why a figure taken at this load is client-limited.
    """

    streams: int
    requests: int
    completed: int
    failures: Mapping[str, int]
    schedule: Schedule
    loop: str
    python: str
    cores: int
    ttft_error_ms: Spread
    tpot_error: Spread
    request_leg_ms: Spread
    chunk_delay_ms: Spread
    server_late_ms: Spread
    server_peak: int
    stale_retries: int
    health: Health
    limits: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain data; times in milliseconds, ratios as fractions."""
        return {**asdict(self), "schedule": self.schedule.model_dump(mode="json", exclude_defaults=True)}


def calibrate(streams: int, requests: int, schedule: Schedule | None = None) -> Calibration:
    """Start a reference server in its own process and measure it, closed loop. Raises StorageError, WireError."""
    plan = schedule or Schedule()
    with tempfile.TemporaryDirectory(prefix="dossier-") as folder:
        with running(Path(folder), plan) as server:
            outcomes, health = run(load(server.base_url, streams, requests))
        served = server.served()
    return summarise(streams, plan, outcomes, served, health)


def summarise(
    streams: int, schedule: Schedule, outcomes: Sequence[StreamOutcome], served: Mapping[str, Served], health: Health
) -> Calibration:
    """Match the client's streams (by index) with the server's log (by request id) and take the differences."""
    pairs = [
        (outcome, served[request_id(index)])
        for index, outcome in enumerate(outcomes)
        if outcome.failure is None and request_id(index) in served
    ]
    failures: dict[str, int] = {}
    for outcome in outcomes:
        if outcome.failure is not None:
            failures[outcome.failure.kind] = failures.get(outcome.failure.kind, 0) + 1
    ttft = spread(_ttft_error_ms(outcome, truth) for outcome, truth in pairs)
    tpot = spread(error for outcome, truth in pairs if (error := _tpot_error(outcome, truth)) is not None)
    peak = max((truth.open for truth in served.values()), default=0)
    return Calibration(
        streams=streams,
        requests=len(outcomes),
        completed=len(pairs),
        failures=failures,
        schedule=schedule,
        loop=loop_name(),
        python=platform.python_version(),
        cores=os.cpu_count() or 1,
        ttft_error_ms=ttft,
        tpot_error=tpot,
        request_leg_ms=spread((truth.received_ns - outcome.trace.start_ns) / 1e6 for outcome, truth in pairs),
        chunk_delay_ms=spread(delay for outcome, truth in pairs for delay in _delays_ms(outcome, truth)),
        server_late_ms=spread(late / 1e6 for _, truth in pairs for late in truth.late_ns),
        server_peak=peak,
        stale_retries=sum(outcome.trace.stale_retries for outcome in outcomes),
        health=health,
        limits=(*client_limits(health), *_errors_over(ttft, tpot)),
    )


def request_id(index: int) -> str:
    """The id under which request `index` is logged."""
    return f"calibrate-{index}"


async def load(base_url: str, streams: int, requests: int) -> tuple[list[StreamOutcome], Health]:
    """Put a closed loop on a reference server, after one warm-up; connections are opened ahead."""
    async with connect(base_url, proxy=None, limits=Limits(deadline_s=120.0, idle_s=30.0)) as client:
        await client.warm(streams)
        await _one(client, "warm-up")
        meter = Meter(streams)

        async def one(index: int) -> StreamOutcome:
            with meter.flight():
                return await _one(client, request_id(index))

        with meter.watching():
            outcomes = await closed_loop(streams, requests, one)
    return outcomes, meter.health(arrivals_of(outcomes))


async def _one(client: Client, name: str) -> StreamOutcome:
    body = {
        "model": MODEL,
        "messages": [{"role": "user", "content": PROMPT}],
        "stream_options": {"include_usage": True},
    }
    expect = Expect(frozenset({MODEL}), visible=False)
    return await stream(client, Protocol.CHAT, body, expect, (("X-Request-Id", name),))


def _ttft_error_ms(outcome: StreamOutcome, truth: Served) -> float:
    seen = outcome.arrivals[0].at_ns - outcome.trace.start_ns
    return (seen - (truth.sent_ns[0] - truth.received_ns)) / 1e6


def _tpot_error(outcome: StreamOutcome, truth: Served) -> float | None:
    true = truth.sent_ns[-1] - truth.sent_ns[0]
    seen = outcome.arrivals[-1].at_ns - outcome.arrivals[0].at_ns
    return seen / true - 1 if true > 0 else None


def _delays_ms(outcome: StreamOutcome, truth: Served) -> list[float]:
    pairs = zip(outcome.arrivals, truth.sent_ns, strict=True)
    return [(arrival.at_ns - sent) / 1e6 for arrival, sent in pairs]


def _errors_over(ttft: Spread, tpot: Spread) -> tuple[str, ...]:
    reasons: list[str] = []
    worst = ttft.p99 if ttft.p99 is not None else ttft.greatest
    if worst is None or worst > TTFT_LIMIT_MS:
        reasons.append(f"TTFT error {'unknown' if worst is None else f'{worst:.1f} ms at p99'}")
    if tpot.p50 is None or abs(tpot.p50) > TPOT_LIMIT:
        reasons.append(f"TPOT error {'unknown' if tpot.p50 is None else f'{tpot.p50:+.1%}'}")
    return tuple(reasons)
