"""One finding on a small site, its page, and the records around it."""

from __future__ import annotations

from small_site import finding, recipe, site_of

from dossier.pages.finding import finding_page

BEFORE = finding(
    "2026-01-01-before",
    populations=[{"id": "p-before", "title": "Earlier population", "planned": 4, "completed": 4, "passed": 3}],
    measurements=[{"id": "m-before", "metric": "decode_rate", "value": "100.0 tok/s", "population": "p-before"}],
    artifacts=[{"id": "a-before", "path": "x.txt", "sha256": "b" * 64}],
)
RECIPES = (recipe("recipe-a"), recipe("recipe-b"), recipe("recipe-c"))
HERE = "2026-02-02-here"


def page(tmp_path, *records, id_=HERE):
    return finding_page(site_of(tmp_path, *RECIPES, *records), id_)


def body(tmp_path, *records, id_=HERE):
    return page(tmp_path, *records, id_=id_).body


def with_figures(**more):
    """Two arms of a hundred and of a hundred and thirty-nine point six tokens a second."""
    return finding(
        HERE,
        arms={"candidate": {"recipe": "recipe-a"}, "baseline": {"recipe": "recipe-b"}},
        measurements=[
            {"id": "new", "metric": "decode_rate", "value": "142.64 tok/s", "arm": "candidate"},
            {"id": "old", "metric": "decode_rate", "value": "102.19 tok/s", "arm": "baseline"},
            {"id": "slow", "metric": "e2e", "value": "2.50 s", "arm": "candidate"},
            {"id": "fast", "metric": "e2e", "value": "2.00 s", "arm": "baseline"},
        ],
        **more,
    )


def promotion(recipe_id, **more):
    return {
        "id": "promoted",
        "outcome": "promote",
        "lanes": ["text"],
        "recipe": recipe_id,
        "human_approval": True,
        **more,
    }
