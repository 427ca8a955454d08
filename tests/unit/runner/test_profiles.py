"""Ready-made plans are valid for every dialect, fit the context, and name what is served as it is."""

from __future__ import annotations

import pytest

from dossier.errors import UsageError
from dossier.runner.ladders import ladder
from dossier.runner.look import Seen, _chosen
from dossier.runner.plan import estimate, read_plan
from dossier.runner.profiles import PROFILES, plan_text, slug_of
from dossier.wire.api import ServedModel
from dossier.wire.dialect import Detection, Dialect


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("dialect", list(Dialect))
@pytest.mark.parametrize("context", [None, 2048, 1_048_576])
def test_a_profile_is_a_valid_plan(profile, dialect, context):
    seen = Seen("https://host.example/v1", "org/It's a Model: 7B", context, Detection(dialect, ("x ~ ^y$",), None))
    plan, problems = read_plan(plan_text(seen, profile, "SOME_KEY"), "plan.yaml")
    assert problems == []
    assert plan.target.model == "org/It's a Model: 7B"
    assert plan.subject == "it-s-a-model-7b"
    room = context or 4096
    assert all(cell.prompt_tokens + cell.output_tokens < room for cell in plan.cells)
    assert sum(cost.tokens for cost in estimate(plan)) < plan.bounds.tokens


def test_a_plan_names_its_profile_by_what_was_written_from_it():
    """Another context makes other populations; another address or model does not."""
    seen = [Seen(f"https://{host}.example/v1", host, context, Detection(Dialect.VLLM, (), None))
            for host, context in (("a", 4096), ("b", 4096), ("c", 40_960))]  # fmt: skip
    notes = [read_plan(plan_text(one, "scout", None), "p")[0].notes for one in seen]
    assert notes[0] == notes[1] != notes[2]
    assert notes[0].startswith("From the profile scout, sha256:")


def test_retrieval_fits_beside_its_answer():
    for context in (1024, 2048, 9000, 200_000, 1_048_576):
        for profile in ("scout", "deep"):
            sizes = ladder(profile, context)
            assert len(sizes) > 1
            assert sizes[-1] * 1.05 + 256 <= context


@pytest.mark.parametrize(
    ("name", "slug"), [("Qwen/Qwen3-8B", "qwen3-8b"), ("gpt-oss:20b", "gpt-oss-20b"), ("日本", "model")]
)
def test_a_served_name_becomes_an_id(name, slug):
    assert slug_of(name) == slug


def test_a_name_that_no_plan_can_hold_is_not_among_those_served():
    served = tuple(ServedModel(name, None, None, {}) for name in ("", "  ", "m\x1b[31m", "two\nlines"))
    with pytest.raises(UsageError, match="the server lists: none"):
        _chosen(None, served)
    assert _chosen(None, (*served, ServedModel("good", None, None, {}))).id == "good"
