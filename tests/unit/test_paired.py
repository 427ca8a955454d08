"""Replicates: paired ratios, equivalence and Holm over a family. Expected values are those of the reference table."""

from __future__ import annotations

import json
from math import comb
from pathlib import Path

import pytest
from rule_cases import check_text

from dossier.derive.paired import p_of, ratio, significance, told, within
from dossier.model.finding import Finding
from dossier.stats import fisher, paired_p

# statistics.md 2.5: R = .939719, 95 % (.933392, .946090).
B = [100, 104, 98, 110, 102, 95, 107, 101, 99, 103, 106, 100]
C = [93, 99, 92, 101, 97, 90, 100, 95, 93, 98, 99, 94]
# statistics.md 2.5: R = 1.001311, 90 % (.997675, 1.004959), equivalent at 3 %.
ALIKE = ["1.010", ".995", "1.004", ".990", "1.012", ".998", "1.006", ".993", "1.001", "1.008", ".996", "1.003"]
HEAD = {
    "schema": "dossier/finding/v1", "id": "2026-02-01-case", "title": "x", "date": "2026-02-01", "kind": "comparison",
    "provenance": "transcribed", "models": ["demo"], "summary": "x",
}  # fmt: skip


def each(values, of="prompt"):
    return {"of": of, "values": [str(v) if str(v)[0] != "." else f"0{v}" for v in values]}


def finding(*comparisons, candidate=C, baseline=B, **more):
    rows = [
        {"id": "c", "metric": "e2e", "value": "1 s", "each": each(candidate)},
        {"id": "b", "metric": "e2e", "value": "1 s", "each": each(baseline)},
    ]
    told_ = [{"id": f"d{n}", "candidate": "c", "baseline": "b", **c} for n, c in enumerate(comparisons)]
    return Finding.model_validate({**HEAD, "measurements": rows, "comparisons": told_, **more})


def nowhere(_):
    return None


def test_the_ratio_of_pairs_has_the_interval_of_the_reference():
    here = finding({"paired": "true"})
    found = ratio(here.comparisons[0], here, nowhere)
    assert (found.ratio, found.low, found.high, found.n) == pytest.approx((0.939719, 0.933392, 0.946090, 12), abs=1e-6)


def test_what_is_not_said_to_be_paired_is_not_paired():
    here = finding({})
    assert ratio(here.comparisons[0], here, nowhere) is None
    assert told(here.comparisons[0], here, nowhere) == []


def test_equivalence_is_two_one_sided_tests_in_the_declared_band():
    here = finding({"paired": "true", "band": "±3 %"}, candidate=ALIKE, baseline=["1.000"] * 12)
    comparison = here.comparisons[0]
    found = within(comparison, comparison.band, here, nowhere)
    assert (found.ratio, found.low, found.high) == pytest.approx((1.001311, 0.997675, 1.004959), abs=1e-6)
    assert found.equivalent
    assert "equivalent within ±3 % (90 % interval −0.23 to +0.50 %)" in plain(told(comparison, here, nowhere))


def plain(texts):
    return "; ".join(texts).replace("\u00a0", " ")


# statistics.md 2.5: 58/60 against 53/60, Fisher p = .162938.
def test_fisher_gives_the_reference_and_is_one_for_equal_rates():
    assert fisher(58, 60, 53, 60) == pytest.approx(0.162938, abs=1e-6)
    assert fisher(53, 60, 58, 60) == pytest.approx(0.162938, abs=1e-6)
    assert fisher(30, 60, 30, 60) == pytest.approx(1)


def test_counts_beyond_all_use_are_not_tested_and_do_not_hang():
    populations, rows = rates((10**14, 10**14 - 5))
    for population in populations:
        population["planned"] = str(10**14)
    here = Finding.model_validate({**HEAD, "populations": populations, "comparisons": rows})
    assert p_of(here.comparisons[0], here, nowhere) is None


# By hand: log ratios ln 1.1, ln 1.2, ln 1.3 have mean .180015 and standard error .048288, so t = 3.7280 with two
# degrees of freedom, and p = 1 - t / sqrt(2 + t^2) = .0650.
def test_p_of_three_pairs_by_hand():
    assert paired_p([11, 12, 13], [10, 10, 10]) == pytest.approx(0.0650, abs=1e-4)


