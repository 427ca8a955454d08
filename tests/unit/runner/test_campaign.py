"""Campaigns as declared and as computed: order, pairing, intervals, verdicts; on samples drawn by seed."""

from __future__ import annotations

import math

import pytest
from simulated import AT, PLAN, Simulated, noisy, plan, timed, verdicts

from dossier.runner.arms import Course, groups
from dossier.runner.boundary import boundary
from dossier.runner.journal import read_journal
from dossier.runner.plan import plan_of, read_plan
from dossier.runner.record import told_by
from dossier.runner.verdicts import operating_curve
from dossier.stats import acceptance, at_most

CELL = "{id: c1, probe: cell, prompt_tokens: 100, output_tokens: 65, requests: 12}"
SPEED = "{id: speed, population: c1, metric: e2e}"
GATES = (
    "{id: faster, subject: speed, require: 'shown < 0 %'}",
    "{id: no-slower, subject: speed, require: 'shown < 3 %'}",
    "{id: same, subject: speed, require: 'shown within ±3 %'}",
)


def order(name, starts):
    course = Course.model_validate({"order": name, "starts": str(starts)})
    return [[f"{block.arm}{block.start}" for block in group] for group in groups(["a", "b"], course)]


@pytest.mark.parametrize(
    ("name", "starts", "expected"),
    [
        ("ABBA", 2, [["a1"], ["b1"], ["b2"], ["a2"]]),
        ("ABBA", 4, [["a1"], ["b1"], ["b2"], ["a2"], ["a3"], ["b3"], ["b4"], ["a4"]]),
        ("bracketed", 1, [["a1"], ["b1"], ["a2"]]),
        ("bracketed", 2, [["a1"], ["b1"], ["a2"], ["b2"], ["a3"]]),
        ("sequential", 2, [["a1"], ["a2"], ["b1"], ["b2"]]),
        ("interleaved", 1, [["a1", "b1"]]),
    ],
)
def test_the_order_of_blocks(name, starts, expected):
    assert order(name, starts) == expected


def wrong(text):
    found, problems = read_plan(text, "plan.yaml")
    assert found is None
    return problems[0].message


def planned(**lists):
    text = PLAN.replace("SCHEDULE", lists.get("schedule", "schedule: {order: ABBA, starts: 2}"))
    given = {"POPULATIONS": (CELL, "{id: chat, probe: chat, requests: 3}"), "COMPARISONS": (SPEED,), "GATES": GATES}
    for name, lines in given.items():
        text = text.replace(name, "\n".join(f"  - {line}" for line in lists.get(name.lower(), lines)))
    return text


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        ({"schedule": "schedule: {order: ABBA, starts: 3}"}, "ABBA needs an even number of starts, not 3"),
        ({"schedule": "schedule: {order: interleaved, starts: 1}"}, "start both servers beforehand"),
        ({"comparisons": ["{id: speed, population: c9, metric: e2e}"]}, "'c9' is no population"),
        ({"comparisons": ["{id: speed, population: chat, metric: e2e}"]}, "chat measures no times"),
        ({"comparisons": ["{id: speed, population: c1, metric: wer}"]}, "'wer' cannot be compared here"),
        ({"comparisons": ["{id: speed, population: c1, metric: e2e, statistic: p95}"]}, "needs 59 requests, c1 has 12"),
        (
            {"comparisons": ["{id: speed, population: c1, metric: e2e, candidate: other}"]},
            "'other' is none of the arms",
        ),
        ({"gates": ["{id: g, subject: speed, require: within 3 %}"]}, "write `shown within"),
        ({"gates": ["{id: g, subject: speed, require: shown < 0 s}"]}, "speed is a difference in %"),
        ({"gates": ["{id: g, subject: candidate-chat, require: at least 2 passed}"]}, "say it in %"),
        ({"gates": ["{id: g, subject: chat, require: all passed}"]}, "'chat' is none of this plan"),
        ({"gates": ["{id: g, subject: candidate-c1-e2e-p95, require: <= 5 s}"]}, "a p95 needs 59 requests"),
        ({"gates": ["{id: g, subject: speed, require: all passed}"]}, "speed is a comparison"),
    ],
)
def test_what_can_never_be_judged_is_refused_before_the_first_request(lists, message):
    assert message in wrong(planned(**lists))


