"""The dossier, the home page and the indexes: what is current, what it replaced, and what was current when."""

from __future__ import annotations

import pytest
from small_site import MODEL, finding, recipe, site_of, words

from dossier.pages.artifacts import artifact_index
from dossier.pages.catalogue import catalogue
from dossier.pages.decisions import decision_page
from dossier.pages.home import home_page
from dossier.pages.methodology import methodology_page
from dossier.pages.model import dossier_fragments, model_page
from dossier.pages.rules import described_rules, rule_page


def _decision(outcome, name, **more):
    return {
        "id": f"{outcome}-{name}",
        "outcome": outcome,
        "lanes": ["text"],
        "recipe": name,
        "human_approval": True,
        **more,
    }


@pytest.fixture
def site(tmp_path):
    return site_of(
        tmp_path,
        recipe("first"),
        recipe("second"),
        recipe("third"),
        finding("2026-01-01-one", decisions=[_decision("promote", "first", limitation="Only one card.")]),
        finding(
            "2026-02-01-two",
            decisions=[
                _decision("promote", "second", rollback="first", limitation="Text only."),
                _decision("reject", "third"),
            ],
            gates=[{"id": "g", "title": "A gate", "stated": "fail"}],
            limits=["Nothing is said of speed."],
        ),
    )


def test_home_says_what_is_current_what_it_replaced_and_what_it_is_not_good_for(site):
    page = words(home_page(site).body)
    assert "Text lane" in page
    assert "Title of second" in page
    assert "Title of first" in page
    assert "Text only." in page
    assert "Only one card." not in page


def test_a_lane_without_a_decision_says_so(site):
    page = words(home_page(site).body)
    assert "Vision lane" in page


def test_the_dossier_holds_every_finding_and_the_limits(site):
    view = site.view("models/model-a/")
    page = words(model_page(site, "model-a", lambda id_: dossier_fragments(site, view, id_)).body)
    for text in ("Title of 2026-01-01-one", "Title of 2026-02-01-two", "Nothing is said of speed.", "Only one card."):
        assert text in page


def test_a_dossier_gives_the_day_of_its_own_newest_finding(tmp_path):
    other = {**MODEL, "id": "model-b", "name": "Model B"}
    site = site_of(tmp_path, other, finding("2026-01-01-one"), finding("2026-03-01-theirs", models=["model-b"]))
    page = words(
        model_page(site, "model-a", lambda id_: dossier_fragments(site, site.view("models/model-a/"), id_)).body
    )
    assert "Newest finding 2026-01-01" in page
    assert "2026-03-01" not in page


def test_a_recipe_replaced_in_two_lanes_is_named_once(tmp_path):
    both = {"lanes": ["text", "vision"]}
    site = site_of(
        tmp_path,
        recipe("first"),
        recipe("second"),
        finding("2026-01-01-one", decisions=[{**_decision("promote", "first"), **both}]),
        finding("2026-02-01-two", decisions=[{**_decision("promote", "second", rollback="first"), **both}]),
    )
    page = words(decision_page(site).body)
    assert "in place of Title of first" in page
    assert "Title of first, Title of first" not in page


def test_the_decisions_page_has_the_state_of_every_date(site):
    page = words(decision_page(site).body)
    for text in ("2026-01-01", "2026-02-01", "Title of first", "Title of second", "Title of third", "reject"):
        assert text in page


def test_the_catalogue_lists_every_finding_newest_first(site):
    page = words(catalogue(site).body)
    assert page.index("Title of 2026-02-01-two") < page.index("Title of 2026-01-01-one")


def test_the_artifact_index_names_findings_that_keep_nothing(site):
    page = words(artifact_index(site).body)
    assert "No finding keeps a raw file yet." in page
    assert "Title of 2026-01-01-one" in page
    assert "a" * 40 in page


def test_the_methodology_explains_every_rule_and_metric(site):
    page = methodology_page(site).body
    assert 'id="metric-ttft_visible"' in page
    for doc in described_rules():
        assert doc.id in page
        assert doc.why in words(rule_page(site, doc.id).body)


def test_a_dossier_shows_the_newest_findings_whole_and_the_others_in_its_run_history(tmp_path):
    days = [f"2026-{month:02d}-{day:02d}" for month in (1, 2) for day in range(1, 26)]
    promotes = {
        "id": "d", "outcome": "promote", "lanes": ["text"], "recipe": "recipe-a", "human_approval": True,
        "rollback": "recipe-b",
    }  # fmt: skip
    findings = [finding(f"{day}-run", limits=[f"Limit of {day}."]) for day in days]
    findings[0] |= {"decisions": [promotes]}
    site = site_of(tmp_path, recipe("recipe-a"), recipe("recipe-b"), *findings)
    view = site.view("models/model-a/")
    page = words(model_page(site, "model-a", lambda id_: dossier_fragments(site, view, id_)).body)
    assert f"Limit of {days[-1]}." in page
    assert f"Limit of {days[10]}." in page
    assert f"Limit of {days[9]}." not in page
    assert f"Limit of {days[0]}." in page, "it decided what is current"
    assert "41 findings are shown whole" in page
    assert "The other 9 stand in the run history" in page
    assert f"Title of {days[9]}-run" in page
