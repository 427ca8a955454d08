"""Runs that are killed, interrupted, hung or left alone: what was whole stays, once, and nothing waits for ever."""

from __future__ import annotations

import contextlib
import random
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from runner_support import go, plan_text, wait_for

from dossier.runner.journal import read_journal
from dossier.runner.record import record
from dossier.runner.reference_process import running
from dossier.runner.schedule import Schedule
from dossier.runner.state import state_of

# Kills


def start(folder, *more):
    code = "from dossier.cli.run import run; run()"
    command = [sys.executable, "-c", code, str(folder / "plan.yaml"), "--journal", str(folder / "run.jsonl"),
               "--evidence", str(folder / "evidence"), *more]  # fmt: skip
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def samples(path):
    entries = read_journal(path.read_bytes()).entries
    return [(e["population"], e["phase"], e["index"], e["at"]) for e in entries if e["event"] == "sample"]


def asking(path, size):
    """Has the session that found the journal at this size sent a request?"""
    return path.exists() and b'"event":"sent"' in path.read_bytes()[size:]


def struck(folder, draw, *, while_asking):
    """Start or go on, and kill -9: at any moment, or once requests are under way. What the kill hit, and left."""
    path = folder / "run.jsonl"
    size = path.stat().st_size if path.exists() else 0
    process = start(folder, *(["--resume"] if size else []))
    until = time.monotonic() + 60
    while while_asking and process.poll() is None and time.monotonic() < until and not asking(path, size):
        time.sleep(0.01)
    time.sleep(draw.uniform(0, 0.3 if while_asking else 1.5))
    process.kill()
    process.communicate()
    return process.returncode, asking(path, size), samples(path) if path.exists() else []


@pytest.mark.parametrize("kills", [6, pytest.param(200, marks=pytest.mark.live)])
def test_kills_at_random_moments_lose_no_completed_request_and_repeat_none(kills, tmp_path):
    """Every kill hits a run that goes on; what was whole before it stands in the finished journal, once."""
    requests, draw = 30 * kills, random.Random(7)
    populations = (
        f"{{id: chat, probe: chat, requests: {requests}, concurrency: 4}}",
        f"{{id: streaming, probe: streaming, requests: {requests}, concurrency: 4}}",
    )
    text = plan_text("URL", populations).replace("requests: 2000", "requests: 1000000")
    with running(tmp_path, Schedule(ttft_ms=20, gap_ms=1, tokens=20)) as served:
        (tmp_path / "plan.yaml").write_text(text.replace("URL", served.base_url))
        blows = [struck(tmp_path, draw, while_asking=number % 2 == 0) for number in range(kills)]
        process = start(tmp_path, "--resume")
        _, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors.decode()
    assert [code for code, _, _ in blows] == [-signal.SIGKILL] * kills
    asked = sum(was_asking for _, was_asking, _ in blows)
    print(f"{kills} kills hit a run that went on, {asked} of them after its session had sent requests")  # noqa: T201
    assert asked >= kills // 3
    done = samples(tmp_path / "run.jsonl")
    for _, _, earlier in blows:
        assert done[: len(earlier)] == earlier
    keys = [key[:3] for key in done]
    assert len(keys) == len(set(keys)) == 2 * requests
    finding = record((tmp_path / "run.jsonl").read_bytes()).finding
    assert [population.passed for population in finding.populations] == [requests, requests]


@pytest.mark.parametrize(("times", "least"), [(1, 1), (2, 0)])
def test_an_interruption_ends_after_what_is_in_flight_and_two_end_at_once(times, least, tmp_path):
    text = plan_text("URL", ("{id: streaming, probe: streaming, requests: 200, concurrency: 2}",))
    with running(tmp_path, Schedule(ttft_ms=300, gap_ms=1, tokens=20)) as served:
        (tmp_path / "plan.yaml").write_text(text.replace("URL", served.base_url))
        process = start(tmp_path)
        path = tmp_path / "run.jsonl"
        wait_for(path, b'"event":"sent"')
        for _ in range(times):
            process.send_signal(signal.SIGINT)
            time.sleep(0.05)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 130, errors.decode()
    entries = read_journal(path.read_bytes()).entries
    assert entries[-1]["event"] == "stop"
    assert entries[-1]["why"] == "interrupted"
    state = state_of(entries)
    assert len(state.sampled) >= least
    assert (len(state.sent) == 0) == (times == 1)


