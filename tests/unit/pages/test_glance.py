"""Figures at a glance: a population a row, a metric a column, every figure linked to its own row."""

from __future__ import annotations

import re

from small_site import finding, recipe, site_of, words

from dossier.pages.finding import finding_page

HERE = "2026-02-02-here"


def page(tmp_path, populations, measurements):
    record = finding(
        HERE,
        arms={"candidate": {"recipe": "recipe-a"}},
        populations=[
            {"id": id_, "title": id_.upper(), "arm": "candidate", **more} for id_, more in populations.items()
        ],
        measurements=measurements,
    )
    return finding_page(site_of(tmp_path, recipe("recipe-a"), record), HERE).body


def figure(id_, value, statistic, population="cell", metric="ttft_any", **more):
    return {"id": id_, "metric": metric, "value": value, "statistic": statistic, "population": population, **more}


def table(body):
    """The rows of the glance as lists of the words in their cells."""
    found = re.search(r'aria-label="Figures of each population".*?</table>', body, re.DOTALL)
    rows = re.findall(r"<tr.*?</tr>", found[0], re.DOTALL) if found else []
    return [
        [
            words(cell).replace("\N{NO-BREAK SPACE}", " ").strip()
            for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL)
        ]
        for row in rows
    ]


def test_the_centre_stands_first_and_the_rest_below_it(tmp_path):
    figures = [
        figure("a-max", "0.9 s", "max", n=6),
        figure("a-median", "0.5 s", "median", n=6),
        figure("rate", "12 tok/s", "rate", metric="throughput", n=6),
    ]
    assert table(page(tmp_path, {"cell": {}}, figures)) == [
        ["Population", "TTFT (any)", "Output throughput"],
        ["CELL candidate n 6", "0.5 s median max 0.9 s", "12 tok/s rate"],
    ]


def test_where_the_numbers_of_samples_differ_each_figure_says_its_own(tmp_path):
    figures = [
        figure("a", "0.5 s", "median", n=6),
        figure("b", "0.9 s", "max", n=6),
        figure("c", "4 s", "mean", metric="e2e", n=5),
    ]
    assert table(page(tmp_path, {"cell": {}}, figures))[1][1:] == ["0.5 s median, n 6 max 0.9 s", "4 s mean, n 5"]


def test_a_population_without_a_metric_says_that_nothing_is_recorded(tmp_path):
    figures = [
        figure("a", "0.5 s", "median"),
        figure("b", "0.9 s", "max"),
        figure("c", "4 s", "mean", population="other", metric="e2e"),
    ]
    rows = table(page(tmp_path, {"cell": {}, "other": {}, "third": {}}, figures))
    assert [row[0].split()[0] for row in rows] == ["Population", "CELL", "OTHER"]
    assert rows[2][1:] == ["—", "4 s mean"]


def test_every_figure_leads_to_its_own_row_and_an_excluded_one_is_marked(tmp_path):
    excluded = {"reason": "canary-miss"}
    figures = [figure("a", "0.5 s", "median"), figure("b", "0.9 s", "max")]
    body = page(tmp_path, {"cell": {"excluded": excluded}}, figures)
    for id_ in ("a", "b"):
        assert f'href="#i-{id_}"' in body
        assert f'<tr id="i-{id_}">' in body
    assert table(body)[1][0] == "CELL excluded candidate"


def test_single_figures_are_a_list_as_before(tmp_path):
    assert table(page(tmp_path, {"cell": {}}, [figure("a", "0.5 s", "median")])) == []
