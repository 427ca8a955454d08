"""Pictures: where marks stand, what is not drawn and why, and that they hold nothing but text of records."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
from small_site import finding, recipe, site_of, words

from dossier.pages.finding import finding_page
from dossier.pages.model import dossier_fragments, model_page
from dossier.pages.pictures.scale import along, around_zero, from_zero, tick_label

HOSTILE = '</svg><script>alert(1)</script>"'


def _svgs(body):
    return [ET.fromstring(svg) for svg in re.findall(r"<svg class=\"dx-(?:chart|track)\".*?</svg>", body)]


def _population(id_, **more):
    return {"id": id_, "arm": "a", "class": "performance", "planned": 12, "completed": 12, "failed": 0, **more}


def _model(site):
    return model_page(site, "model-a", lambda id_: dossier_fragments(site, site.view("models/model-a/"), id_)).body


@pytest.mark.parametrize(
    ("values", "ticks"), [([7.0], (0, 2, 4, 6, 8)), ([0.178], (0, 0.05, 0.1, 0.15, 0.2)), ([150.0], (0, 50, 100, 150))]
)
def test_an_axis_from_zero_ends_at_a_round_value(values, ticks):
    assert from_zero(values, 0, 1).ticks == pytest.approx(ticks)


def test_an_axis_over_sizes_doubles():
    scale = along([4000.0, 206630.0], 0, 100)
    assert scale.logarithmic
    assert scale.at(2048) == 0
    assert scale.at(262144) == 100
    assert scale.at(2048 * 2**3.5) == pytest.approx(50)
    assert [tick_label(t) for t in (4096, 131072, 1048576, 0.5, 150)] == ["4K", "128K", "1M", "0.5", "150"]


def test_zero_stands_in_the_middle_of_a_difference():
    scale = around_zero(39.6, 0, 100)
    assert scale.at(0) == 50
    assert scale.high == 40


def test_pass_rates_are_drawn_with_the_exact_interval(tmp_path):
    site = site_of(
        tmp_path,
        finding("2026-01-01-one", populations=[
            {"id": "p", "planned": 60, "completed": 60, "failed": 0, "passed": 58, "title": HOSTILE},
            {"id": "q", "planned": 5, "completed": 5, "failed": 0, "passed": 4},
            {"id": "r", "planned": 3, "completed": 3, "failed": 0, "passed": 3, "excluded": {"reason": "too-few"}},
        ]),
    )  # fmt: skip
    body = finding_page(site, "2026-01-01-one").body
    first, second = _svgs(body)
    span = next(line for line in first if line.get("class") == "dx-p-range")
    # 58/60: 0.884719 to 0.995937 (Clopper-Pearson, from the table of reference/statistics.md)
    assert (span.get("x1"), span.get("x2")) == ("88.47", "99.59")
    assert next(line for line in second if line.get("class") == "dx-p-point").get("x1") == "80.00"
    assert "Not drawn: 1 excluded." in words(body)
    assert "<script>alert" not in body


def test_a_part_is_not_drawn_beside_its_whole(tmp_path):
    site = site_of(
        tmp_path,
        finding("2026-01-01-one", populations=[
            {"id": "whole", "planned": 60, "completed": 60, "failed": 0, "passed": 58},
            {"id": "start-1", "part_of": "whole", "planned": 30, "completed": 30, "failed": 0, "passed": 28},
            {"id": "start-2", "part_of": "whole", "planned": 30, "completed": 30, "failed": 0, "passed": 30},
            {"id": "other", "planned": 5, "completed": 5, "failed": 0, "passed": 4},
        ]),
    )  # fmt: skip
    body = finding_page(site, "2026-01-01-one").body
    assert len(_svgs(body)) == 2
    assert "Not drawn: 2 in a whole that is drawn." in words(body)


def test_differences_are_drawn_with_their_band(tmp_path):
    def value(id_, text):
        return {"id": id_, "metric": "decode_rate", "value": f"{text} tok/s", "n": 12, "statistic": "median"}

    site = site_of(
        tmp_path,
        finding(
            "2026-01-01-one",
            measurements=[value("a", "97.00"), value("b", "100.00"), value("c", "142.64"), value("d", "102.19")],
            comparisons=[
                {"id": "one", "candidate": "a", "baseline": "b", "band": "±5 %"},
                {"id": "two", "candidate": "c", "baseline": "d"},
            ],
        ),
    )
    first, second = _svgs(finding_page(site, "2026-01-01-one").body)
    band = next(part for part in first if part.get("class") == "dx-p-band")
    # 142.64/102.19 is +39.58 %, so the axis reaches 40 % either way: 5 % is 6.25 of a hundred.
    assert (float(band.get("x")), float(band.get("width"))) == (43.75, 12.5)
    assert float(next(p for p in first if p.get("class") == "dx-p-point").get("x1")) == pytest.approx(46.25)
    assert float(next(p for p in second if p.get("class") == "dx-p-point").get("x1")) == pytest.approx(99.48, abs=0.01)


def test_speed_against_context_is_joined_within_one_load_and_leaves_out_what_cannot_be_claimed(tmp_path):
    def rate(id_, population, value, **more):
        return {"id": id_, "metric": "decode_rate", "value": f"{value} tok/s", "population": population, "n": 12,
                "statistic": "median", **more}  # fmt: skip

    site = site_of(
        tmp_path,
        recipe("first"),
        finding(
            "2026-01-01-one",
            arms={"a": {"recipe": "first"}},
            populations=[
                _population("p", target="4K"),
                _population("q", prompt_tokens="206630"),
                _population("r", target="8K", excluded={"reason": "strict-output-miss"}),
                _population("s", target="16K", concurrency=4),
            ],
            measurements=[
                rate("m", "p", "83.08"),
                rate("n", "q", "42.61", interval={"low": "40", "high": "45", "level": "95", "method": "ranks"}),
                rate("o", "r", "70.00"),
                rate("x", "s", "60.00"),
                {**rate("y", "p", "99"), "statistic": "p95"},
            ],
        ),
        finding("2026-01-02-said", provenance="reported", arms={"a": {"recipe": "first"}},
                populations=[_population("p", target="4K")], measurements=[rate("m", "p", "400")]),
    )  # fmt: skip
    body = _model(site)
    [chart] = _svgs(body)
    series = [g for g in chart if (g.get("class") or "").startswith("dx-s")]
    lines = [part.get("d") for g in series for part in g if part.get("class") == "dx-line"]
    assert [line.count(",") for line in lines] == [2]
    assert sum(1 for mark in chart.iter("path") if "dx-mark" in mark.get("class", "")) == 3
    assert sum(1 for mark in chart.iter("line") if mark.get("class") == "dx-whisker") == 1
    told = words(body)
    assert "Not drawn: 1 excluded; 1 of too few values; 1 reported only." in told
    assert "The 3 figures drawn" in told
    assert "n 12" in "".join(chart.itertext())


def test_what_was_withdrawn_is_not_drawn(tmp_path):
    def one(id_):
        return finding(
            id_, arms={"a": {"recipe": "first"}},
            populations=[_population("p", target="4K"), _population("q", target="8K")],
            measurements=[
                {"id": f"m-{p}", "metric": "decode_rate", "value": "80 tok/s", "population": p, "n": 12,
                 "statistic": "median"} for p in ("p", "q")
            ],
        )  # fmt: skip

    taken = finding("2026-02-01-taken", kind="withdrawal", links={"withdraws": "2026-01-01-one"},
                    withdrawal={"reason": "Wrong server.", "by": "somebody"})  # fmt: skip
    body = _model(site_of(tmp_path, recipe("first"), one("2026-01-01-one"), taken))
    assert _svgs(body) == []


def test_the_lanes_of_a_model_are_drawn_over_time(tmp_path):
    def promote(name, **more):
        return [{"id": "d", "outcome": "promote", "lanes": ["text"], "recipe": name, "human_approval": True,
                 "limitation": "One.", **more}]  # fmt: skip

    site = site_of(
        tmp_path,
        recipe("first"),
        recipe("second"),
        finding("2026-01-01-one", decisions=promote("first")),
        finding("2026-01-11-two", decisions=promote("second", rollback="first")),
        finding("2026-01-21-three", title=HOSTILE),
    )
    [chart] = [svg for svg in _svgs(_model(site)) if "current" in "".join(svg.itertext())]
    first, second = chart.iter("rect")
    # Ten days of twenty each, over 704 units from 8.
    assert (float(first.get("x")), float(second.get("x"))) == (8.0, 360.0)
    assert float(second.get("width")) == pytest.approx(352 - 1.5)
    assert "dx-reign-now" in second.get("class")
