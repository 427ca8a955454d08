"""Probes with parts and figures of their own in two arms, one of which leaks markers and forgets the beginning."""

from __future__ import annotations

from click.testing import CliRunner

from dossier.cli.check import check
from dossier.cli.run import run
from dossier.derive.gates import judge
from dossier.runner.record import record
from dossier.runner.reference_process import running
from dossier.runner.schedule import Schedule
from dossier.runner.script import MODEL
from dossier.runner.traits import Traits

PLAN = """schema: dossier/plan/v1
id: two
title: Two arms
subject: some-model
arms:
  baseline: {{base_url: {baseline}, model: {model}}}
  candidate: {{base_url: {candidate}, model: {model}}}
schedule: {{order: sequential, starts: 1}}
bounds: {{requests: 2000, tokens: 1000000, seconds: 100, request_seconds: 5, idle_seconds: 2}}
calibration: {{requests: 8}}
populations:
  - {{id: ladder, probe: needle, targets: [300, 900], depths: [0.1, 0.9], requests: 8}}
  - {{id: canary, probe: canary, requests: 12}}
  - {{id: steps, probe: steps, prompt_tokens: 64, output_tokens: 8, steps: [1, 2], each: 2, requests: 6}}
comparisons:
  - {{id: leaks, population: canary, metric: pass_rate}}
gates:
  - {{id: private, subject: candidate-canary, require: all passed}}
  - {{id: private-before, subject: baseline-canary, require: all passed}}
"""


def test_a_leaking_arm_fails_its_gate_and_the_other_does_not(tmp_path):
    """Every fifth reply of the candidate leaks; it sees 500 words, so half of the needles at 900 are lost."""
    schedule = Schedule(ttft_ms=2, gap_ms=0, tokens=16)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    with (
        running(tmp_path / "a", schedule, Traits(reads=True)) as good,
        running(tmp_path / "b", schedule, Traits(reads=True, leaks=5, sees=500)) as bad,
    ):
        (tmp_path / "plan.yaml").write_text(PLAN.format(baseline=good.base_url, candidate=bad.base_url, model=MODEL))
        arguments = [str(tmp_path / "plan.yaml"), "--journal", str(tmp_path / "run.jsonl"),
                     "--evidence", str(tmp_path / "evidence")]  # fmt: skip
        CliRunner().invoke(run, arguments, catch_exceptions=False)
    accepted = CliRunner().invoke(check, [str(tmp_path / "evidence")], catch_exceptions=False)
    assert accepted.exit_code == 0, accepted.output
    finding = record((tmp_path / "run.jsonl").read_bytes()).finding
    passed = {population.id: (population.passed, population.planned) for population in finding.populations}
    assert passed["baseline-ladder"] == (8, 8)
    assert passed["candidate-ladder"] == (6, 8)
    assert passed["candidate-ladder-900"] == (2, 4)
    kinds = {miss.kind for population in finding.populations if population.id == "candidate-canary"
             for miss in population.misses}  # fmt: skip
    assert kinds == {"foreign-marker"}
    verdicts = {gate.id: judge(gate, finding, lambda _: None).verdict.value for gate in finding.gates}
    assert verdicts == {"private": "fail", "private-before": "pass"}