def test_a_cell_that_was_interrupted_goes_on_and_gives_no_rate_of_a_batch(tmp_path):
    text = plan_text("URL", ("{id: c1, probe: cell, prompt_tokens: 100, output_tokens: 8, requests: 40}",))
    with running(tmp_path, Schedule(ttft_ms=30, gap_ms=1, tokens=20)) as served:
        (tmp_path / "plan.yaml").write_text(text.replace("URL", served.base_url))
        process = start(tmp_path)
        path = tmp_path / "run.jsonl"
        wait_for(path, b'"phase":"measured","index":5')
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        assert not (tmp_path / "evidence").exists()
        process = start(tmp_path, "--resume")
        _, errors = process.communicate(timeout=60)
    assert process.returncode in {0, 1}, errors.decode()
    keys = [key[:3] for key in samples(path)]
    assert len(keys) == len(set(keys)) == 40
    finding = record(path.read_bytes()).finding
    metrics = {measurement.metric for measurement in finding.measurements}
    assert "ttft_any" in metrics
    assert not metrics & {"throughput", "request_throughput"}
    assert "interrupted" in finding.populations[0].note


# Nobody there


def test_a_lost_server_stops_the_run_and_going_on_drops_and_repeats_nothing(tmp_path):
    """It is killed in the middle and started again on its port: what was in flight may fail, nothing after it does."""
    text = plan_text("URL", ("{id: streaming, probe: streaming, requests: 60, concurrency: 2}",))
    with running(tmp_path, Schedule(ttft_ms=20, gap_ms=1, tokens=20)) as served:
        (tmp_path / "plan.yaml").write_text(text.replace("URL", served.base_url))
        process = start(tmp_path)
        path = tmp_path / "run.jsonl"
        wait_for(path, b'"measured","index":12')
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1, errors.decode()
    before = samples(path)
    stop = read_journal(path.read_bytes()).entries[-1]
    assert "cannot be reached" in stop["why"]
    assert str(served.port) not in path.read_text()
    assert 0 < len(before) < 60
    again = [sys.executable, "-m", "dossier.runner.reference_process", "--port", str(served.port), "--log",
             str(tmp_path / "again.jsonl"), "--schedule", '{"ttft_ms": 20, "gap_ms": 1, "tokens": 20}']  # fmt: skip
    with subprocess.Popen(again) as server:
        try:
            while not (tmp_path / "again.jsonl").exists() or not (tmp_path / "again.jsonl").read_bytes():
                time.sleep(0.02)
            _, errors = start(tmp_path, "--resume").communicate(timeout=60)
        finally:
            server.kill()
    done = samples(path)
    assert done[: len(before)] == before
    keys = [key[:3] for key in done]
    assert len(keys) == len(set(keys)) == 60
    finding = record(path.read_bytes()).finding
    assert finding.completion == "concluded"
    assert {miss.kind for miss in finding.populations[0].misses} <= {"disconnected"}
    assert finding.populations[0].failed <= 2


@pytest.mark.parametrize("fault", ["hang", "drip", "silent"])
def test_a_server_that_never_ends_cannot_hang_the_run(fault, tmp_path):
    text = plan_text("URL", ("{id: streaming, probe: streaming, requests: 2, concurrency: 2}",))
    text = text.replace("request_seconds: 5, idle_seconds: 2", "request_seconds: 1, idle_seconds: 1")
    with running(tmp_path, Schedule(ttft_ms=1, gap_ms=1, tokens=8, fault=fault)) as stuck:
        (tmp_path / "plan.yaml").write_text(text.replace("URL", stuck.base_url))
        result = go(tmp_path)
    assert result.exit_code == 1
    finding = record((tmp_path / "run.jsonl").read_bytes()).finding
    assert {miss.kind for miss in finding.populations[0].misses} <= {"deadline", "idle-timeout"}
    assert finding.populations[0].failed == 2


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\nX-Drip: "], ids=["silent", "dripping headers"])
def test_a_server_that_never_answers_anything_cannot_hang_the_run_past_its_bound(answer, tmp_path):
    text = plan_text("URL").replace("seconds: 120, request_seconds: 5", "seconds: 2, request_seconds: 600")
    with stuck_server(answer) as url:
        (tmp_path / "plan.yaml").write_text(text.replace("URL", url).replace("idle_seconds: 2", "idle_seconds: 600"))
        began = time.monotonic()
        result = go(tmp_path)
        took = time.monotonic() - began
    assert result.exit_code == 1
    assert took < 20
    assert "bound of 2 s is reached" in result.stderr


@contextlib.contextmanager
def stuck_server(answer):
    """Takes every connection, says `answer`, then one letter every tenth of a second if it said anything."""

    def serve():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=drip, args=(connection,), daemon=True).start()

    def drip(connection):
        with contextlib.suppress(OSError), connection:
            connection.recv(65_536)
            connection.sendall(answer)
            while not over.wait(0.1):
                connection.sendall(b"x" if answer else b"")

    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        finally:
            over.set()
            listener.shutdown(socket.SHUT_RDWR)
