"""Two records compared by meaning, and what a change does to the pages."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from dossier.cache import Cache
from dossier.catalog import load_catalog
from dossier.cli.diff import diff
from dossier.cli.impact import impact
from dossier.cli.pin import pin
from dossier.cli.verify import verify
from dossier.derive.difference import differences
from dossier.model.parse import parse_record
from dossier.pages.changed import changed_pages, compared
from dossier.pages.context import Site
from dossier.pages.environment import environment
from dossier.pages.places import Page
from dossier.pages.plan import Keys, plan, stamp
from dossier.pages.rules import rule_path
from dossier.source import read_document

BASE = Path(__file__).parents[1] / "evidence" / "base"
HEAD = """schema: dossier/finding/v1
id: 2026-01-10-x
title: A title
date: 2026-01-10
kind: comparison
provenance: transcribed
models: [demo]
summary: A summary.
"""


def record(text):
    document, problems = read_document(HEAD + text, "x.yaml")
    assert problems == []
    found, problems = parse_record(document, "x.yaml")
    assert problems == []
    return found


def one(value, metric="e2e"):
    return f"measurements: [{{id: a, metric: {metric}, value: {value}}}]\n"


def told(before, after):
    return [str(change).replace("\u00a0", " ") for change in differences(record(before), record(after))]


def test_equal_records_have_no_difference():
    assert (
        told(
            "measurements:\n  - {id: a, metric: e2e, value: 1 s}\n",
            "measurements: [{value: '1 s', id: a, metric: e2e}]\n",
        )
        == []
    )


# 91.39 - 83.08 = 8.31 and 8.31 / 83.08 = 10.002 %: as the two are rounded, 8.30 to 8.32 and 9.98 to 10.02 %.
def test_figures_are_shown_with_their_difference():
    assert told(one("83.08 tok/s", "decode_rate"), one("91.39 tok/s", "decode_rate")) == [
        "measurements/a/value: 83.08 tok/s → 91.39 tok/s (+8.3 tok/s, +10.0 %)"
    ]


def test_another_number_of_digits_is_a_difference():
    assert len(told(one("97.6 s"), one("97.60 s"))) == 1


def test_figures_of_different_units_have_none():
    assert told(one("1 s"), one("1000 ms")) == ["measurements/a/value: 1 s → 1,000 ms"]


def test_items_are_matched_by_id_wherever_they_stand():
    before = "populations:\n  - {id: a, planned: 12}\n  - {id: b, planned: 3}\n"
    after = "populations:\n  - {id: c, planned: 5}\n  - {id: b, planned: 4}\n  - {id: a, planned: 12}\n"
    assert told(before, after) == [
        "populations/b/planned: 3 → 4 (+1, +33 %)",
        "populations/c: added planned 5",
    ]


def test_an_item_that_is_gone_and_a_field_that_is_gone():
    before = "gates: [{id: g, stated: pass, note: Kept.}, {id: h, stated: fail}]\ncaveat: Take care.\n"
    after = "gates: [{id: g, stated: pass}]\n"
    assert told(before, after) == [
        "caveat: removed Take care.",
        "gates/g/note: removed Kept.",
        "gates/h: removed stated fail",
    ]


def test_texts_of_a_list_are_matched_as_a_whole():
    before, after = "boundary: {fixed: [weights, context]}\n", "boundary: {fixed: [context, driver]}\n"
    assert told(before, after) == ["boundary/fixed: removed weights", "boundary/fixed: added driver"]
    assert told(before, "boundary: {fixed: [context, weights]}\n") == [
        "boundary/fixed: weights, context → context, weights"
    ]


def test_a_value_that_becomes_unknown_says_why():
    before, after = "populations: [{id: a, planned: 12}]\n", "populations: [{id: a, planned: {unknown: not counted}}]\n"
    assert told(before, after) == ["populations/a/planned: 12 → unknown (not counted)"]


@pytest.fixture
def project(tmp_path, monkeypatch):
    shutil.copytree(BASE, tmp_path / "evidence")
    for arguments in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "Publish"]):
        about = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *about, *arguments], cwd=tmp_path, check=True, capture_output=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOSSIER_CACHE", "off")
    return tmp_path


def test_the_command_compares_records_and_refs(project):
    assert "context_tokens" not in CliRunner().invoke(diff, ["demo-a", "recipes/demo-b"]).stdout
    file = project / "evidence/recipes/demo-a.yaml"
    file.write_text(file.read_text("utf-8").replace("8192", "4096"), "utf-8")
    done = CliRunner().invoke(diff, ["demo-a@main", "demo-a"])
    assert done.exit_code == 1
    assert done.stdout.startswith("context_tokens: 8,192 → 4,096 (−4,096, −50")
    assert CliRunner().invoke(diff, ["demo-a", "demo-a"]).exit_code == 0


@pytest.mark.parametrize(
    "names", [("demo-a", "nothing"), ("demo-a", "bench"), ("demo-a@nowhere", "demo-a"), ("x@main", "demo-a")]
)
@pytest.mark.usefixtures("project")
def test_what_cannot_be_compared_is_a_usage_error(names):
    done = CliRunner().invoke(diff, names)
    assert type(done.exception).__name__ == "UsageError"


def test_verify_counts_what_it_recomputed_and_fails_on_a_changed_artifact(project):
    done = CliRunner().invoke(verify, [])
    assert done.exit_code == 0
    kept = [file for file in (project / "evidence/artifacts").rglob("*") if file.is_file()]
    findings = [file.read_text("utf-8") for file in (project / "evidence/findings").glob("*.yaml")]
    assert f" {len(kept)}  artifact digests" in done.stdout
    assert f" {sum(text.count('pointer:') for text in findings)}  pointers into artifacts" in done.stdout
    (project / "evidence/artifacts/2026-01-10-first/results.json").write_text("{}", "utf-8")
    done = CliRunner().invoke(verify, [])
    assert done.exit_code == 1
    assert "artifacts/altered" in done.stdout


def test_verify_writes_an_index_of_every_digest(project):
    CliRunner().invoke(verify, ["--index", "index.json"])
    text = (project / "index.json").read_text("utf-8")
    records = list((project / "evidence").rglob("*.yaml"))
    assert text.count("sha256:") == len(records)


PROMOTION = """schema: dossier/finding/v1
id: 2026-02-01-promote-b
title: "B is promoted <b>@all</b>"
date: 2026-02-01
kind: promotion
provenance: transcribed
models: [demo]
summary: B is promoted.
completion: open
arms:
  b: {recipe: demo-b}
