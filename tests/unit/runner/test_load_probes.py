"""Steps, soak and the prefix cache, against servers that saturate, drift, and cache or only say so."""

from __future__ import annotations

import math

import pytest
from runner_support import finding_of, outcome, plan, sampled

from dossier.runner.plan import read_plan
from dossier.runner.probes import probe_of
from dossier.runner.probes.prefix import judge, reuse
from dossier.runner.probes.soak import drift
from dossier.runner.probes.steps import knee
from dossier.runner.schedule import Schedule
from dossier.runner.traits import Traits
from dossier.wire.events import Usage

S = 1_000_000_000


def of(sample):
    return sample.outcome.value, sample.kind


# Steps

STEPS = "{id: load, probe: steps, prompt_tokens: 64, output_tokens: 8, steps: [1, 2, 4, 8], each: 4, requests: 60}"


def stepped(rates):
    """Samples and cells of a steps population whose throughput at each step is the given one, in tok/s."""
    (spec,) = plan(populations=(STEPS,)).populations
    samples, cells = [], []
    for item, rate in zip(probe_of(spec).rounds(spec), rates, strict=True):
        wall = 8 * len(item.indices) / rate
        samples += [
            {"index": index, "outcome": "passed", "usage": {"completion": 8},
             "timing": {"ttft_any": 1, "e2e": round(wall * S), "start_ns": 0}}
            for index in item.indices
        ]  # fmt: skip
        cells.append({"population": item.population, "requests": len(item.indices), "limits": []})
    return spec, samples, cells


@pytest.mark.parametrize(
    ("rates", "at"),
    [((100, 200, 400, 402), 4), ((100, 200, 210, 205), 2), ((100, 200, 400, 800), None), ((100, 99, 98, 97), 1)],
)
def test_the_knee_is_the_least_step_near_the_greatest_rate(rates, at):
    """With the rate still growing at the last step, none is stated."""
    figures = knee(*stepped(rates))
    assert [figure.value for figure in figures] == ([] if at is None else [at])


def test_a_step_at_which_the_client_was_the_limit_leaves_no_knee():
    spec, samples, cells = stepped((100, 200, 210, 205))
    cells[2]["limits"] = ["event-loop lag"]
    assert knee(spec, samples, cells) == []


def test_every_step_is_a_cell_of_its_own_with_its_figures(tmp_path):
    """A server of two slots; how fast it is here is not asserted."""
    finding, _ = finding_of(tmp_path, (STEPS,), schedule=Schedule(ttft_ms=5, gap_ms=1), traits=Traits(slots=2))
    steps = ["load-c1", "load-c2", "load-c4", "load-c8"]
    assert [p.id for p in finding.populations] == ["load", *steps]
    assert [p.planned for p in finding.populations] == [60, 4, 8, 16, 32]
    assert [p.concurrency for p in finding.populations] == [8, 1, 2, 4, 8]
    assert [m.population for m in finding.measurements if m.metric == "throughput"] == steps


def test_the_count_of_all_steps_is_in_plain_sight():
    text = "schema: dossier/plan/v1\nid: t\ntitle: T\nsubject: m\ntarget: {base_url: http://h/v1, model: m}\n"
    found, problems = read_plan(text + "populations: [" + STEPS.replace("60", "12") + "]", "plan.yaml")
    assert found is None
    assert "`requests` is 60: 4 for each of 15 streams" in str(problems[0])


# Soak


