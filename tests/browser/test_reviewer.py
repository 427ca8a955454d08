"""A reviewer at work: compares, cites, follows, looks back, by the mouse and by the keyboard."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.browser

NATIVE = "findings/2026-09-08-native-linux-comparison"


def _compared(page):
    page.locator("[data-compare][data-done]").wait_for()
    return page.locator("[data-compare]").inner_text()


def test_two_arms_are_compared_where_their_populations_match(open_page, site_url):
    page = open_page(f"compare/?a={NATIVE}@native&b={NATIVE}@wsl2", base=site_url).page
    text = _compared(page)
    # 142.64/102.19 is +39.583 %, within 39.571 to 39.595 by rounding.
    assert "+39.6\N{NO-BREAK SPACE}%" in text
    assert "excluded: strict output miss" in text
    assert "Not set against each other" in text


def test_two_recipes_are_chosen_and_the_choice_is_in_the_address(open_page, site_url):
    page = open_page("compare/", width=390, base=site_url).page
    page.get_by_label("A, the candidate").fill("recipes/exl3-r10-apc-327k-c4")
    page.get_by_label("B, the baseline").fill("recipes/exl3-r9-327k-c4")
    page.keyboard.press("Tab")
    page.locator("h2", has_text="Identity").wait_for()
    assert "FP8 MLA" in page.locator(".dx-differs", has_text="kv dtype").first.inner_text()
    url = page.evaluate("location.href")
    page.goto(url)
    assert "FP8 MLA" in _compared(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("recipes/none-such", "there is no such record"),
        ("<img src=x onerror=alert(1)>", "write a folder and an id"),
        (f"{NATIVE}@nobody", "has no arm nobody; it has"),
    ],
)
def test_what_cannot_be_compared_is_said_in_words(open_page, site_url, asked, said):
    page = open_page("compare/", base=site_url).page
    page.get_by_label("A, the candidate").fill(asked)
    page.get_by_label("B, the baseline").fill("recipes/exl3-r9-327k-c4")
    page.keyboard.press("Tab")
    page.locator("[data-compare] [role=status]", has_text=said).wait_for()
    assert page.locator("[data-compare] img").count() == 0


def test_a_citation_is_copied_with_address_and_digest(open_page, site_url):
    page = open_page(f"{NATIVE}/", base=site_url).page
    page.evaluate("navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve(); }")
    page.get_by_role("button", name="Copy citation: BibTeX").click()
    copied = page.evaluate("window.copied")
    digest = json.loads(page.request.get(f"{site_url}api/v1/findings/year-2026.json").text())
    expected = next(f["digest"] for f in digest["findings"] if f["id"] in NATIVE)
    assert copied.startswith("@misc{2026-09-08-native-linux-comparison,")
    assert f"{site_url}{NATIVE}/" in copied
    assert expected in copied


def test_a_reader_who_was_away_sees_what_changed_since(open_page, site_url):
    page = open_page("whats-new/?since=2026-09-18", base=site_url).page
    days = page.locator("[data-day]:visible").evaluate_all("all => all.map(day => day.dataset.day)")
    assert days
    assert min(days) == "2026-09-18"
    page.get_by_role("link", name="All lanes as of this day").first.click()
    assert "As of 2026-09-19" in page.locator("h1").inner_text()
    page.locator("a[rel=prev]").click()
    assert "As of 2026-09-18" in page.locator("h1").inner_text()


def test_every_page_names_the_feeds(open_page, site_url):
    page = open_page("", base=site_url).page
    hrefs = page.locator("link[rel~=feed]").evaluate_all("all => all.map(link => link.href)")
    assert [page.request.get(href).status for href in hrefs] == [200, 200]


def test_a_picture_leads_to_the_row_of_its_figure(open_page, site_url):
    page = open_page("models/glm-5.3-flash/", base=site_url).page
    mark = page.locator("#picture-decode-rate a").first
    mark.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/findings/**#i-*")
    assert "tok/s" in page.locator(":target").inner_text()


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("4909e318ba13", "identities/exl3-k3-dflash2-xgfix/"),
        ("exl3-r10-apc-327k-c4", "recipes/exl3-r10-apc-327k-c4/"),
    ],
)
def test_a_record_is_found_by_the_first_digits_of_a_pin_and_by_its_id(open_page, site_url, typed, found):
    page = open_page("", base=site_url).page
    page.get_by_label("Search", exact=True).first.click(force=True)
    page.keyboard.type(typed)
    page.locator(f".md-search-result__link[href*='{found}']").first.wait_for()
