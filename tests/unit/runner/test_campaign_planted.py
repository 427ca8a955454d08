"""Planted effects, live: one arm has a fault, and the campaign says which, where, and nothing of the other arm.

Effects on speed are drawn by seed in test_campaign.py: on a loaded machine a live one would say more of the machine.
"""

from __future__ import annotations

import math
import random
import sys
from pathlib import Path

import pytest
from campaigns import PLANTED, free_port, leave_none_running
from click.testing import CliRunner
from simulated import Simulated, plan, timed, verdicts

from dossier.cli.check import check
from dossier.cli.run import run
from dossier.model.vocabulary import Exclusion
from dossier.runner.record import record

PLAN = """schema: dossier/plan/v1
id: planted
title: A fault is planted
subject: some-model
arms:
  baseline: {{base_url: "http://127.0.0.1:{port}/v1", model: planted, start: {start}{sound}]}}
  candidate: {{base_url: "http://127.0.0.1:{port}/v1", model: planted, start: {start}{planted}]}}
schedule: {{order: sequential, starts: 1}}
restore: {{arm: baseline}}
calibration: {{requests: 8}}
bounds: {{requests: 2000, tokens: 1000000, seconds: 100, request_seconds: 5, idle_seconds: 2}}
populations:
  - {{id: turnover, probe: canary, words: 8, requests: 6}}
  - {{id: shared, probe: cell, prompt_tokens: 60, output_tokens: 2, requests: 4, output: up-to, cache: shared,
     shared_tokens: 20}}
comparisons:
  - {{id: hits, population: shared, metric: prefix_hit_rate, kind: difference}}
gates:
  - {{id: candidate-strict, subject: candidate-turnover, require: all passed}}
  - {{id: baseline-strict, subject: baseline-turnover, require: all passed}}
  - {{id: cache-kept, subject: hits, require: '> -5 points'}}
"""
SOUND = {"candidate-strict": "pass", "baseline-strict": "pass", "cache-kept": "pass"}


def undisturbed(folder, monkeypatch, planted):
    """As `measured`; where other work on this machine held the client up, which excludes a cell by rule, once more."""
    for attempt in ("first", "second", "third"):
        (folder / attempt).mkdir()
        finding = measured(folder / attempt, monkeypatch, planted)
        excluded = {p.excluded.reason for p in finding.populations if p.excluded is not None}
        if Exclusion.CLIENT_LIMITED not in excluded:
            break
    return finding


def measured(folder, monkeypatch, planted):
    """The finding of a campaign whose candidate has a fault; what it wrote passes the checks."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("DOSSIER_CACHE", "off")
    Path("planted.py").write_text(PLANTED.read_text())
    Path("python").symlink_to(sys.executable)
    port = free_port()
    start = f'[./python, planted.py, "{port}", '
    text = PLAN.format(port=port, start=start, sound='--cached, "80"', planted=planted)
    Path("plan.yaml").write_text(text)
    try:
        CliRunner().invoke(run, ["plan.yaml", "--journal", "run.jsonl"], catch_exceptions=False)
    finally:
        leave_none_running(Path("run.jsonl"))
    checked = CliRunner().invoke(check, ["evidence"])
    assert checked.exit_code == 0, checked.output
    return record(Path("run.jsonl").read_bytes()).finding


@pytest.mark.parametrize(
    ("planted", "failed", "kinds"),
    [
        ('--cached, "80"', {}, set()),
        (
            '--cached, "80", --leak-after, "3"',
            {"candidate-strict": "fail", "cache-kept": "not-run"},
            {"foreign-marker"},
        ),
        ('--cached, "80", --truncate-after, "3"', {"candidate-strict": "fail"}, {"extra-words"}),
        ('--cached, "0"', {"cache-kept": "fail"}, set()),
        ('--cached, "80", --die-after, "3"', {"candidate-strict": "fail", "cache-kept": "not-run"}, {"connect"}),
    ],
    ids=["nothing", "a leaked marker", "truncation", "cache off", "a server that dies"],
)
def test_a_fault_in_one_arm_fails_its_gate_and_no_other(tmp_path, monkeypatch, planted, failed, kinds):
    """A leak makes the answers of the cell too long as well, so that its figures are compared no more."""
    finding = undisturbed(tmp_path, monkeypatch, planted)
    assert verdicts(finding) == {**SOUND, **failed}
    missed = {miss.kind for p in finding.populations if p.id.startswith("candidate") for miss in p.misses}
    assert kinds <= missed
    assert not [miss for p in finding.populations if p.id.startswith("baseline") for miss in p.misses]
    assert finding.restoration.identity_equal is True


def test_drift_in_one_arm_is_shown_in_that_arm_alone():
    """A soak of 60 requests a second apart: the candidate's time to first output grows by 0.2 % each."""
    draw = random.Random(11)

    def sample(instance, index):
        grows = 0.002 * index if instance.block.arm == "candidate" else 0.0
        return timed(100 * math.exp(grows + draw.gauss(0, 0.01)), index)

    gates = [
        f"{{id: {arm}-steady, subject: {arm}-soak-ttft_drift-single, require: '<= 5 %'}}"
        for arm in ("baseline", "candidate")
    ]
    soak = "{id: soak, probe: soak, prompt_tokens: 100, output_tokens: 65, requests: 60}"
    found = Simulated(plan([soak], [], gates, schedule="schedule: {order: sequential, starts: 1}")).go(sample).finding()
    assert verdicts(found) == {"baseline-steady": "pass", "candidate-steady": "fail"}
    drifts = {m.population: m for m in found.measurements if m.metric == "ttft_drift"}
    assert (
        float(drifts["candidate-soak"].interval.low)
        < 100 * math.expm1(0.002 * 59)
        < float(drifts["candidate-soak"].interval.high)
    )
    assert float(drifts["baseline-soak"].interval.low) < 0 < float(drifts["baseline-soak"].interval.high)
