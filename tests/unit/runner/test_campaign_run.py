"""Campaigns live: servers started and stopped by the plan, resumed after a kill, and the baseline put back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from campaigns import PLANTED, free_port, leave_none_running
from click.testing import CliRunner
from runner_support import wait_for

from dossier.cli.check import check
from dossier.cli.run import run as run_command
from dossier.runner.journal import read_journal
from dossier.runner.record import record

PLAN = """schema: dossier/plan/v1
id: trial
title: A trial of two arms
subject: some-model
arms:
  baseline: {{base_url: "http://127.0.0.1:{port}/v1", model: planted, start: [{python}, planted.py, "{port}"]}}
  candidate: {{base_url: "http://127.0.0.1:{port}/v1", model: planted, start: [{python}, planted.py, "{port}", {how}]}}
schedule: {{order: ABBA, starts: 2}}
restore: {{arm: baseline}}
bounds: {{requests: 2000, tokens: 1000000, seconds: 100, request_seconds: 5, idle_seconds: 2}}
populations:
  - {{id: chat, probe: chat, requests: {requests}, exact: true}}
comparisons:
  - {{id: passes, population: chat, metric: pass_rate}}
gates:
  - {{id: candidate-whole, subject: candidate-chat, require: all passed}}
  - {{id: baseline-whole, subject: baseline-chat, require: all passed}}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the planted server; whatever the run leaves running is stopped."""
    (tmp_path / "planted.py").write_text(PLANTED.read_text())
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    leave_none_running(tmp_path / "run.jsonl")


def write_plan(folder, how="--as-is", requests=4):
    (folder / "python").symlink_to(sys.executable)
    text = PLAN.format(port=free_port(), python="./python", how=how, requests=requests)
    (folder / "plan.yaml").write_text(text)


ARGUMENTS = ["plan.yaml", "--journal", "run.jsonl", "--evidence", "evidence"]


def go(*more):
    return CliRunner().invoke(run_command, [*ARGUMENTS, *more], catch_exceptions=False)


def killed_in_the_second_block():
    """Run in a process of its own, and kill that while the candidate is measured."""
    code = "from dossier.cli.run import run; run()"
    process = subprocess.Popen([sys.executable, "-c", code, *ARGUMENTS], stderr=subprocess.DEVNULL)
    wait_for(Path("run.jsonl"), b'"population":"candidate-1-chat","phase":"measured","index":3')
    process.kill()
    process.wait()


def finding():
    return record(Path("run.jsonl").read_bytes()).finding


def entries(event):
    return read_journal(Path("run.jsonl").read_bytes()).of(event)


def test_each_arm_is_started_twice_in_turned_order_and_the_baseline_stays(folder):
    write_plan(folder)
    result = go()
    assert result.exit_code == 0, result.output
    started = [(entry["arm"], entry["start"]) for entry in entries("server-started")]
    assert started == [("baseline", 1), ("candidate", 1), ("candidate", 2), ("baseline", 2)]
    assert [entry["arm"] for entry in entries("server-stopped")] == ["baseline", "candidate", "candidate"]
    found = finding()
    assert [(p.id, p.passed, p.planned) for p in found.populations if p.part_of is None] == [
        ("baseline-chat", 8, 8), ("candidate-chat", 8, 8),
    ]  # fmt: skip
    assert {arm: side.server_starts for arm, side in found.arms.items()} == {"baseline": 2, "candidate": 2}
    assert found.restoration.identity_equal is True
    assert next((c.what, c.passed, c.planned) for c in found.restoration.checks) == ("direct preflight", 2, 2)
    assert found.decisions == ()
    checked = CliRunner().invoke(check, ["--no-cache", "evidence"])
    assert checked.exit_code == 0, checked.output


def test_prompts_of_one_index_are_the_same_in_both_arms_and_differ_between_starts(folder):
    (folder / "heard.txt").touch()
    write_plan(folder, requests=2)
    text = (folder / "plan.yaml").read_text()
    cell = "  - {id: c1, probe: cell, prompt_tokens: 40, output_tokens: 2, requests: 2, output: up-to}\n"
    (folder / "plan.yaml").write_text(text.replace("comparisons:", f"{cell}comparisons:"))
    go()
    heard = [line for line in (folder / "heard.txt").read_text().splitlines() if "Continue this list" in line]
    measured = [line.partition(" ")[2] for line in heard][-8:]
    assert measured[:2] == measured[2:4]
    assert measured[4:6] == measured[6:8]
    assert not set(measured[:2]) & set(measured[4:6])


def test_a_server_that_dies_fails_its_gate_and_the_run_goes_on(folder):
    write_plan(folder, how="--die-after, '5'")
    assert go().exit_code == 1
    found = finding()
    by_id = {population.id: population for population in found.populations}
    assert by_id["baseline-chat"].passed == 8
    assert by_id["candidate-chat"].passed < 8
    assert found.restoration.identity_equal is True
    assert found.completion == "concluded"


def test_a_candidate_that_never_starts_leaves_the_baseline_and_says_why(folder):
    write_plan(folder, how="--no-such-option")
    assert go().exit_code == 1
    found = finding()
    assert {failure.id for failure in found.failures} == {"server-lost-1", "server-lost-2"}
    assert "no-such-option" in found.failures[0].excerpt
    assert found.restoration.identity_equal is True
    gates = {gate.id: gate for gate in found.gates}
    assert gates["candidate-whole"].not_run is not None
    assert gates["baseline-whole"].require is not None


def test_an_identity_that_changes_voids_that_block_alone(folder):
    write_plan(folder, how="--other-after, '4'")
    go()
    found = finding()
    by_id = {population.id: population for population in found.populations}
    assert by_id["candidate-1-chat"].excluded.reason == "invalid-run"
    assert by_id["baseline-1-chat"].excluded is None
    assert by_id["baseline-chat"].passed == 8
    assert found.completion == "concluded"


def test_a_killed_run_goes_on_where_it_was_with_the_server_that_it_left(folder):
    write_plan(folder, how="--slow, '0.1'", requests=12)
    killed_in_the_second_block()
    assert entries("restoration") == []
    result = go("--resume")
    assert result.exit_code == 0, result.output
    keys = [(entry["population"], entry["index"]) for entry in entries("sample")]
    assert len(keys) == len(set(keys)) == 48
    started = [(entry["arm"], entry["start"]) for entry in entries("server-started")]
    assert started == [("baseline", 1), ("candidate", 1), ("candidate", 2), ("baseline", 2)]
    assert finding().restoration.identity_equal is True


def test_after_a_kill_the_baseline_can_be_put_back_without_measuring_more(folder):
    write_plan(folder, how="--slow, '0.1'", requests=12)
    killed_in_the_second_block()
    before = len(entries("sample"))
    go("--resume", "--restore")
    assert len(entries("sample")) == before
    (put,) = entries("restoration")
    assert put["identity"] == []
    assert [entry["arm"] for entry in entries("server-started")][-1] == "baseline"
    assert [entry["arm"] for entry in entries("server-stopped")][-1] == "candidate"
