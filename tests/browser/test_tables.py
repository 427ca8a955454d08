"""Tables in a real browser: sorting by value, facets with their state in the address, columns, CSV, the keyboard."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser

FINDING = "findings/2026-09-09-ormandj-v0.4.2-qualification/"


def _dates(page):
    return page.locator(".dx-runs tbody time").evaluate_all("all => all.map(each => each.dateTime)")


def test_a_column_sorts_by_value_not_by_text(open_page, site_url):
    page = open_page(FINDING, base=site_url).page
    table = page.locator(".dx-table", has=page.get_by_role("button", name="Target")).first
    table.get_by_role("button", name="Target").click()
    column = table.locator("thead th").evaluate_all("all => all.findIndex(th => th.hasAttribute('aria-sort'))")
    targets = table.locator("tbody tr").evaluate_all(f"all => all.map(row => row.cells[{column}].textContent)")
    known = [text for text in targets if text != "—"]
    assert len(set(known)) > 1
    assert known == sorted(known, key=lambda text: float(text.split("K")[0]))
    table.get_by_role("button", name="Target").click()
    assert table.locator("th[aria-sort='descending']").count() == 1


def test_failed_gates_on_one_machine_in_a_quarter(open_page, site_url):
    page = open_page("findings/", base=site_url).page
    page.get_by_text("Filter", exact=True).click()
    page.get_by_role("checkbox", name="fail").click()
    page.get_by_label("From date").fill("2026-07-01")
    page.get_by_label("To date").fill("2026-09-30")
    page.locator("[id^='facet-hardware']").first.click()
    rows = page.locator(".dx-runs tbody tr")
    assert rows.count() >= 1
    for row in rows.all():
        assert "fail" in row.get_attribute("data-verdict").split("|")
        assert "2026-07-01" <= row.locator("time").first.get_attribute("datetime") <= "2026-09-30"
    url = page.evaluate("location.href")
    assert "verdict=fail" in url
    assert "from=2026-07-01" in url
    shown = _dates(page)
    page.goto(url)
    assert _dates(page) == shown
    page.get_by_role("button", name="Clear filters").click()
    assert rows.count() > len(shown)
    assert page.evaluate("location.search") == ""


def test_counts_say_what_a_further_choice_would_leave(open_page, site_url):
    page = open_page("findings/?kind=promotion", base=site_url).page
    label = page.locator(".dx-facet", has_text="Provenance").locator("label").first
    expected = int(label.locator(".dx-count").inner_text())
    label.click()
    assert page.locator(".dx-runs tbody tr").count() == expected


def test_csv_holds_exactly_what_is_shown(open_page, site_url):
    page = open_page("findings/?verdict=fail&hide=Classes", base=site_url).page
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as CSV").click()
    rows = list(csv.reader(io.StringIO(Path(download.value.path()).read_bytes().decode("utf-8-sig"), newline="")))
    heads = page.locator(".dx-runs thead th:visible").all_inner_texts()
    assert "Classes" not in heads
    assert [head.strip() for head in rows[0]] == [head.strip() for head in heads]
    assert len(rows) - 1 == page.locator(".dx-runs tbody tr").count()


def test_no_cell_of_a_csv_is_a_formula(open_page, site_url):
    page = open_page(FINDING, base=site_url).page
    text = page.evaluate(
        """async () => {
            const row = document.querySelector(".dx-table:has(thead button) tbody tr");
            const kept = [];
            URL.createObjectURL = (blob) => { kept.push(blob); return "#"; };
            row.cells[0].textContent = "=HYPERLINK(1)";
            row.cells[1].textContent = "+39.5 %";
            row.closest(".dx-table").previousElementSibling.querySelector("button").click();
            return kept[0].text();
        }"""
    )
    cells = [cell for row in csv.reader(io.StringIO(text.lstrip("\ufeff"))) for cell in row]
    assert "'=HYPERLINK(1)" in cells
    assert "+39.5 %" in cells


def test_everything_works_by_keyboard(open_page, site_url):
    page = open_page("findings/", width=390, base=site_url).page
    page.get_by_text("Filter", exact=True).focus()
    page.keyboard.press("Enter")
    box = page.locator("[id^='facet-verdict']").first
    box.focus()
    page.keyboard.press("Space")
    assert "verdict=" in page.evaluate("location.search")
    assert page.evaluate("document.activeElement.id").startswith("facet-verdict")


def test_without_a_script_every_row_and_every_year_is_there(browser, site_url):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site_url}findings/")
    total = int(page.locator(".dx-lede").inner_text().split()[0])
    assert page.locator(".dx-runs tbody tr").count() == total
    context.close()