def rates(*passed):
    """One comparison of 60 against 60 for each pair of counts, all of one family."""
    populations = [
        {"id": f"{side}{n}", "planned": "60", "passed": str(k)}
        for n, pair in enumerate(passed)
        for side, k in zip("cb", pair, strict=True)
    ]
    rows = [
        {"id": f"d{n}", "candidate": f"c{n}", "baseline": f"b{n}", "metric": "pass_rate", "family": "tools"}
        for n in range(len(passed))
    ]
    return populations, rows


def test_holm_takes_the_members_of_a_family_together():
    populations, rows = rates((60, 50), (58, 53), (60, 54), (57, 57))
    here = Finding.model_validate({**HEAD, "populations": populations, "comparisons": rows})
    ps = [p_of(c, here, nowhere) for c in here.comparisons]
    found = [significance(c, here, nowhere) for c in here.comparisons]
    # By hand, step down: the least p times 4, the next times 3, each at least the one before, none above 1.
    least, second, third, last = sorted(ps)
    expected = {
        least: 4 * least,
        second: max(4 * least, 3 * second),
        third: max(4 * least, 3 * second, 2 * third),
        last: 1.0,
    }
    assert [t.adjusted for t in found] == pytest.approx([expected[p] for p in ps])
    assert {t.size for t in found} == {4}
    assert plain(told(here.comparisons[3], here, nowhere)) == "p = 1.000; p = 1.000 among 4 (Holm)"


def test_a_primary_comparison_keeps_its_p_and_is_not_counted_with_the_rest():
    populations, rows = rates((60, 50), (60, 54))
    rows[1]["primary"] = "true"
    here = Finding.model_validate({**HEAD, "populations": populations, "comparisons": rows})
    rest, primary = (significance(c, here, nowhere) for c in here.comparisons)
    assert (primary.primary, primary.adjusted) == (True, primary.p)
    assert (rest.size, rest.adjusted) == (1, rest.p)


def test_a_family_with_a_member_that_cannot_be_tested_is_not_adjusted_at_all():
    populations, rows = rates((60, 50), (60, 54))
    populations[0].pop("passed")
    here = Finding.model_validate({**HEAD, "populations": populations, "comparisons": rows})
    assert [significance(c, here, nowhere) for c in here.comparisons] == [None, None]


# All of the tables that are no likelier put all six failures on one side. Four of one question are adjusted together.
def test_faster_needs_an_adjusted_p_within_a_family(tmp_path):
    populations, rows = rates((60, 54), (58, 57), (58, 57), (58, 57))
    case = {**HEAD, "summary": "The candidate is better: [[d0]].", "populations": populations, "comparisons": rows}
    assert fisher(60, 60, 54, 60) == pytest.approx(2 * comb(60, 6) / comb(120, 6))  # .0274
    problems = check_text(json.dumps(case, indent=1), tmp_path / "family")
    assert ["p = 0.027, but 0.110 among the 4 of tools (Holm)" in p.message for p in problems] == [True]
    for row in rows:
        row.pop("family")
    assert check_text(json.dumps(case, indent=1), tmp_path / "alone") == []


# statistics.md 2.5: "2.8 % slower, inside 3 %" at n = 3 with a log-sd of .002 fails, p = .108.
def test_three_pairs_do_not_show_equivalence_near_the_edge_of_the_band(tmp_path):
    text = (Path(__file__).parents[1] / "evidence/invalid/claims/paired.good.yaml").read_text("utf-8")
    text = text.replace("value: 0.17 s", "value: 97.2 s").replace("value: 0.20 s", "value: 100 s")
    text = text.replace("[0.16, 0.17, 0.18]", "[97.0058, 97.2, 97.3946]").replace(
        "[0.19, 0.20, 0.21]", "[100, 100, 100]"
    )
    [problem] = check_text(f"{text}    band: ±3 %\n", tmp_path)
    assert problem.rule == "claims/equivalence"
    assert "(p = 0.108): within ±3 % is not shown" in problem.message
