"""The committed evidence says of every lane, at every date, what the seed pages say."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from dossier.cache import Cache
from dossier.catalog import load_catalog

EVIDENCE = Path(__file__).parents[2] / "evidence"
MODEL = "glm-5.3-flash"
K5_1M, XGFIX, RC14 = "dflash2-k5-1m-b2048", "dflash2-k5-524k-xgfix", "sglang-rc14-wsl2-393k-c1"
V043, R7, R9, R10 = (
    "sglang-v0.4.3-native-524k-c4",
    "exl3-r7-327k-c4",
    "exl3-r9-327k-c4",
    "exl3-r10-apc-327k-c4",
)

# day, lane, current, immediate rollback; None where the pages name none.
HISTORY = [
    ("2026-08-29", "text", None, None),
    ("2026-08-30", "text", K5_1M, "tr3-vision-k5-262k"),
    ("2026-08-31", "text", XGFIX, K5_1M),
    ("2026-09-02", "text", RC14, XGFIX),
    ("2026-09-09", "text", RC14, XGFIX),
    ("2026-09-11", "text", V043, None),
    ("2026-09-14", "text", R7, None),
    ("2026-09-17", "text", R7, None),
    ("2026-09-18", "text", R9, None),
    ("2026-09-19", "text", R10, R9),
    ("2026-08-29", "vision", None, None),
    ("2026-08-30", "vision", K5_1M, "tr3-vision-k5-262k"),
    ("2026-08-31", "vision", XGFIX, K5_1M),
    ("2026-09-02", "vision", RC14, XGFIX),
    ("2026-09-14", "vision", RC14, XGFIX),
    ("2026-09-18", "vision", R9, None),
    ("2026-09-19", "vision", R10, R9),
]


@pytest.fixture(scope="module")
def catalog():
    with Cache(None) as cache:
        yield load_catalog(EVIDENCE, cache)


@pytest.mark.parametrize(("day", "lane", "current", "rollback"), HISTORY)
def test_a_lane_has_one_current_recipe_and_one_rollback_at_most(catalog, day, lane, current, rollback):
    state = catalog.lane(MODEL, lane, date.fromisoformat(day))
    assert (state.current, state.rollback) == (current, rollback)


def test_every_record_is_valid(catalog):
    assert catalog.problems == []


def test_only_the_two_promotions_that_the_pages_call_approved_are_approved(catalog):
    approved = [
        decision.recipe
        for summary in catalog.dated
        for decision in summary.decisions
        if decision.outcome == "promote" and decision.human_approval is True
    ]
    assert approved == [RC14, R10]


def test_what_an_operator_said_decides_nothing(catalog):
    told = catalog.finding("2026-09-11-operator-experience")
    assert (told.provenance, told.decisions) == ("reported", ())
