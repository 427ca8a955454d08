"""Tool loops in a small world, by agents that are scripted: right ones, clumsy ones, and ones that only talk."""

from __future__ import annotations

import json

import pytest
from runner_support import finding_of, sampled

from dossier.runner.traits import Traits
from dossier.runner.warehouse import Task, warehouse

TASKS = list(Task)


def world(task):
    """The world that the sample of this task sees: its index is its place among the tasks."""
    return warehouse(task, f"seed/x/{TASKS.index(task)}")


def call(tool, /, **arguments):
    return f"call {tool} {json.dumps(arguments)}"


def run(task, *steps):
    """An agent that says `answer` when the last message holds `key`, for each pair."""
    (sample,) = sampled(traits=Traits(answers=dict(steps)), probe="agent", steps="5", indices=(TASKS.index(task),))
    return sample


def of(sample):
    return sample.outcome.value, sample.kind


def chain(w, *, answer=None):
    (_, name), (_, key) = w.needed
    return (w.question, call("find_item", name=name)), (key, call("read_stock", id=key)), ("stock", answer or w.answer)


def test_an_agent_that_does_it_right_passes():
    w = world(Task.CHAIN)
    sample = run(Task.CHAIN, *chain(w))
    assert of(sample) == ("passed", None)
    assert (sample.facts["steps"], sample.facts["calls"], sample.facts["extra"]) == (3, 2, 0)


def test_calls_at_once_may_come_in_any_order():
    w = world(Task.PARALLEL)
    both = "\n".join(call("read_stock", id=key) for _, key in reversed(w.needed))
    assert of(run(Task.PARALLEL, (w.question, both), ("stock", w.answer))) == ("passed", None)


def test_a_passing_error_is_met_by_the_same_call_again():
    w = world(Task.RECOVER)
    again = call("read_stock", id=w.needed[0][1])
    assert of(run(Task.RECOVER, (w.question, again), ("try again", again), ('"stock"', w.answer))) == ("passed", None)
    gave_up = run(Task.RECOVER, (w.question, again), ("try again", "I could not."))
    assert of(gave_up) == ("missed", "calls-missing")
    assert "recovery" not in gave_up.facts["stages"]


def test_a_reading_too_many_does_no_harm_and_is_counted():
    w = world(Task.CHAIN)
    (_, name), (_, key) = w.needed
    both = f"{call('read_price', id=key)}\n{call('read_stock', id=key)}"
    sample = run(Task.CHAIN, (w.question, call("find_item", name=name)), (key, both), ("stock", w.answer))
    assert of(sample) == ("passed", None)
    assert sample.facts["extra"] == 1


def test_a_write_happens_once_and_as_asked():
    w = world(Task.WRITE)
    (_, name), (_, key) = w.needed
    find, count = (w.question, call("find_item", name=name)), w.reservation[1]
    right = call("reserve", id=key, count=count)
    assert of(run(Task.WRITE, find, (key, right), ("reservation", w.answer))) == ("passed", None)
    twice = run(Task.WRITE, find, (key, f"{right}\n{right}"), ("reservation", w.answer))
    assert of(twice) == ("missed", "wrong-effect")
    more = run(Task.WRITE, find, (key, call("reserve", id=key, count=count + 1)), ("reservation", "0000-0000"))
    assert of(more) == ("missed", "wrong-effect")


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("about a hundred", "calls-missing"),
        ('call find_item {"name": ', "step-limit"),
        ('call find_thing {"name": "x"}', "step-limit"),
    ],
)
def test_an_agent_that_only_talks_or_cannot_call(said, kind):
    """The last two say the same thing again and again."""
    w = world(Task.CHAIN)
    assert of(run(Task.CHAIN, (w.question, said), ("error", said))) == ("missed", kind)


def test_a_malformed_call_is_a_protocol_failure_though_the_answer_is_right():
    w = world(Task.CHAIN)
    (_, name), (_, key) = w.needed
    sample = run(Task.CHAIN, (w.question, call("find_item", item=name)), ("do not fit", call("find_item", name=name)),
                 (key, call("read_stock", id=key)), ("stock", w.answer))  # fmt: skip
    assert of(sample) == ("missed", "protocol-failure")
    assert sample.facts["stages"] == ["calls", "recovery", "effects", "answer"]


def test_a_wrong_answer_after_right_calls_is_told_apart():
    assert of(run(Task.CHAIN, *chain(world(Task.CHAIN), answer="1"))) == ("missed", "wrong-answer")


def test_a_question_that_needs_no_tool_is_answered_without():
    w = world(Task.NONE)
    assert of(run(Task.NONE, (w.question, w.answer))) == ("passed", None)
    needless = run(Task.NONE, (w.question, call("find_item", name="anvil")), ("{", w.answer))
    assert of(needless) == ("missed", "calls-missing")


def test_stage_scores_are_figures_of_the_finding(tmp_path):
    populations = ("{id: agent, probe: agent, tasks: [chain, none], requests: 4, steps: 3}",)
    finding, code = finding_of(tmp_path, populations, traits=Traits(answers={"alone": "12345"}))
    assert code == 1
    scores = {m.id: str(m.value) for m in finding.measurements}
    assert scores["agent-protocol-stage_rate-rate"] == "100.0 %"
    assert scores["agent-answer-stage_rate-rate"] == "0 %"
    assert [miss.kind for miss in finding.populations[0].misses] == ["calls-missing", "wrong-answer"] * 2
