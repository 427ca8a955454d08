"""Retrieval from long prompts, against a server that reads just so far and no further."""

from __future__ import annotations

import pytest
from runner_support import finding_of, outcome, plan, sampled

from dossier.runner.haystack import Fact, haystack
from dossier.runner.plan import read_plan
from dossier.runner.probes.needle import Needle, judge, question
from dossier.runner.traits import Traits
from dossier.wire.events import Usage

READER = Traits(reads=True)


def of(sample):
    return sample.outcome.value, sample.kind


@pytest.mark.parametrize("kind", ["one", "many", "distractor", "link"])
def test_a_server_that_reads_everything_finds_everything(kind):
    samples = sampled(traits=READER, probe="needle", kind=kind, targets=["600"], requests="6", indices=range(6))
    assert {of(sample) for sample in samples} == {("passed", None)}
    assert all(abs(sample.usage.prompt - 600) <= 30 for sample in samples)


def test_a_server_that_forgets_the_beginning_misses_what_is_hidden_there():
    """It sees the last 300 of 600 words: a fact at a tenth of the text is gone, one at nine tenths is not."""
    early, late = sampled(traits=Traits(reads=True, sees=300), probe="needle", targets=["600"], requests="2",
                          depths=["0.1", "0.9"], indices=(0, 1))  # fmt: skip
    assert of(early) == ("missed", "not-retrieved")
    assert of(late) == ("passed", None)


def test_a_server_that_takes_any_prompt_and_reads_none_is_not_believed():
    (sample,) = sampled(probe="needle", targets=["600"])
    assert of(sample) == ("missed", "not-retrieved")


def test_a_prompt_of_another_size_is_no_sample_of_this_one():
    (sample,) = sampled(traits=READER, probe="needle", targets=["600"], sizes={"x": 900})
    assert of(sample) == ("missed", "prompt-size")


CODES = ("1111-2222", "3333-4444")


@pytest.mark.parametrize(
    ("content", "finish", "kind"),
    [
        ("1111-2222, 3333-4444", "stop", None),
        ("They are 3333-4444 and 1111-2222.", "stop", None),
        ("1111-2222, 3333-4444", "length", "truncated"),
        ("1111-2222", "stop", "incomplete"),
        ("1111-2222, 3333-4444, 9999-0000", "stop", "extra-value"),
        ("9999-0000", "stop", "wrong-value"),
        ("11111-2222", "stop", "not-retrieved"),
        ("I cannot share access codes.", "stop", "not-retrieved"),
    ],
)
def test_all_values_and_no_other_in_an_answer_that_ends(content, finish, kind):
    spec = Needle.model_validate({"id": "n", "probe": "needle", "targets": ["200"]})
    assert judge(outcome(content, finish=finish, usage=Usage(200, 9)), spec, 200, CODES).kind == kind


def test_facts_lie_at_their_depths():
    text = haystack("s", 1000, [Fact("keeper", "X", "Y", 0.25), Fact("keeper", "Z", "Y", 1.0)])
    at = text.index("The keeper of X is Y.") / len(text)
    assert 0.22 < at < 0.28
    assert text.endswith("The keeper of Z is Y.")


def test_prompts_are_their_own_and_the_same_every_time():
    spec = Needle.model_validate({"id": "n", "probe": "needle", "targets": ["200"]})
    assert question(spec, "a", 500, 0) == question(spec, "a", 500, 0)
    assert question(spec, "a", 500, 0)[0][:40] != question(spec, "b", 500, 0)[0][:40]


LADDER = "{id: ladder, probe: needle, targets: [300, 600, 1200], depths: [0.1, 0.9], requests: 12}"


def test_a_ladder_says_how_far_retrieval_holds(tmp_path):
    """A server that sees 700 words keeps 300 and 600 whole, and half of 1200."""
    gate = "gates: [{id: all, subject: ladder-600, require: all passed}]"
    finding, code = finding_of(tmp_path, (LADDER,), traits=Traits(reads=True, sees=700), more=gate)
    assert code == 1
    assert [(p.id, p.part_of, p.passed, p.planned) for p in finding.populations] == [
        ("ladder", None, 10, 12), ("ladder-300", "ladder", 4, 4), ("ladder-600", "ladder", 4, 4),
        ("ladder-1200", "ladder", 2, 4),
    ]  # fmt: skip
    figures = {m.metric: (float(m.value.value), m.population) for m in finding.measurements}
    low, whole = figures["effective_context"]
    assert whole == "ladder"
    assert 570 <= low <= 630
    assert figures["largest_retrieved"][0] > 1100
    misses = finding.populations[3].misses
    assert [(miss.index, miss.kind) for miss in misses] == [(8, "not-retrieved"), (10, "not-retrieved")]


@pytest.mark.parametrize(
    ("fields", "said"),
    [("targets: [300, 200]", "rise"), ("targets: [300, 600], requests: 3", "multiple of the 2"),
     ("targets: [300], depths: [1.5]", "between 0")],
)  # fmt: skip
def test_a_ladder_that_cannot_be_is_refused(fields, said):
    text = f"populations: [{{id: n, probe: needle, {fields}}}]"
    head = "schema: dossier/plan/v1\nid: t\ntitle: T\nsubject: m\ntarget: {base_url: http://h/v1, model: m}\n"
    found, problems = read_plan(head + text, "plan.yaml")
    assert found is None
    assert said in str(problems[0])


def test_the_parts_of_a_ladder_are_known_to_gates_before_the_run():
    assert [spec.id for spec in plan(populations=(LADDER,)).specs] == [
        "ladder", "ladder-300", "ladder-600", "ladder-1200",
    ]  # fmt: skip
