"""Budgets that reasoning shares, sessions that grow, and drafts that are accepted; each by planted behaviour."""

from __future__ import annotations

import pytest
from runner_support import finding_of, outcome, sampled

from dossier.digest import sha256_hex
from dossier.runner.probes.budgets import Budgets, judge, least, question
from dossier.runner.probes.sessions import Sessions, reuse, script
from dossier.runner.probes.sessions import judge as judge_session
from dossier.runner.probes.speculation import tasks
from dossier.runner.schedule import Schedule
from dossier.runner.traits import Traits
from dossier.wire.events import Usage

THINKS = Schedule(ttft_ms=0, gap_ms=0, reasoning=20)


def of(sample):
    return sample.outcome.value, sample.kind


# Budgets


def test_a_budget_below_the_reasoning_is_a_failure_of_its_own_class():
    """Twenty tokens of reasoning and one of answer fit 64, and not 16."""
    _, answer = question("seed/x", 0)
    small, large = sampled(THINKS, Traits(answers={"A hall has": str(answer)}), probe="budgets",
                           budgets=["16", "64"], requests="2", indices=(0, 1))  # fmt: skip
    assert of(small) == ("failed", "reasoning-only")
    assert of(large) == ("passed", None)


@pytest.mark.parametrize(
    ("content", "reasoning", "finish", "kind"),
    [
        ("So it is\n42", "hm", "stop", None),
        ("1,042", "hm", "stop", "incorrect"),
        ("42", "", "stop", "thinking-not-on"),
        ("<think>hm</think>42", "", "stop", "reasoning-in-answer"),
        ("42", "hm", "length", "truncated"),
        ("I do not know", "hm", "stop", "incorrect"),
    ],
)
def test_an_answer_is_right_last_and_after_thought(content, reasoning, finish, kind):
    assert judge(outcome(content, reasoning=reasoning, finish=finish, usage=Usage(9, 9)), 42, 64).kind == kind


@pytest.mark.parametrize(
    ("passed", "enough"), [([1, 1, 1, 1], 16), ([0, 1, 1, 1], 32), ([1, 1, 0, 1], None), ([0, 0, 0, 1], None)]
)
def test_the_least_budget_is_one_from_which_on_everything_passed(passed, enough):
    """Two budgets, two requests each: 16, 16, 32, 32."""
    spec = Budgets.model_validate({"id": "b", "probe": "budgets", "budgets": ["16", "32"], "requests": "4"})
    samples = [{"index": i, "outcome": "passed" if ok else "missed"} for i, ok in enumerate(passed)]
    assert [figure.value for figure in least(spec, samples, [])] == ([] if enough is None else [enough])


def test_a_story_has_one_number():
    text, answer = question("s", 1)
    rows, seats, broken, guests = (int(word) for word in text.replace(",", "").split() if word.isdigit())
    assert answer == rows * seats - broken - guests - guests


# Sessions


def test_a_server_that_reads_its_history_passes_and_one_that_forgets_does_not():
    (good,) = sampled(traits=Traits(reads=True, caches=True), probe="session", turns="6")
    assert of(good) == ("passed", None)
    assert sorted(good.facts["prompt"]) == good.facts["prompt"]
    (short,) = sampled(traits=Traits(reads=True, sees=60), probe="session", turns="6")
    assert of(short) == ("missed", "not-recalled")


def test_a_history_that_does_not_grow_was_dropped():
    replies = [outcome("noted", usage=Usage(prompt, 3)) for prompt in (50, 90, 90)]
    assert judge_session(replies, "noted").kind == "history-dropped"


def test_a_session_asks_for_what_it_told_early():
    spec = Sessions.model_validate({"id": "s", "probe": "session", "turns": "7"})
    said, asked, answer = script(spec, "seed")
    assert len(said) == 6
    name = asked.removeprefix("What is the locker number of ").partition("?")[0]
    turn = next(number for number, text in enumerate(said) if f"{name} is {answer}." in text)
    assert turn < 3


def test_reuse_leaves_out_the_first_turn():
    """100 of 200 and 300 of 400 tokens: 400 / 600."""
    samples = [{"outcome": "passed", "facts": {"prompt": [100, 200, 400], "cached": [0, 100, 300]}}]
    assert reuse(None, samples, [])[0].value == pytest.approx(100 * 400 / 600)
    samples[0]["facts"]["cached"][1] = None
    assert reuse(None, samples, []) == []


# Speculation


def test_acceptance_comes_from_the_counters_of_the_engine(tmp_path):
    populations = ("{id: spec, probe: speculation, requests: 4, output_tokens: 16}",)
    finding, _ = finding_of(tmp_path, populations, traits=Traits(accepts=0.75))
    (rate,) = [m for m in finding.measurements if m.metric == "acceptance_rate"]
    assert str(rate.value) == "75.00 %"
    assert finding.populations[0].suite == f"dossier tasks, sha256:{tasks()[1]}"


def test_an_engine_without_the_counters_gives_no_rate(tmp_path):
    finding, _ = finding_of(tmp_path, ("{id: spec, probe: speculation, requests: 4, output_tokens: 16}",))
    assert not any(m.metric == "acceptance_rate" for m in finding.measurements)


def test_the_tasks_are_the_shipped_ones():
    asked, digest = tasks()
    assert len(asked) == len(set(asked)) == 24
    assert digest == sha256_hex(("\n".join(asked) + "\n").encode())
