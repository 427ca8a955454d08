"""Markers and counted words, against servers that leak, cut and miscount."""

from __future__ import annotations

import pytest
from runner_support import finding_of, outcome, plan, sampled

from dossier.runner.probes import probe_of
from dossier.runner.probes.canary import judge, marker
from dossier.runner.traits import Traits

OWN = "CANARY-AAAA-2222"


def of(sample):
    return sample.outcome.value, sample.kind


def test_a_server_that_obeys_passes():
    samples = sampled(traits=Traits(reads=True), probe="canary", words="32", requests="6", indices=range(6))
    assert {of(sample) for sample in samples} == {("passed", None)}


def test_a_leaked_marker_is_told_before_anything_else():
    samples = sampled(traits=Traits(reads=True, leaks=3), probe="canary", requests="6", indices=range(6))
    assert [sample.kind for sample in samples] == [None, None, "foreign-marker", None, None, "foreign-marker"]
    assert samples[2].observed == marker("seed/x", 1)


def test_a_cut_reply_is_a_truncation_and_not_a_miscount():
    samples = sampled(traits=Traits(reads=True, cuts=2), probe="canary", words="32", requests="4", indices=range(4))
    assert [sample.kind for sample in samples] == [None, "truncated", None, "truncated"]


@pytest.mark.parametrize(
    ("content", "finish", "kind"),
    [
        (f"{OWN} amber amber amber", "stop", None),
        (f"{OWN}\namber amber amber.", "stop", None),
        (f"{OWN} amber amber", "stop", "word-count"),
        (f"{OWN} amber amber amber amber", "stop", "word-count"),
        (f"{OWN} amber amber done", "stop", "extra-words"),
        (f"{OWN} amber amber amber", "length", "truncated"),
        (f"Sure! {OWN} amber amber amber", "stop", "marker-missing"),
        ("amber amber amber", "stop", "marker-missing"),
        (f"{OWN} amber amber amber CANARY-BBBB-3333", "stop", "foreign-marker"),
        (f"CANARY-BBBB-3333 {OWN} amber", "length", "foreign-marker"),
    ],
)
def test_each_way_of_missing_has_its_kind(content, finish, kind):
    assert judge(outcome(content, finish=finish), OWN, 3).kind == kind


def test_a_marker_leaked_into_the_reasoning_is_a_leak():
    assert judge(outcome(OWN, reasoning="I saw CANARY-BBBB-3333"), OWN, 0).kind == "foreign-marker"


def test_a_wave_ends_before_the_next_begins():
    (spec,) = plan(populations=("{id: t, probe: canary, requests: 10, wave: 4, concurrency: 4}",)).populations
    assert [list(item.indices) for item in probe_of(spec).rounds(spec)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


TURNOVER = "{id: turnover, probe: canary, words: 8, sizes: [0, 200, 40], wave: 4, concurrency: 4, requests: 20}"


@pytest.mark.parametrize(("traits", "verdict"), [(Traits(reads=True), 0), (Traits(reads=True, leaks=7), 1)])
def test_turnover_is_all_or_the_gate_fails_and_leaks_are_a_figure(traits, verdict, tmp_path):
    more = (
        "gates: [{id: strict, subject: turnover, require: all passed}, "
        "{id: private, subject: turnover-foreign_markers-total, require: <= 0 replies}]"
    )
    finding, code = finding_of(tmp_path, (TURNOVER,), traits=traits, more=more)
    assert code == verdict
    (figure,) = finding.measurements
    leaked = [miss for miss in finding.populations[0].misses if miss.kind == "foreign-marker"]
    assert figure.value.value == len(leaked) == (0 if verdict == 0 else 3)  # of 21 with the request of the identity


def test_the_strict_turnover_of_the_seeds_fails_with_its_one_repeat_kept(tmp_path):
    """Every thirtieth reply is cut: 58 of 60, and 58 of 60 again; neither run replaces the other."""
    gates = "gates: [{id: strict, subject: turnover, require: all passed}]\nrepeat_failed: true"
    populations = ("{id: turnover, probe: canary, words: 32, requests: 60}",)
    finding, code = finding_of(tmp_path, populations, traits=Traits(reads=True, cuts=30), more=gates)
    assert code == 1
    assert [(p.id, p.passed, p.planned, p.repeat_of) for p in finding.populations] == [
        ("turnover", 58, 60, None), ("turnover-repeat", 58, 60, "turnover"),
    ]  # fmt: skip
