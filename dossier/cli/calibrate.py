"""`dossier calibrate`: what the instrument itself adds to a measurement on this machine."""

from __future__ import annotations

import json

import click

from dossier.runner.calibrate import Calibration
from dossier.runner.calibrate import calibrate as measure
from dossier.runner.clockstats import Spread


@click.command()
@click.option("--streams", type=click.IntRange(1, 4096), default=16, show_default=True, help="Streams at once.")
@click.option(
    "--requests",
    type=click.IntRange(1, 100_000),
    default=None,
    help="Requests in all [default: 4 a stream, 128 at least].",
)
@click.option("--json", "as_json", is_flag=True, help="Print the whole result as JSON.")
def calibrate(streams: int, requests: int | None, *, as_json: bool) -> None:
    """Measure a reference server of exactly known timing, and report this client's own error.

    Exits with 1 when the client is the limit at this load: figures taken so support no claim.
    """
    result = measure(streams, requests if requests is not None else max(128, 4 * streams))
    click.echo(json.dumps(result.to_json(), indent=2) if as_json else _report(result))
    if result.limits or result.completed < result.requests:
        raise SystemExit(1)


def _report(result: Calibration) -> str:
    health = result.health
    lines = [
        f"{result.completed} of {result.requests} streams, {result.streams} at once",
        f"server saw       {result.server_peak} at once; {result.loop} on {result.cores} cores",
        f"TTFT error       {_ms(result.ttft_error_ms)}",
        f"TPOT error       {_percent(result.tpot_error)}",
        f"chunk delay      {_ms(result.chunk_delay_ms)}",
        f"request leg      {_ms(result.request_leg_ms)}",
        f"server lateness  {_ms(result.server_late_ms)}",
        f"loop lag         {_ms(health.loop_lag_ms)}",
        f"client CPU       {health.cpu_s:.2f} s in {health.wall_s:.2f} s",
    ]
    lines += [f"failed: {count} {kind}" for kind, count in sorted(result.failures.items())]
    lines += [f"client-limited: {reason}" for reason in result.limits]
    return "\n".join(lines)


def _ms(spread: Spread) -> str:
    return _named(spread, "{:.2f} ms")


def _percent(spread: Spread) -> str:
    return _named(spread, "{:+.2%}")


def _named(spread: Spread, form: str) -> str:
    values = {"p50": spread.p50, "p99": spread.p99, "max": spread.greatest}
    return ", ".join(f"{name} {'unknown' if value is None else form.format(value)}" for name, value in values.items())