populations:
  - {id: checks, class: functional, arm: b, planned: 12, completed: 12, failed: 0, not_run: 0, passed: 12}
measurements:
  - {id: decode, metric: decode_rate, value: 99.10 tok/s, population: checks, arm: b}
gates:
  - {id: all-checks, require: all passed, subject: checks}
decisions:
  - {id: promote-b, outcome: promote, lanes: [text], recipe: demo-b, rollback: demo-a, human_approval: true,
     by: the operator, evidence: [checks]}
links:
  supersedes: [2026-01-20-second]
"""


def test_impact_says_what_becomes_current_and_which_pages_and_figures_change(project):
    (project / "evidence/findings/2026-02-01-promote-b.yaml").write_text(PROMOTION, "utf-8")
    text = CliRunner().invoke(impact, ["--base", "main"]).stdout
    lines = text.splitlines()
    assert r"- demo, lane text: current changes from **demo\-a** to **demo\-b**" in lines
    assert r"- demo, lane text: rollback changes from nothing to **demo\-a**" in lines
    assert "- `findings/2026-02-01-promote-b/`: new" in lines
    assert any(line.startswith("- `findings/2026-01-20-second/`: ") and "supersedes it" in line for line in lines)
    assert any(
        line.startswith("- `recipes/demo-a/`: ") and "current becomes rollback in lane text" in line for line in lines
    )
    assert any(line.startswith("- `models/demo/`: lists ") for line in lines)
    home = next(line for line in lines if line.startswith("- `home page`: "))
    assert "shows 12/12" in home
    assert any(line.endswith(r"| decode | decode\_rate 99.10 tok/s |") for line in lines)
    assert any(
        line.endswith(r"| all\-checks | pass (computed) |".replace("(", r"\(").replace(")", r"\)")) for line in lines
    )


def bodies(catalog, project):
    """Every page of the site, made anew."""
    site = Site(catalog, environment(project))
    with Cache(None) as cache:
        return {p.path: p.make().body for p in plan(site, Keys(site, stamp(project)), cache)}


def test_impact_tells_every_page_that_differs_and_no_other(project):
    with Cache(None) as cache:
        before = load_catalog(BASE, cache, "evidence")
        (project / "evidence/findings/2026-02-01-promote-b.yaml").write_text(PROMOTION, "utf-8")
        CliRunner().invoke(pin, ["evidence/findings/2026-02-01-promote-b.yaml"])
        after = load_catalog(project / "evidence", cache, "evidence")
        told = [page.path for page in changed_pages(project, before, after, cache)]
    old, new = bodies(before, project), bodies(after, project)
    assert told == sorted(path for path in {*old, *new} if old.get(path) != new.get(path))
    assert "recipes/demo-a/" in told
    assert "hardware/bench/" in told
    assert rule_path("arithmetic/delta") in {*old} - {*told}


def test_figures_that_come_and_go_are_told_by_the_item_that_they_show():
    row = '<p>Checks: <a class="dx-fig" href="%s">%s<data value="1">%s</data></a></p>'
    was = Page("models/demo/", "Models", "Demo", "", row % ("../../findings/a/#i-x", "", "57/60") + "<p>Same.</p>")
    becomes = Page(
        "models/demo/", "Models", "Demo", "", "<p>Same.</p>" + row % ("../../findings/b/#i-x", "≈ ", "58/60")
    )
    found = compared(was, becomes)
    assert (found.come, found.gone, found.lines) == (("≈ 58/60",), ("57/60",), (1, 1))
    assert compared(was, replace(was, body=f"<div>{was.body}</div>")) is None


def test_pages_of_evidence_with_problems_are_not_made(project):
    text = PROMOTION.replace("passed: 12}", "passed: 13}")
    (project / "evidence/findings/2026-02-01-promote-b.yaml").write_text(text, "utf-8")
    done = CliRunner().invoke(impact, ["--base", "main"])
    assert done.exit_code == 0
    assert "`dossier check` finds problems in this change, so no page was made" in done.stdout
    assert "- `models/demo/`: lists " in done.stdout


@pytest.mark.usefixtures("project")
def test_impact_of_nothing_is_nothing():
    assert "Nothing." in CliRunner().invoke(impact, ["--base", "main"]).stdout


def test_no_evidence_can_write_markup_into_the_comment(project):
    evil = "</td><b>@all [x](//e) `a` |"
    text = PROMOTION.replace("99.10 tok/s", '"9 ' + evil + '"').replace("metric: decode_rate", "metric: value")
    (project / "evidence/findings/2026-02-01-promote-b.yaml").write_text(text, "utf-8")
    said = CliRunner().invoke(impact, ["--base", "main"]).stdout
    row = next(line for line in said.splitlines() if "| decode |" in line)
    assert "<" not in row
    assert "@all" not in row
    assert "](" not in row
    assert row.replace("\\|", "").count("|") == 4
