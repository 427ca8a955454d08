"""Calibration: the differences between two clocks' stamps, and one true run in two processes."""

from __future__ import annotations

import json

from click.testing import CliRunner

from dossier.cli.calibrate import calibrate as command
from dossier.runner.calibrate import calibrate, request_id, summarise
from dossier.runner.clockstats import Health, spread
from dossier.runner.reference_server import Served
from dossier.runner.schedule import Schedule
from dossier.wire.errors import Failure, FailureClass
from dossier.wire.events import Named, Usage
from dossier.wire.stream import Arrival, StreamOutcome
from dossier.wire.trace import Trace

MS = 1_000_000
HEALTH = Health(1, 1, 1.0, spread([0.1]), 1.0, 0.0, 0.1, 1.0)


def outcome(start_ms: float, *arrivals_ms: float, failure: Failure | None = None) -> StreamOutcome:
    arrivals = tuple(Arrival(int(at * MS), 1, 0, 0, None) for at in arrivals_ms)
    trace = Trace(start_ns=int(start_ms * MS), status=200)
    done = Usage(1, len(arrivals))
    return StreamOutcome(failure, trace, arrivals, "x", "", (), "stop", "[DONE]", done, Named(), 1, 0, ())


def served(index: int, received_ms: float, *sent_ms: float) -> Served:
    stamps = [int(at * MS) for at in sent_ms]
    return Served(request_id(index), "/chat/completions", int(received_ms * MS), 1, stamps, [0] * len(stamps), 0, True)


def test_errors_are_client_minus_truth():
    """Written at 0, received at 1, sent at 101 and 201, seen at 102 and 204: TTFT 102 for 100, span 102 for 100."""
    truth = {request_id(0): served(0, 1, 101, 201)}
    result = summarise(1, Schedule(), [outcome(0, 102, 204)], truth, HEALTH)
    assert result.ttft_error_ms.p50 == 2.0
    assert result.request_leg_ms.p50 == 1.0
    assert (result.chunk_delay_ms.least, result.chunk_delay_ms.greatest) == (1.0, 3.0)
    assert result.tpot_error.p50 == 102 / 100 - 1
    assert result.limits == ("TPOT error +2.0%",)


def test_failures_are_counted_by_class_and_feed_nothing():
    broken = outcome(0, 500, failure=Failure(FailureClass.TRUNCATED, "cut"))
    truth = {request_id(0): served(0, 0, 1, 2), request_id(1): served(1, 0, 10, 20)}
    result = summarise(1, Schedule(), [broken, outcome(0, 10, 20)], truth, HEALTH)
    assert (result.completed, result.requests, result.failures) == (1, 2, {"truncated": 1})
    assert result.ttft_error_ms.n == 1


def test_nothing_completed_is_unknown_and_limited():
    result = summarise(1, Schedule(), [], {}, HEALTH)
    assert result.ttft_error_ms.p50 is None
    assert result.limits == ("TTFT error unknown", "TPOT error unknown")


def test_a_true_run_in_two_processes_matches_every_stream():
    result = calibrate(4, 12, Schedule(ttft_ms=10, gap_ms=2, tokens=5))
    assert (result.completed, result.requests, dict(result.failures)) == (12, 12, {})
    assert (result.server_peak, result.health.peak) == (4, 4)
    assert result.chunk_delay_ms.n == 12 * 5
    assert result.chunk_delay_ms.least >= 0
    assert json.loads(json.dumps(result.to_json()))["schedule"] == {"ttft_ms": 10.0, "gap_ms": 2.0, "tokens": 5}


def test_the_command_reports_as_text_and_as_json():
    text = CliRunner().invoke(command, ["--streams", "2", "--requests", "2"])
    assert "2 of 2 streams, 2 at once" in text.output
    assert "TTFT error" in text.output
    data = CliRunner().invoke(command, ["--streams", "1", "--requests", "1", "--json"])
    assert json.loads(data.output)["completed"] == 1
