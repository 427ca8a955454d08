"""What a finding's page says of the findings around it, and what a builder and a search ask of it."""

from __future__ import annotations

import pytest
from finding_site import BEFORE, HERE, RECIPES, body, page, promotion, with_figures
from small_site import finding, site_of, words

from dossier.pages.finding import outside

# Links both ways


def test_a_withdrawn_finding_says_why_by_whom_and_what_replaces_it(tmp_path):
    later = finding(
        "2026-03-03-later", kind="withdrawal", links={"withdraws": HERE},
        withdrawal={"reason": "The wrong provider answered.", "by": "the author", "replacement": "2026-01-01-before"},
    )  # fmt: skip
    text = words(body(tmp_path, BEFORE, finding(HERE), later))
    assert "Withdrawn by a later finding" in text
    assert "The wrong provider answered." in text
    assert "by the author" in text
    assert "Replaced by Title of 2026-01-01-before" in text
    assert "This finding withdraws an earlier one" in words(
        body(tmp_path, BEFORE, finding(HERE), later, id_=later["id"])
    )


@pytest.mark.parametrize(
    ("link", "there", "here"),
    [
        ("supersedes", "Superseded by", "supersedes an earlier one"),
        ("erratum_for", "Corrected by", "corrects an earlier one"),
        ("addendum_to", "Added to by", "adds to an earlier one"),
    ],
)
def test_a_later_record_and_the_one_it_touches_link_each_other(tmp_path, link, there, here):
    later = finding("2026-03-03-later", links={link: [HERE] if link == "supersedes" else HERE})
    made = body(tmp_path, finding(HERE), later)
    assert there in words(made)
    assert 'href="../../findings/2026-03-03-later/"' in made
    assert here in words(body(tmp_path, finding(HERE), later, id_=later["id"]))


def test_campaign_and_citations_are_shown_from_both_sides(tmp_path):
    data = finding(HERE, campaign="spring", observations=[{"id": "seen", "what": "It answered."}])
    decision = promotion("recipe-a", evidence=[f"{HERE}#seen", HERE])
    later = finding("2026-03-03-later", campaign="spring", decisions=[decision])
    text = words(body(tmp_path, data, later))
    assert "Same campaign Title of 2026-03-03-later" in text
    assert text.count("Cited as evidence promote Title of 2026-03-03-later") == 2


# What a builder asks


def test_outside_changes_with_what_later_findings_say_and_with_nothing_else(tmp_path):
    data = finding(HERE, decisions=[promotion("recipe-a")])
    alone = outside(site_of(tmp_path / "1", *RECIPES, data), HERE)
    unrelated = outside(site_of(tmp_path / "2", *RECIPES, BEFORE, data), HERE)
    reworded = outside(site_of(tmp_path / "3", *RECIPES, {**data, "summary": "Other words."}), HERE)
    displaced = finding("2026-03-03-later", decisions=[promotion("recipe-b")])
    after = outside(site_of(tmp_path / "4", *RECIPES, data, displaced), HERE)
    linked = finding("2026-03-03-later", links={"see": [HERE]})
    seen = outside(site_of(tmp_path / "5", *RECIPES, data, linked), HERE)
    assert repr(alone) == repr(unrelated) == repr(reworded)
    assert len({repr(alone), repr(after), repr(seen)}) == 3


def test_the_page_describes_itself_for_readers_and_search(tmp_path):
    made = page(tmp_path, with_figures(summary="It ran at [[new]] " + "and on " * 90, limits=["No p99 at [[old]]."]))
    assert made.description.startswith("It ran at 142.64 tok/s and on")
    assert len(made.description) <= 302
    assert [entry.location for entry in made.search] == [f"findings/{HERE}/", f"findings/{HERE}/#limits"]
    assert made.search[1].text == "No p99 at 102.19 tok/s."
