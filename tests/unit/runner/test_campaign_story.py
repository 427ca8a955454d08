"""The turnover story of the seeds, replayed live: a strict gate that fails twice, and a baseline that is kept."""

from __future__ import annotations

import html
import re
import sys

import pytest
from campaigns import PLANTED, free_port, leave_none_running
from click.testing import CliRunner

from dossier.cache import Cache
from dossier.catalog import load_catalog
from dossier.cli.build import build
from dossier.cli.check import check
from dossier.cli.decide import decide
from dossier.cli.init import init
from dossier.cli.run import run

PLAN = """schema: dossier/plan/v1
id: turnover
title: Serving turnover of a candidate
subject: some-model
arms:
  baseline:
    base_url: http://127.0.0.1:{port}/v1
    model: planted
    start: [./python, planted.py, "{port}", --miscount, {seven}]
  candidate:
    base_url: http://127.0.0.1:{port}/v1
    model: planted
    start: [./python, planted.py, "{port}", --miscount, {five}]
schedule: {{order: sequential, starts: 1}}
restore: {{arm: baseline}}
calibration: {{requests: 8}}
repeat_failed: true
bounds: {{requests: 2000, tokens: 1000000, seconds: 100, request_seconds: 5, idle_seconds: 2}}
populations:
  - {{id: turnover, probe: canary, words: 32, requests: 60}}
comparisons:
  - {{id: passes, population: turnover, metric: pass_rate}}
gates:
  - {{id: strict, subject: candidate-turnover, require: all passed, title: Strict turnover}}
"""
BEGAN = """schema: dossier/finding/v1
id: 2026-01-01-began
title: The baseline is put in use
date: 2026-01-01
kind: promotion
provenance: transcribed
models: [some-model]
summary: The baseline serves.
arms: {{baseline: {{recipe: {recipe}}}}}
populations: [{{id: first, class: functional, arm: baseline, planned: 2, completed: 2, passed: 2}}]
decisions:
  - {{id: begin, outcome: promote, lanes: [text], recipe: {recipe}, human_approval: true, by: the operator}}
"""


@pytest.fixture
def told(tmp_path, monkeypatch):
    """The project after the run, with the finding: baseline 53 of 60, candidate 58, then 57."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOSSIER_CACHE", "off")
    assert invoke(init, ".").exit_code == 0
    (tmp_path / "planted.py").write_text(PLANTED.read_text())
    (tmp_path / "python").symlink_to(sys.executable)
    seven, five = ('"3", "9", "17", "24", "31", "44", "59"', '"12", "40", "70", "88", "113"')
    (tmp_path / "plan.yaml").write_text(PLAN.format(port=free_port(), seven=seven, five=five))
    try:
        assert invoke(run, "plan.yaml", "--journal", "run.jsonl").exit_code == 1  # a gate failed
    finally:
        leave_none_running(tmp_path / "run.jsonl")
    catalog = load_catalog(tmp_path / "evidence", Cache(None))
    (id_,) = catalog.ids("findings")
    finding = catalog.finding(id_)
    began = tmp_path / "evidence/findings/2026-01-01-began.yaml"
    began.write_text(BEGAN.format(recipe=finding.arms["baseline"].recipe))
    fixed = invoke(check, "--fix")
    assert fixed.exit_code == 0, fixed.output
    return tmp_path, finding


def invoke(command, *options):
    return CliRunner().invoke(command, options)


def words(page):
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page.read_text("utf-8"))).split())


def test_the_gate_fails_the_one_repeat_fails_and_the_baseline_is_retained(told):
    project, finding = told
    counts = {p.id: (p.passed, p.planned) for p in finding.populations}
    assert counts["baseline-turnover"] == (53, 60)
    assert counts["candidate-turnover"] == (58, 60)
    assert counts["candidate-turnover-repeat"] == (57, 60)
    assert "baseline-turnover-repeat" not in counts

    day, file = str(finding.date), project / f"evidence/findings/{finding.id}.yaml"
    of = (finding.id, "--by", "the operator", "--date", day)
    promoted = invoke(decide, *of, "--outcome", "promote", "--recipe", finding.arms["candidate"].recipe, "--approval")
    assert promoted.exit_code == 1
    assert "decisions/failed-gate" in promoted.output
    before = file.read_text()
    kept = invoke(decide, *of, "--outcome", "retain-baseline", "--recipe", finding.arms["baseline"].recipe,
                  "--reason", "The strict gate failed twice.", "--approval")  # fmt: skip
    assert kept.exit_code == 0, kept.output
    assert set(before.splitlines()) < set(file.read_text().splitlines())
    assert invoke(check).exit_code == 0

    built = invoke(build)
    assert built.exit_code == 0, built.output
    (page,) = (project / "site").glob(f"**/{finding.id}/index.html")
    text = words(page)
    for said in ("58/60", "57/60", "53/60", "The strict gate failed twice.", "retain"):
        assert said in text, said
    assert re.search(r"Strict turnover.{0,200}\b[Ff]ail", text)
    assert re.search(r"the one repeat.{0,200}\b[Ff]ail", text)
    (home,) = (project / "site").glob("index.html")
    assert finding.id in home.read_text("utf-8")
