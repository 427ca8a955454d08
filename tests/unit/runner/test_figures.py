"""Figures from samples: every expected value by hand."""

from __future__ import annotations

from decimal import Decimal

import pytest
from runner_support import plan

from dossier.runner.figure import kept, rounded, statistics_of
from dossier.runner.figures import cache_figures, gauge_figures, latency_figures, load_figures, meets
from dossier.runner.outcome import Goal

S = 1_000_000_000
CELL = "{id: c, probe: cell, prompt_tokens: 100, output_tokens: 65, concurrency: 2, requests: 2}"


def sample(*, ttft_s=1.0, e2e_s=5.0, tokens=65, outcome="passed", lag_s=0.0, **usage):
    timing = {"ttft_any": int(ttft_s * S), "ttft_visible": int(ttft_s * S), "e2e": int(e2e_s * S),
              "start_ns": 0, "lag_ns": int(lag_s * S), "gaps_us": []}  # fmt: skip
    return {"outcome": outcome, "timing": timing, "usage": {"completion": tokens, "prompt": 100, **usage}}


def cell(requests=2, **grown):
    return {"requests": requests, "limits": [], "server": {"grown": grown}, "memory": {}}


def value(figures, metric, statistic):
    return next(f.value for f in figures if (f.metric, f.statistic) == (metric, statistic))


def test_tpot_leaves_out_the_first_token():
    """(5.0 - 1.0) / (65 - 1) = 0.0625 s; 16 tok/s; 100 prompt tokens in 1.0 s."""
    figures = latency_figures([sample()])
    assert value(figures, "tpot", "single") == 0.0625
    assert value(figures, "decode_rate", "single") == 16.0
    assert value(figures, "effective_prefill", "single") == 100.0


def test_an_open_load_counts_from_the_scheduled_time():
    figures = latency_figures([sample(ttft_s=1.0, e2e_s=5.0, lag_s=0.5)])
    assert value(figures, "ttft_any", "single") == 1.5
    assert value(figures, "e2e", "single") == 5.5
    assert value(figures, "tpot", "single") == 0.0625


def test_what_did_not_pass_feeds_no_latency():
    figures = latency_figures([sample(), sample(ttft_s=9.0, outcome="missed"), sample(ttft_s=9.0, outcome="failed")])
    assert value(figures, "ttft_any", "single") == 1.0


def test_one_token_has_no_tpot():
    assert not any(figure.metric == "tpot" for figure in latency_figures([sample(tokens=1)]))


def test_a_tiny_value_is_rounded_from_what_the_artifact_keeps():
    """To nine places first: rounded on its own it would be 0.000009970, half to even, and not what stands there."""
    assert kept(0.0000099705) == 0.000009971
    assert rounded(0.0000099705) == Decimal("0.000009971")


def test_a_count_has_no_decimals():
    assert rounded(6) == Decimal(6)
    assert str(rounded(123456)) == "123456"
    assert str(rounded(6.0)) == "6.000"


def test_nothing_gives_no_figure_and_never_zero():
    assert latency_figures([]) == []
    assert load_figures(2, None, [], [cell()]) == []


@pytest.mark.parametrize(
    ("n", "expected"),
    [(1, ["single"]), (2, ["median", "min", "max"]), (28, ["median", "min", "max"]),
     (29, ["median", "p90", "min", "max"]), (59, ["median", "p90", "p95", "min", "max"]),
     (299, ["median", "p90", "p95", "p99", "min", "max"])],
)  # fmt: skip
def test_a_percentile_needs_its_least_n(n, expected):
    assert [figure.statistic for figure in statistics_of("e2e", "s", [1.0 + i for i in range(n)])] == expected


def test_the_median_of_twelve_lies_between_the_third_and_the_tenth():
    figure = statistics_of("e2e", "s", [float(i) for i in range(1, 13)])[0]
    assert (figure.value, figure.low, figure.high) == (6.5, 3.0, 10.0)


def test_throughput_is_all_tokens_over_the_wall():
    """100 tokens in 1 s and 100 in 4 s at once: 200 / 4, not the mean of two rates."""
    spec = plan(populations=(CELL,)).cells[0]
    samples = [sample(ttft_s=0.1, e2e_s=1.0, tokens=100), sample(ttft_s=0.1, e2e_s=4.0, tokens=100)]
    figures = load_figures(spec.requests, spec.goal, samples, [cell()])
    assert value(figures, "throughput", "rate") == 50.0
    assert value(figures, "request_throughput", "rate") == 0.5


def test_an_interrupted_cell_has_no_rate_of_a_batch():
    assert load_figures(2, None, [sample(), sample()], [cell(1), cell(1)]) == []


def test_goodput_counts_requests_that_meet_every_limit():
    goal = Goal(ttft_ms="1000", tpot_ms="62.5")
    assert meets(sample(), goal)
    assert not meets(sample(ttft_s=1.001), goal)
    assert not meets(sample(e2e_s=5.1), goal)
    assert not meets(sample(tokens=1), goal)


def test_cached_and_accepted_tokens_are_shares_of_totals():
    figures = cache_figures([sample(cached=50), sample(cached=0)], [cell(drafted=200.0, accepted=150.0)])
    assert value(figures, "prefix_hit_rate", "rate") == 25.0
    assert value(figures, "acceptance_rate", "rate") == 75.0


@pytest.mark.parametrize(
    ("exact", "shown"), [(0.123456, "0.1235"), (16.0, "16.00"), (12345.6, "12346"), (0.0625, "0.06250")]
)
def test_four_digits_are_shown(exact, shown):
    assert rounded(exact) == Decimal(shown)
    assert str(rounded(exact)) == shown


def test_gauges_are_figures_of_the_readings_during_the_load():
    """The readings before and after it are left out: 1, 2, 4 waited, and the cache was used by a quarter and a half."""
    seen = [{"server": {"gauges": {"waiting": [0, 1, 2, 4, 0], "kv": [0, 0.25, 0.5, 0.01], "running": [0, 0]}}}]
    figures = gauge_figures(seen)
    assert [(f.metric, f.statistic, f.value, f.unit, f.n) for f in figures] == [
        ("requests_waiting", "median", 2, "requests", 3),
        ("requests_waiting", "max", 4, "requests", 3),
        ("kv_use", "median", 37.5, "%", 2),
        ("kv_use", "max", 50, "%", 2),
    ]
    assert gauge_figures([{"server": {}}]) == []
