"""Every kind of page of the real site, in a real browser: narrow and wide, light and dark."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe

pytestmark = pytest.mark.browser

PAGES = {
    "home": "",
    "model index": "models/",
    "model dossier": "models/glm-5.3-flash/",
    "run catalogue": "findings/",
    "year": "findings/2026/",
    "what is new": "whats-new/",
    "data": "data/",
    "compare": "compare/?a=recipes/exl3-r10-apc-327k-c4&b=recipes/exl3-r9-327k-c4",
    "as of a day": "decisions/2026-09-14/",
    "qualification": "findings/2026-09-09-ormandj-v0.4.2-qualification/",
    "comparison": "findings/2026-09-08-native-linux-comparison/",
    "reported": "findings/2026-09-11-operator-experience/",
    "measured": "findings/2026-12-01-gemma-3-270m-base-local-smoke/",
    "recipe index": "recipes/",
    "recipe": "recipes/exl3-r10-apc-327k-c4/",
    "identity index": "identities/",
    "identity": "identities/exl3-k3-dflash2-xgfix/",
    "hardware index": "hardware/",
    "hardware": "hardware/dual-pro-6000-wsl2/",
    "artifact index": "artifacts/",
    "decisions": "decisions/",
    "methodology": "methodology/",
    "rule": "methodology/arithmetic-delta/",
    "about": "about/",
}


@pytest.mark.parametrize("kind", PAGES)
def test_a_page_fits_asks_nobody_else_and_is_accessible(open_page, site_url, kind):
    for width in (390, 768, 1440):
        for scheme in ("light", "dark"):
            visit = open_page(PAGES[kind], width=width, scheme=scheme, base=site_url)
            where = f"{kind}, {width} px, {scheme}"
            page_width = visit.page.evaluate("document.documentElement.scrollWidth")
            assert page_width <= width, where
            assert visit.complaints == [], where
            assert [url for url in visit.requests if not url.startswith((site_url, "data:"))] == [], where
            found = Axe().run(visit.page).response["violations"]
            serious = [(v["id"], v["nodes"][0]["target"]) for v in found if v["impact"] in {"serious", "critical"}]
            assert serious == [], where
            visit.page.close()


def test_from_home_a_reader_reaches_the_raw_figures_of_what_is_current(open_page, site_url):
    page = open_page("", base=site_url).page
    card = page.locator(".dx-lane").first
    assert "current" in card.inner_text()
    assert "Limitation" in card.inner_text()
    card.get_by_text("−67.84 %").click()
    page.wait_for_load_state()
    assert "/findings/2026-09-19-apc-campaign/#i-" in page.url
    row = page.locator(":target")
    assert "−67.84\N{NO-BREAK SPACE}%" in row.inner_text()


def test_a_reader_finds_a_finding_by_searching(open_page, site_url):
    page = open_page("", base=site_url).page
    page.get_by_label("Search", exact=True).first.click(force=True)
    page.keyboard.type("turnover")
    page.locator(".md-search-result__link").first.wait_for()
    hrefs = page.locator(".md-search-result__link").evaluate_all(
        "links => links.map(link => link.getAttribute('href'))"
    )
    assert any("findings/2026-09-09-ormandj-v0.4.2-qualification/" in href for href in hrefs)


def test_a_digest_is_shown_whole_and_can_be_copied(open_page, site_url):
    page = open_page("identities/exl3-k3-dflash2-xgfix/", width=390, base=site_url).page
    shown = page.locator(".dx-digest-full code").evaluate_all("all => all.map(code => code.textContent)")
    digest = "4909e318ba1348a179824e210f90c268d6fc68e8b4e514af4782e26e6a1e5939"
    assert digest in shown
    page.evaluate("navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve(); }")
    page.locator(f"button[data-copy='{digest}']").first.click()
    assert page.evaluate("window.copied") == digest


def test_a_figure_of_the_glance_opens_the_folded_list_at_its_row(open_page, site_url):
    page = open_page("findings/2026-12-01-gemma-3-270m-base-local-smoke/", base=site_url).page
    row = page.locator("#i-p128-c1-ttft_any-median")
    assert not row.is_visible()
    page.locator("[aria-label='Figures of each population'] a[href='#i-p128-c1-ttft_any-median']").click()
    row.wait_for(state="visible")
    assert row.evaluate(
        "row => { const at = row.getBoundingClientRect(); return at.top >= 0 && at.bottom <= innerHeight; }"
    )