def soaked(factor, n=40, used=None):
    """Samples one second apart, whose TTFT grows by a factor over the whole, TPOT staying at 10 ms."""
    return [
        {"index": i, "outcome": "passed", "usage": {"completion": 11},
         "facts": {"host_used_mib": used(i)} if used else {},
         "timing": {"start_ns": i * S, "ttft_any": round(0.1 * S * factor ** (i / (n - 1))),
                    "e2e": round(0.1 * S * factor ** (i / (n - 1))) + S // 10}}
        for i in range(n)
    ]  # fmt: skip


def test_a_steady_growth_is_stated_in_percent_over_the_run():
    figures = {figure.metric: figure for figure in drift(None, soaked(1.5), [])}
    assert figures["ttft_drift"].value == pytest.approx(50, abs=0.01)
    assert figures["tpot_drift"].value == pytest.approx(0, abs=0.01)
    assert figures["ttft_drift"].n == 40


def test_memory_that_grows_by_ten_a_second():
    figures = {figure.metric: figure for figure in drift(None, soaked(1.0, used=lambda i: 1000 + 10 * i), [])}
    assert figures["host_memory_growth"].value == pytest.approx(390)


def test_a_wave_that_returns_is_no_drift():
    samples = soaked(1.0)
    for i, entry in enumerate(samples):
        entry["timing"]["ttft_any"] = round(0.1 * S * (1.2 + math.sin(2 * math.pi * i / 10)))
    figure = next(figure for figure in drift(None, samples, []) if figure.metric == "ttft_drift")
    assert figure.low < 0 < figure.high


def test_few_samples_have_no_drift():
    assert drift(None, soaked(1.5, n=19), []) == []


def test_a_server_that_slows_down_is_found_out(tmp_path):
    """Each request takes a twentieth of the first one's time longer: about three times as long at the end."""
    populations = ("{id: soak, probe: soak, prompt_tokens: 64, output_tokens: 8, requests: 40}",)
    schedule = Schedule(ttft_ms=30, gap_ms=4, tokens=8)
    finding, _ = finding_of(tmp_path, populations, schedule=schedule, traits=Traits(drift=0.05))
    drifted = next(m for m in finding.measurements if m.metric == "ttft_drift")
    assert float(drifted.interval.low) > 0
    assert "host_memory_growth" in {m.metric for m in finding.measurements}


# Prefix cache


def test_a_server_that_caches_is_known_by_what_it_says():
    samples = sampled(Schedule(ttft_ms=1, gap_ms=0, tokens=8), Traits(caches=True, prefill_us=20), probe="prefix",
                      prompt_tokens="1000", requests="3", indices=range(3))  # fmt: skip
    assert {of(sample) for sample in samples} == {("passed", None)}
    prompt, cached = samples[0].facts["prompt"], samples[0].facts["cached"]
    assert abs(prompt[0] - 1000) < 50
    assert cached[0] == 0
    assert cached[1] > 950
    assert cached[2] == 0


def test_a_server_that_says_nothing_of_a_cache_is_no_server_without_one():
    (said,) = sampled(Schedule(ttft_ms=1, gap_ms=0, tokens=8), probe="prefix", prompt_tokens="300")
    assert of(said) == ("missed", "cached-not-stated")
    (off,) = sampled(Schedule(ttft_ms=1, gap_ms=0, tokens=8), probe="prefix", prompt_tokens="300", expect="off")
    assert of(off) == ("passed", None)


@pytest.mark.parametrize(
    ("cached", "expect", "kind"),
    [
        ((0, 900, 0), "on", None),
        ((40, 900, 40), "on", None),  # the template's own beginning
        ((0, 100, 0), "on", "not-cached"),
        ((900, 900, 0), "on", "new-prompt-cached"),
        ((0, 900, 900), "on", "new-prompt-cached"),
        ((0, 900, 0), "off", "cached-though-off"),
        ((0, 0, 0), "off", None),
        ((None, None, None), "off", None),
    ],
)
def test_only_the_repeated_text_may_come_from_a_cache(cached, expect, kind):
    assert judge([outcome("x", usage=Usage(1000, 8, None, value)) for value in cached], expect).kind == kind


def test_reuse_is_cached_over_prompt_and_the_ratio_is_of_pairs():
    """900 of 1000 and 700 of 1000 are 80 %; 0.5 and 0.125 of the cold times have the geometric mean 0.25."""
    samples = [
        {"outcome": "passed", "facts": {"prompt": [1000] * 3, "cached": [0, 900, 0], "ttft_ns": [100, 50]}},
        {"outcome": "passed", "facts": {"prompt": [1000] * 3, "cached": [0, 700, 0], "ttft_ns": [800, 100]}},
    ]
    figures = {figure.metric: figure for figure in reuse(None, samples, [])}
    assert figures["prefix_hit_rate"].value == 80
    assert figures["warm_ttft_ratio"].value == pytest.approx(0.25)
