"""`dossier decide` writes a decision where it belongs, and nothing that the checks refuse."""

from __future__ import annotations

import subprocess

import pytest
from click.testing import CliRunner

from dossier.cli.check import check
from dossier.cli.decide import decide
from dossier.errors import UsageError

SECOND = "evidence/findings/2026-01-20-second.yaml"
KEEP = ("--outcome", "retain-baseline", "--by", "the operator", "--recipe", "demo-a", "--lane", "text")
GATED = """# A trial, with a remark
schema: dossier/finding/v1
id: 2026-02-01-trial
title: Demo b is tried
date: 2026-02-01
kind: qualification
provenance: transcribed
models: [demo]
summary: "Demo b passed [[checks]]."
arms: {b: {recipe: demo-b}}   # one side
populations:
  - {id: checks, class: functional, arm: b, planned: 60, completed: 60, failed: 0, not_run: 0, passed: 58}
gates:
  - {id: strict, require: all passed, subject: checks, predeclared: true}

# What it does not show.
limits:
  - {text: One day only.}
"""
TRIAL = "evidence/findings/2026-02-01-trial.yaml"
PROMOTE = ("--outcome", "promote", "--by", "the operator", "--recipe", "demo-b", "--lane", "vision")
WAIVE = ("--outcome", "waive", "--gate", "strict", "--reason", "Two words harm no reader.", "--by", "the operator")


@pytest.fixture
def trial(project):
    """A finding whose gate failed, of the first of February."""
    (project / TRIAL).write_text(GATED)
    pinned = CliRunner().invoke(check, ["--fix"])
    assert pinned.exit_code == 0, pinned.output
    return project / TRIAL


def run(*options):
    return CliRunner().invoke(decide, options)


def clean():
    return CliRunner().invoke(check, []).exit_code == 0


def test_an_unpublished_finding_takes_the_decision_and_keeps_every_other_character(trial):
    before = trial.read_text()
    assert run("2026-02-01-trial", *KEEP, "--date", "2026-02-01").exit_code == 0
    block = (
        "decisions:\n  - id: retain-baseline\n    outcome: retain-baseline\n    lanes: [text]\n"
        "    recipe: demo-a\n    by: the operator\n"
    )
    after = trial.read_text()
    head, pins = after.split("\npins:\n")
    assert head == before.split("\npins:\n")[0].replace("\n# What it does not", block + "\n# What it does not")
    assert "recipes/demo-a: sha256:" in pins
    assert clean()


def test_a_second_decision_stands_below_the_first(trial):
    for lane in ("text", "vision"):
        options = ("--outcome", "no-promotion", "--by", "x", "--recipe", "demo-b", "--lane", lane)
        assert run("2026-02-01-trial", *options, "--date", "2026-02-01").exit_code == 0
    text = trial.read_text()
    assert text.index("- id: no-promotion\n") < text.index("- id: no-promotion-2\n") < text.index("# What it does not")
    assert clean()


@pytest.mark.parametrize("how", ["committed", "index"])
def test_what_is_published_stays_and_a_finding_that_follows_it_holds_the_decision(trial, how, tmp_path_factory):
    options = []
    if how == "committed":
        for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "all"]):
            who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
            subprocess.run(["git", *who, *arguments], check=True)
    else:
        copy = tmp_path_factory.mktemp("published")
        subprocess.run(["cp", "-r", "evidence", copy], check=True)
        options = ["--published", str(copy / "evidence")]
    before = trial.read_bytes()
    result = run("2026-02-01-trial", *KEEP, "--date", "2026-02-01", *options)
    assert result.exit_code == 0, result.output
    assert trial.read_bytes() == before
    follow = trial.with_name("2026-02-01-retain-baseline-trial.yaml").read_text()
    assert "follows: [2026-02-01-trial]" in follow
    assert "evidence: [2026-02-01-trial]" in follow
    assert clean()


def test_a_later_decision_is_a_later_finding(trial):
    before = trial.read_bytes()
    assert run("2026-02-01-trial", *KEEP, "--date", "2026-02-03").exit_code == 0
    assert trial.read_bytes() == before
    assert trial.with_name("2026-02-03-retain-baseline-trial.yaml").exists()
    assert clean()


@pytest.mark.parametrize("day", ["2026-02-01", "2026-02-03"])
def test_a_promotion_past_a_failed_gate_is_refused_until_a_human_waives_it(trial, day):
    before = trial.read_bytes()
    refused = run("2026-02-01-trial", *PROMOTE, "--approval", "--date", day)
    assert refused.exit_code == 1
    assert "decisions/failed-gate" in refused.output
    assert trial.read_bytes() == before
    assert len(list(trial.parent.glob("*-trial.yaml"))) == 1
    assert run("2026-02-01-trial", *WAIVE, "--approval", "--date", day).exit_code == 0
    promoted = run("2026-02-01-trial", *PROMOTE, "--approval", "--date", day)
    assert promoted.exit_code == 0, promoted.output
    assert clean()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (PROMOTE, "promote is a human's: give --approval"),
        (WAIVE, "waive is a human's"),
        (("--outcome", "waive", "--by", "x", "--approval"), "waive needs --gate, one of: strict"),
        ((*WAIVE[:2], "--gate", "strikt", *WAIVE[4:], "--approval"), "has no such gate, one of: strict"),
        ((*WAIVE, "--recipe", "demo-a", "--approval"), "--recipe does not go with waive"),
        (("--outcome", "reject", "--by", "x"), "reject needs --recipe, one of: demo-b (arm b)"),
        (("--outcome", "reject", "--by", "x", "--recipe", "demo-b"), "give --lane, one or several of: text, vision"),
        ((*KEEP, "--date", "2026-01-31"), "is before the finding of 2026-02-01"),
        ((*KEEP, "--date", "soon"), "is not a date"),
    ],
)
def test_what_lacks_or_does_not_fit_is_said_and_nothing_is_written(trial, options, told):
    before = trial.read_bytes()
    result = run("2026-02-01-trial", *options)
    assert isinstance(result.exception, UsageError)
    assert told in str(result.exception)
    assert trial.read_bytes() == before


def test_what_the_checks_refuse_leaves_the_file_as_it_was(trial):
    before = trial.read_bytes()
    keeps_another = ("--outcome", "retain-baseline", "--by", "x", "--recipe", "demo-c", "--lane", "text")
    refused = run("2026-02-01-trial", *keeps_another, "--date", "2026-02-01")
    assert refused.exit_code == 1
    assert "not written, the checks refuse it" in refused.output
    assert trial.read_bytes() == before


def test_a_list_in_brackets_is_left_for_a_person(trial):
    text = trial.read_text().replace(
        "limits:", "decisions: [{id: a, outcome: watch-only, lanes: [text], recipe: demo-b}]\nlimits:"
    )
    trial.write_text(text)
    result = run("2026-02-01-trial", *KEEP, "--date", "2026-02-01")
    assert isinstance(result.exception, UsageError)
    assert "write there yourself:\n  - id: retain-baseline" in str(result.exception)
    assert trial.read_text() == text
