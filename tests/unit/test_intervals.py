"""Expected bounds are those of the reference table; see `test_stats`."""

from __future__ import annotations

import pytest

from dossier.derive.format import NBSP
from dossier.derive.intervals import comparison_interval, measurement_interval, pass_counts, population_interval
from dossier.model.finding import Finding
from dossier.model.measurement import Measurement
from dossier.model.workload import Population


def population(**fields):
    return Population.model_validate({"id": "p", **fields})


def measurement(**fields):
    return Measurement.model_validate({"id": "m", "metric": "e2e", "value": "2.0 s", **fields})


def plain(text):
    return text.replace(NBSP, " ") if text else text


@pytest.mark.parametrize(
    ("passed", "planned", "shown"),
    [
        ("58", "60", "95 % interval 88.5–99.6 %"),
        ("60", "60", "95 % interval 94.0–100.0 %"),
        ("0", "10", "95 % interval 0.0–30.8 %"),
    ],
)
def test_of_a_population(passed, planned, shown):
    assert plain(population_interval(population(passed=passed, planned=planned))) == shown


def test_of_what_was_run():
    assert pass_counts(population(passed="5", planned="10", not_run="5")) == (5, 5)


@pytest.mark.parametrize(
    "fields", [{}, {"planned": "3"}, {"planned": "0", "passed": "0"}, {"planned": {"unknown": "x"}, "passed": "2"}]
)
def test_nothing_graded_has_none(fields):
    assert population_interval(population(**fields)) is None


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({"statistic": "median", "n": "3"}, "no 95 % interval at n=3; it takes 6"),
        ({"statistic": "median", "n": "12"}, "95 % interval: values 3 to 10 of 12"),
        ({"statistic": "p95", "n": "60"}, "no 95 % interval at n=60; it takes 72"),
        ({"statistic": "p95", "n": "100"}, "95 % interval: values 90 to 100 of 100"),
        ({"statistic": "mean", "n": "12"}, None),
        ({"statistic": "median"}, None),
        ({"statistic": "median", "n": {"unknown": "x"}}, None),
        (
            {"interval": {"low": "1.90", "high": "2.10", "level": "95", "method": "order statistics"}},
            "95 % interval 1.90–2.10 s (order statistics)",
        ),
    ],
)
def test_of_a_measurement(fields, shown):
    assert plain(measurement_interval(measurement(**fields))) == shown


def test_takes_the_count_of_the_population():
    found = measurement_interval(measurement(statistic="median"), population(completed="12"))
    assert plain(found) == "95 % interval: values 3 to 10 of 12"


def comparison(**fields):
    finding = Finding.model_validate(
        {
            "schema": "dossier/finding/v1", "id": "2026-02-01-x", "title": "x", "date": "2026-02-01",
            "kind": "comparison", "provenance": "transcribed", "models": ["demo"], "summary": "x",
            "populations": [
                {"id": "a", "planned": "60", "passed": "58"},
                {"id": "b", "planned": "60", "passed": "53"},
                {"id": "c", "planned": "60"},
            ],
            "comparisons": [{"id": "d", "candidate": "a", "baseline": "b", **fields}],
        }
    )  # fmt: skip
    return finding.comparisons[0], finding, lambda _: None


def test_of_two_rates():
    assert plain(comparison_interval(*comparison(metric="pass_rate"))) == "95 % interval −1.6 to +19.1 points"


def test_stated_interval_of_a_difference():
    interval = {"low": "-0.20", "high": "0.50", "level": "90", "method": "paired t"}
    found = comparison_interval(*comparison(metric="e2e", interval=interval))
    assert plain(found) == "90 % interval −0.20 to +0.50 % (paired t)"


@pytest.mark.parametrize("fields", [{"metric": "e2e"}, {"metric": "pass_rate", "baseline": "c"}])
def test_no_interval(fields):
    assert comparison_interval(*comparison(**fields)) is None
