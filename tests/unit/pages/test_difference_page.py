"""The page that shows how a record differs from the one that it replaces or is changed from."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from dossier.cache import Cache
from dossier.catalog import load_catalog
from dossier.pages.context import Site
from dossier.pages.difference import pairs
from dossier.pages.environment import environment
from dossier.pages.plan import Keys, plan, stamp

BASE = Path(__file__).parents[2] / "evidence" / "base"
FINDING = """schema: dossier/finding/v1
id: {id}
title: "{title}"
date: {date}
kind: comparison
provenance: transcribed
models: [demo]
summary: "{summary}"
measurements: [{{id: decode, metric: decode_rate, value: {value}}}]
"""


@pytest.fixture
def made(tmp_path):
    """Every page of a project in which one finding supersedes another and one recipe is changed from another."""
    root = tmp_path / "evidence"
    shutil.copytree(BASE, root)
    first = FINDING.format(
        id="2026-03-01-first", title="<b>First</b>", date="2026-03-01", summary="It is [[decode]].", value="83.08 tok/s"
    )
    second = FINDING.format(
        id="2026-03-02-second", title="Second", date="2026-03-02", summary="It is [[decode]].", value="91.39 tok/s"
    )
    (root / "findings/2026-03-01-first.yaml").write_text(first, "utf-8")
    (root / "findings/2026-03-02-second.yaml").write_text(
        f"{second}links: {{supersedes: [2026-03-01-first]}}\n", "utf-8"
    )
    recipe = (root / "recipes/demo-a.yaml").read_text("utf-8")
    recipe = recipe.replace("id: demo-a", "id: demo-c").replace("context_tokens: 8192", "context_tokens: 4096")
    (root / "recipes/demo-c.yaml").write_text(f"{recipe.rstrip()}\nderived_from: demo-a\n", "utf-8")
    with Cache(None) as cache:
        site = Site(load_catalog(root, cache, "evidence"), environment(tmp_path))
        assert [(p.before, p.after) for p in pairs(site)] == [
            ("2026-03-01-first", "2026-03-02-second"), ("demo-a", "demo-b"), ("demo-a", "demo-c"),
        ]  # fmt: skip
        return {p.path: p.make() for p in plan(site, Keys(site, stamp(tmp_path)), cache)}


def text(body):
    plain = re.sub(r"<[^>]+>", " ", body).replace("\u00a0", " ")
    return " ".join(plain.split())


# 91.39 - 83.08 = 8.31 and 8.31 / 83.08 = 10.002 %.
def test_a_superseding_finding_is_shown_against_the_one_before_with_computed_differences(made):
    page = made["findings/2026-03-01-first--2026-03-02-second/"]
    assert "decode: value 83.08 tok/s 91.39 tok/s +8.3 tok/s, +10.0 %" in text(page.body)
    assert "It is 83.08 tok/s." not in text(page.body), "the two summaries say the same"
    assert "<b>First" not in page.body
    assert "dossier diff 2026-03-01-first 2026-03-02-second" in page.body


def test_a_recipe_is_shown_against_the_one_that_it_is_changed_from(made):
    page = made["recipes/demo-a--demo-c/"]
    assert "context tokens 8,192 4,096 −4,096, −50" in text(page.body)
    assert "Derived from" not in page.body


@pytest.mark.parametrize(
    ("page", "link"),
    [
        ("findings/2026-03-01-first/", "../../findings/2026-03-01-first--2026-03-02-second/"),
        ("findings/2026-03-02-second/", "../../findings/2026-03-01-first--2026-03-02-second/"),
        ("recipes/demo-a/", "../../recipes/demo-a--demo-c/"),
        ("recipes/demo-c/", "../../recipes/demo-a--demo-c/"),
    ],
)
def test_both_records_lead_to_it(made, page, link):
    assert f'href="{link}">what differs</a>' in made[page].body