def test_one_start_has_no_interval_of_a_batch_rate():
    schedule = "schedule: {order: sequential, starts: 1}"
    text = planned(
        schedule=schedule,
        comparisons=["{id: rate, population: c1, metric: throughput}"],
        gates=["{id: g, subject: rate, require: shown > -5 %}"],
    )
    assert "one start has no interval" in wrong(text)


def test_the_public_plan_names_no_address_and_reads_back_to_the_same_digest():
    found = plan([CELL], [SPEED], GATES, more="restore: {arm: baseline, routed: {base_url: 'http://x', model: m}}\n")
    assert "http" not in str(found.public)
    assert plan_of(found.public).digest == found.digest


# Figures and intervals, against hand calculation


def simulated(sample, populations=(CELL,), comparisons=(SPEED,), gates=GATES, **more):
    return Simulated(plan(populations, comparisons, gates, **more)).go(sample).finding()


def test_starts_are_the_unit_and_the_interval_is_that_of_their_log_ratios():
    """Starts of 100 and 110, 102 and 108 ms: mean log ratio and t(0.975, 1) = 12.7062 by hand."""
    times = {("baseline", 1): 100, ("candidate", 1): 110, ("candidate", 2): 108, ("baseline", 2): 102}
    finding = simulated(
        lambda instance, index: timed(times[instance.block.arm, instance.block.start], index),
        schedule="schedule: {order: ABBA, starts: 2}",
    )
    logs = [math.log(110 / 100), math.log(108 / 102)]
    mean = sum(logs) / 2
    half = 12.7062 * abs(logs[0] - logs[1]) / 2
    (found,) = finding.comparisons
    assert float(found.interval.low) == pytest.approx(100 * (math.exp(mean - half) - 1), rel=1e-3)
    assert float(found.interval.high) == pytest.approx(100 * (math.exp(mean + half) - 1), rel=1e-3)
    sides = {m.id: m for m in finding.measurements}
    assert float(sides["speed-candidate"].value.value) == pytest.approx(math.sqrt(0.110 * 0.108), rel=1e-3)
    assert sides["speed-candidate"].statistic == "geometric-mean"
    assert sides["speed-candidate"].population == "candidate-c1"


def test_requests_of_one_start_are_paired_by_index():
    """The reference's example: R = 0.939719, 95 % (0.933392, 0.946090)."""
    baseline = [100, 104, 98, 110, 102, 95, 107, 101, 99, 103, 106, 100]
    candidate = [93, 99, 92, 101, 97, 90, 100, 95, 93, 98, 99, 94]
    finding = simulated(
        lambda i, index: timed((candidate if i.block.arm == "candidate" else baseline)[index], index),
        schedule="schedule: {order: sequential, starts: 1}",
    )
    (found,) = finding.comparisons
    assert (float(found.interval.low), float(found.interval.high)) == pytest.approx((-6.661, -5.391), abs=1e-3)
    assert verdicts(finding) == {"faster": "pass", "no-slower": "pass", "same": "fail"}
    assert any("no claim about the configuration" in limit.text for limit in finding.limits)


def test_a_bracketed_candidate_is_set_against_the_baselines_around_it():
    """A drift of 10 ms a block: 100, 110, 120. The mean of the bracket is the candidate's own level."""
    finding = simulated(
        lambda i, index: timed(90 + 10 * i.block.number, index),
        schedule="schedule: {order: bracketed, starts: 1}",
        comparisons=("{id: speed, population: c1, metric: throughput}",), gates=(),
    )  # fmt: skip
    sides = {m.id: float(m.value.value) for m in finding.measurements if m.id.startswith("speed-")}
    assert set(sides) == {"speed-candidate", "speed-baseline"}


