"""The reference server's planted behaviour: what it knows, caches, queues and forgets, by its own arithmetic."""

from __future__ import annotations

import pytest

from dossier.runner.schedule import Schedule
from dossier.runner.traits import Mind, Traits, read

PLAIN = Schedule(ttft_ms=100, gap_ms=10, tokens=11)


def ask(text):
    return {"messages": [{"role": "user", "content": text}]}


@pytest.mark.parametrize(
    ("seen", "question", "answer"),
    [
        ("The access code of Amber Fox is 1-2.", "What is the access code of Amber Fox?", "1-2"),
        ("The access code of A is 1-2. The access code of A is 3-4.", "What are the access codes of A?", "1-2, 3-4"),
        ("The keeper of A is B. The access code of B is 5-6.", "What is the access code of the keeper of A?", "5-6"),
        ("The access code of B is 5-6.", "What is the access code of A?", "unknown"),
        ("", "Begin with the marker CANARY-AB12-CD34. Then write the word amber exactly 2 times.",
         "CANARY-AB12-CD34 amber amber"),
    ],
)  # fmt: skip
def test_it_reads_facts_of_one_form(seen, question, answer):
    assert read(seen, question) == answer


def test_every_request_is_slower_than_the_one_before_by_its_drift():
    """100 ms, then 100 * 1.1, then 100 * 1.2."""
    mind = Mind(Traits(drift=0.1))
    assert [round(mind.shape(ask("x"), PLAIN, None, 0).schedule.ttft_ms) for _ in range(3)] == [100, 110, 120]


def test_a_second_request_waits_for_the_one_slot():
    """The first takes 100 + 10 * 10 = 200 ms; the second, 50 ms later, waits 150 of them."""
    mind = Mind(Traits(slots=1))
    assert mind.shape(ask("x"), PLAIN, None, 0).schedule.ttft_ms == 100
    assert mind.shape(ask("x"), PLAIN, None, 50_000_000).schedule.ttft_ms == 250


def test_a_prefix_that_came_before_is_cached_in_whole_blocks_and_costs_no_time():
    """40 words are two whole blocks of 16 and a rest; the last block is computed anew."""
    mind, text = Mind(Traits(caches=True, prefill_us=1000)), " ".join(f"w{n}" for n in range(40))
    cold, warm = (mind.shape(ask(text), PLAIN, None, 0) for _ in range(2))
    assert (cold.cached, warm.cached) == (0, 32)
    assert (cold.schedule.ttft_ms, warm.schedule.ttft_ms) == (140, 108)
    mind.forget()
    assert mind.shape(ask(text), PLAIN, None, 0).cached == 0


def test_accepted_drafts_are_counted():
    """11 tokens are three steps of four drafts."""
    mind = Mind(Traits(accepts=0.75))
    mind.shape(ask("x"), PLAIN, None, 0)
    assert (mind.drafted, mind.accepted) == (12, 9)


def test_a_budget_cuts_what_it_says():
    shaped = Mind(Traits(reads=True)).shape(ask("Reply with exactly: one two three"), PLAIN, 2, 0)
    assert (shaped.schedule.text, shaped.schedule.tokens, shaped.schedule.finish) == ("one two", 2, "length")
