"""What a reader, a keyboard and a screen reader meet on a page: every component, both schemes, wide and narrow."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from style_guide import PATH

pytestmark = pytest.mark.browser
SCHEMES = ["light", "dark"]
WIDTHS = [1440, 390]


@pytest.mark.parametrize("path", ["", "findings/", PATH, "about/"])
def test_a_page_asks_nothing_of_other_hosts_and_complains_of_nothing(open_page, base_url, path):
    visit = open_page(path)
    visit.page.wait_for_timeout(200)
    assert visit.complaints == []
    assert [url for url in visit.requests if not url.startswith((base_url, "data:"))] == []


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_itself_never_scrolls_sideways(open_page, width):
    page = open_page(width=width).page
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_axe_finds_nothing(open_page, scheme, width):
    page = open_page(width=width, scheme=scheme).page
    found = Axe().run(page).response["violations"]
    assert [(each["id"], [node["html"][:120] for node in each["nodes"]]) for each in found] == []


def test_the_scheme_follows_the_system(open_page):
    background = "getComputedStyle(document.body).backgroundColor"
    assert open_page(scheme="light").page.evaluate(background) == "rgb(255, 255, 255)"
    assert open_page(scheme="dark").page.evaluate(background) == "rgb(18, 24, 29)"


def test_paper_is_white_and_bare_whatever_the_screen_was(open_page):
    page = open_page(scheme="dark").page
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(27, 36, 44)"
    assert not page.locator(".md-tabs").is_visible()
    assert not page.locator(".dx-copy").first.is_visible()


def test_hostile_text_stays_text(open_page):
    page = open_page().page
    assert (
        page.evaluate("[...document.querySelectorAll('article *')].filter(e => e.onerror || e.onmouseover).length") == 0
    )
    assert page.locator("article img, article script").count() == 0
    assert "{{7*7}} {% raw %}" in page.locator("pre.dx-pre").inner_text()


def test_the_tab_of_the_section_is_marked(open_page):
    page = open_page().page
    assert page.locator(".md-tabs__item--active").all_inner_texts() == ["Findings"]
    assert page.locator(".md-tabs__link").all_inner_texts() == [
        "Home", "Models", "Findings", "Recipes", "Identities", "Hardware",
        "Artifacts", "Decisions", "Methodology", "About",
    ]  # fmt: skip


def test_a_wide_table_scrolls_inside_its_region_and_says_so(open_page):
    page = open_page(width=390).page
    region = page.get_by_role("region", name="Populations", exact=True).first
    assert region.get_attribute("data-overflows") is not None
    before = region.locator("tbody th").first.bounding_box()
    region.focus()
    page.keyboard.press("End")
    region.evaluate("element => element.scrollLeft = 400")
    after = region.locator("tbody th").first.bounding_box()
    assert after["x"] == before["x"]


def test_a_whole_digest_can_be_read_at_390_px_and_copied(open_page):
    visit = open_page(width=390)
    page = visit.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    digest = page.locator("#identity ~ dl .dx-digest-full").nth(1)
    box = digest.locator("code").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    digest.get_by_role("button").click()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == "0f1cdcc8891f1cc3a444121eb61d366289a1cbba285f0892dcbb24bc94961692"


def test_numbers_are_right_aligned_and_dates_do_not_break(open_page):
    page = open_page(width=390).page
    style = "(element, name) => getComputedStyle(element)[name]"
    assert page.locator("td.dx-num").first.evaluate(style, "textAlign") == "right"
    assert page.locator("td.dx-num .dx-fig").first.evaluate(style, "fontVariantNumeric") == "lining-nums tabular-nums"
    assert page.locator(".dx-date").first.evaluate(style, "whiteSpace") == "nowrap"


def test_the_keyboard_reaches_the_article_first(open_page):
    page = open_page().page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('href')") == "#content"


def _search(page, words):
    page.locator(".md-search__input").click()
    page.keyboard.type(words)
    link = page.locator(".md-search-result__link").first
    link.wait_for(timeout=10_000)
    return link


def test_the_search_finds_a_derived_page(open_page, base_url):
    visit = open_page("about/")
    link = _search(visit.page, "turnover")
    assert link.evaluate("element => element.href.split('?')[0]") == base_url + PATH
    assert visit.page.locator(".md-search-result img").count() == 0
    assert visit.complaints == []


def test_the_site_and_its_search_work_from_a_folder(open_page, site):
    visit = open_page("about/index.html", base=site.as_uri() + "/")
    link = _search(visit.page, "turnover")
    link.click()
    visit.page.wait_for_selector("#populations")
    assert visit.page.url.split("?")[0] == f"{site.as_uri()}/{PATH}index.html"
    assert visit.complaints == []
    assert [url for url in visit.requests if not url.startswith(("file:", "data:", "about:"))] == []