def test_pass_rates_carry_newcombes_interval_and_mcnemars_p():
    """58/60 against 53/60: 0.083333, Newcombe 95 % (-0.016309, 0.191192); 7 against 2 discordant: p = 0.179688."""
    missed = {"candidate": {0, 1}, "baseline": {2, 3, 4, 5, 6, 7, 8}}

    def sample(instance, index):
        if index in missed[instance.block.arm]:
            return {"outcome": "missed", "kind": "word-count", "observed": "33 words", "expected": "32 words"}
        return {"outcome": "passed", "finish": "stop"}

    finding = simulated(
        sample, populations=("{id: turnover, probe: chat, requests: 60}",),
        comparisons=("{id: passes, population: turnover, metric: pass_rate}",),
        gates=("{id: strict, subject: candidate-turnover, require: all passed}",
               "{id: better, subject: passes, require: shown > 0 points}"),
        schedule="schedule: {order: sequential, starts: 1}",
    )  # fmt: skip
    (found,) = finding.comparisons
    assert (float(found.interval.low), float(found.interval.high)) == pytest.approx((-1.631, 19.12), abs=1e-2)
    assert "0.18" in found.note
    assert verdicts(finding) == {"strict": "fail", "better": "fail"}
    strict = next(gate for gate in finding.gates if gate.id == "strict")
    assert "99 %: 54.7 %, 95 %: 4.6 %" in strict.note


def test_the_operating_curve_is_that_of_the_gate():
    """P(58 or more of 60) at a true 95 % is 0.417436."""
    from dossier.model.gate import Requirement  # noqa: PLC0415

    curve = operating_curve(Requirement.model_validate("at least 58 passed"), 60)
    assert "95 %: 41.7 %" in curve
    assert acceptance(0.95, 58, 60) == pytest.approx(0.417436, abs=1e-6)


def test_shares_are_set_apart_in_points():
    """0 of 100 prompt tokens cached in one arm and 90 in the other: a difference of 90 points, never of a percent."""

    def sample(instance, index):
        made = timed(100, index)
        cached = 90 * (instance.block.arm == "candidate")
        return {**made, "usage": {**made["usage"], "cached": cached}}

    finding = simulated(
        sample,
        comparisons=("{id: hits, population: c1, metric: prefix_hit_rate, kind: difference}",),
        gates=("{id: hit, subject: hits, require: shown > 50 points}",),
    )
    assert str(finding.comparisons[0].stated) == "+90.00 points"
    assert verdicts(finding) == {"hit": "pass"}


# Planted effects


@pytest.mark.parametrize(
    ("effect", "expected"),
    [
        ({"slower": 0.03, "of_start": 0.002}, {"faster": "fail", "no-slower": "fail", "same": "fail"}),
        ({"slower": -0.03, "of_start": 0.002}, {"faster": "pass", "no-slower": "pass", "same": "fail"}),
        ({"of_start": 0.002}, {"faster": "fail", "no-slower": "pass", "same": "pass"}),
        ({"of_start": 0.002, "drift": 0.01}, {"faster": "fail"}),
    ],
    ids=["3 % slower", "3 % faster", "equal", "drifts alike"],
)
def test_a_planted_difference_gets_its_verdict(effect, expected):
    finding = simulated(noisy(5, **effect), schedule="schedule: {order: ABBA, starts: 8}")
    found = verdicts(finding)
    assert {name: found[name] for name in expected} == expected


def test_a_cell_whose_gate_failed_supports_no_claim_of_speed():
    def sample(instance, index):
        if instance.block.arm == "candidate" and index == 3:
            return {"outcome": "missed", "kind": "output-length", "observed": "9 tokens", "expected": "65 tokens"}
        return timed(100 - 20 * (instance.block.arm == "candidate"), index)

    gates = (*GATES, "{id: whole, subject: candidate-c1, require: all passed}")
    finding = simulated(sample, gates=gates)
    assert finding.comparisons[0].excluded.reason == "gate-failed"
    assert verdicts(finding) == {"faster": "not-run", "no-slower": "not-run", "same": "not-run", "whole": "fail"}


NULLS = 100


