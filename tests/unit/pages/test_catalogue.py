"""The run catalogue: rows with what they are filtered by, a page a year, older ones left to their years."""

from __future__ import annotations

import re

import pytest
from small_site import finding, recipe, site_of, words

from dossier.pages import catalogue as module
from dossier.pages.catalogue import catalogue, year_page, years
from dossier.pages.finding import finding_page

HOSTILE = "\"><img src=x onerror=alert(1)>|'"


@pytest.fixture
def site(tmp_path):
    return site_of(
        tmp_path,
        {
            "schema": "dossier/identity/v1", "id": "identity-a", "title": "Identity A",
            "artifacts": [{"role": "target", "revision": "a" * 40}], "runtime": {"engine": HOSTILE},
        },
        recipe("first"),
        finding("2025-12-31-old", arms={"a": {"recipe": "first"}}, gates=[{"id": "g", "title": "G", "stated": "fail"}]),
        finding("2026-01-01-new", links={"supersedes": ["2025-12-31-old"]}, title=HOSTILE),
        finding("2026-02-01-newer"),
    )  # fmt: skip


def _row(body, id_):
    return re.search(rf"<tr[^>]*>(?=<th[^>]*>.{{0,200}}findings/{id_}/).*?</tr>", body.replace("\n", " "))[0]


def test_a_row_says_what_it_is_filtered_by(site):
    row = _row(catalogue(site).body, "2025-12-31-old")
    assert 'data-model="model-a"' in row
    assert 'data-verdict="fail"' in row
    assert 'data-status="superseded"' in row
    assert 'data-recipe="first"' in row
    assert 'data-hardware="hardware-a"' in row
    assert 'data-status="stands"' in _row(catalogue(site).body, "2026-02-01-newer")


def test_hostile_text_in_a_facet_stays_in_its_attribute_and_has_no_separator_in_it(site):
    body = catalogue(site).body
    assert "<img" not in body
    engine = re.search(r'data-engine="([^"]*)"', _row(body, "2025-12-31-old"))[1]
    assert "|" not in engine


def test_every_year_has_its_page_with_its_findings_only(site):
    assert [(year.name, year.count) for year in years(site)] == [("2026", 2), ("2025", 1)]
    page = words(year_page(site, "2025").body)
    assert "Title of 2025-12-31-old" in page
    assert "Title of 2026-02-01-newer" not in page


def test_with_more_findings_than_a_page_holds_the_older_ones_are_left_to_their_years(site, monkeypatch):
    monkeypatch.setattr(module, "NEWEST", 2)
    body = catalogue(site).body
    assert "Title of 2025-12-31-old" not in body
    assert "The newest 2 of 3 findings" in words(body)
    assert 'data-more="2026/ 2025/"' in body
    assert 'href="../findings/2025/"' in body


def test_a_table_cell_sorts_by_the_recorded_value(tmp_path):
    site = site_of(
        tmp_path,
        finding(
            "2026-01-01-one",
            populations=[
                {"id": "p", "target": "4K", "planned": 60, "completed": 60, "failed": 0, "passed": 58},
                {"id": "q", "target": "120K", "planned": 3, "completed": 3, "failed": 0, "passed": 3},
            ],
            measurements=[{"id": "m", "metric": "ttft_visible", "value": "90 ms", "n": 3, "statistic": "median"}],
        ),
    )
    body = finding_page(site, "2026-01-01-one").body
    cells = re.findall(r'<tr id="i-([pqm])".*?</tr>', body)
    assert cells == ["p", "q", "m"]
    keys = {id_: re.findall(r'data-sort="([^"]*)"', row) for id_, row in re.findall(r'<tr id="i-(\w)"(.*?)</tr>', body)}
    assert "4000" in keys["p"]
    assert "1" in keys["q"]
    assert keys["m"][0] == "0.09"
