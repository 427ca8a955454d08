"""Ready-made plans are valid for every dialect, fit the context, and name what is served as it is."""

from __future__ import annotations

import pytest

from dossier.runner.look import Seen
from dossier.runner.plan import estimate, read_plan
from dossier.runner.profiles import PROFILES, plan_text, slug_of
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


@pytest.mark.parametrize(
    ("name", "slug"), [("Qwen/Qwen3-8B", "qwen3-8b"), ("gpt-oss:20b", "gpt-oss-20b"), ("日本", "model")]
)
def test_a_served_name_becomes_an_id(name, slug):
    assert slug_of(name) == slug