@pytest.fixture(scope="module")
def null_verdicts():
    """100 campaigns without any difference, and 100 with one of just the margin."""
    one = plan([CELL], [SPEED], GATES)
    nulls = [verdicts(Simulated(one).go(noisy(seed)).finding()) for seed in range(NULLS)]
    edge = [verdicts(Simulated(one).go(noisy(seed, slower=0.03)).finding()) for seed in range(NULLS, 2 * NULLS)]
    return nulls, edge


def allowed(rate):
    """The most false verdicts of 100 that happen by chance with 1 in 1000, at this rate."""
    return next(k for k in range(NULLS) if at_most(k, NULLS, rate) > 0.999)


def test_null_campaigns_give_no_more_false_verdicts_than_stated(null_verdicts):
    """A 95 % interval lies wholly below zero, or wholly below the margin at the margin, 2.5 % of the time."""
    nulls, edge = null_verdicts
    assert sum(found["faster"] == "pass" for found in nulls) <= allowed(0.025)
    assert sum(found["no-slower"] == "pass" for found in edge) <= allowed(0.025)
    assert sum(found["same"] == "pass" for found in edge) <= allowed(0.025)
    assert sum(found["faster"] == "pass" for found in edge) <= allowed(0.025)


def test_most_null_campaigns_show_what_is_there(null_verdicts):
    """The gates are not empty: with 0.5 % between starts four pairs mostly show that 3 % are not lost."""
    nulls, _ = null_verdicts
    assert sum(found["no-slower"] == "pass" for found in nulls) > NULLS / 2


# Boundary


def told(flags, **identity):
    text = PLAN.replace("SCHEDULE", "schedule: {order: ABBA, starts: 2}").replace('"on"]', f'"on"{flags}]')
    text = text.replace("POPULATIONS", "  - {id: chat, probe: chat}")
    text = text.replace("comparisons:\nCOMPARISONS\n", "").replace("gates:\nGATES\n", "")
    found, problems = read_plan(text, "plan.yaml")
    assert found is not None, problems
    run = Simulated(found).go(lambda *_: {"outcome": "passed"},
                              told=lambda block: identity if block.arm == "candidate" else {})  # fmt: skip
    return told_by(read_journal(("\n".join(run.lines) + "\n").encode()))


def test_one_flag_that_differs_is_a_single_variable():
    found = boundary(told(""))
    assert found["attribution"] == "single-variable"
    assert found["varied"] == ["flag --cache: baseline off, candidate on"]


def test_another_flag_or_another_version_makes_it_the_whole_profile():
    assert boundary(told(", --batch, '8'"))["attribution"] == "whole-profile"
    found = boundary(told("", version="2"))
    assert found["attribution"] == "whole-profile"
    assert "engine version: baseline not given, candidate 2" in found["varied"]


def test_a_switch_and_its_negation_are_one_flag_and_a_field_that_says_the_same_no_second_axis():
    found = plan(["{id: chat, probe: chat}"], [], [], more="declared: {flags: [--load dummy]}\n")
    sides = {
        name: side.model_copy(update={"declared": side.declared.model_copy(update=own)})
        for (name, side), own in zip(
            found.arms.items(),
            ({"flags": ("--no-caching",), "prefix_cache": "off"}, {"flags": ("--caching",), "prefix_cache": "on"}),
            strict=True,
        )
    }
    run = Simulated(found.model_copy(update={"arms": sides})).go(lambda *_: {"outcome": "passed"})
    seen = boundary(told_by(read_journal(("\n".join(run.lines) + "\n").encode())))
    assert seen["attribution"] == "single-variable"
    assert seen["varied"] == [
        "declared prefix cache: baseline off, candidate on (flag --caching: baseline no, candidate given)"
    ]
    assert "flag --load: dummy" in seen["fixed"]


def test_restoration_stands_in_the_finding():
    run = Simulated(plan(["{id: chat, probe: chat}"], [], [], more="restore: {arm: baseline}\n"))
    run.go(lambda *_: {"outcome": "passed"})
    run.write("restoration", at=AT, arm="baseline", identity=["version was '1', is '2'"], direct=[2, 2], routed=None,
              active=None)  # fmt: skip
    found = run.finding().restoration
    assert found.identity_equal is False
    assert "version was" in found.note
    assert found.active_requests.unknown
