"""Plans: read with places, digested whole, and priced before anything is sent."""

from __future__ import annotations

import asyncio

import pytest
from runner_support import plan, plan_text, session

from dossier.errors import UsageError
from dossier.runner.identity import MOST_REQUESTS, identify
from dossier.runner.plan import api_keys, around, estimate, plan_of, read_plan
from dossier.wire.client import Client
from dossier.wire.dialect import LOOKS, Dialect, observe

CELL = "{id: c4, probe: cell, prompt_tokens: 1000, output_tokens: 50, concurrency: 4, requests: 10, warmups: 2}"


def problems(populations=("{id: chat, probe: chat}",), more="", text=None):
    found, told = read_plan(text or plan_text(populations=populations, more=more), "plan.yaml")
    assert found is None
    return [str(problem) for problem in told]


def test_the_digest_is_that_of_everything_but_the_address():
    here = plan("http://127.0.0.1:8000/v1")
    assert here.digest == plan("https://elsewhere.example/v1").digest
    assert here.digest != plan(populations=("{id: chat, probe: chat, requests: 2}",)).digest
    assert "127.0.0.1" not in str(here.public)


def test_a_plan_is_read_back_from_its_public_form():
    first = plan(
        populations=("{id: chat, probe: chat}", CELL), more="gates: [{id: g, subject: chat, require: all passed}]"
    )
    again = plan_of(first.public)
    assert again.digest == first.digest
    assert again.populations == first.populations
    assert again.gates == first.gates


def test_defaults_are_part_of_the_digested_plan():
    assert plan().public["populations"][0]["max_tokens"] == 32


@pytest.mark.parametrize(
    ("populations", "more", "place", "told"),
    [
        (("{id: chat, probe: chatt}",), "", "plan.yaml:9:5", "chatt"),
        (("{id: chat, probe: chat, requests: many}",), "", "plan.yaml:9:5", "not a whole number"),
        (("{id: chat, probe: chat}", "{id: chat, probe: health}"), "", "plan.yaml:1:1", "'chat' is given twice"),
        (("{id: w, probe: cell, prompt_tokens: 64, cache: warm}",), "", "plan.yaml:9:5", "needs `warmups`"),
        (("{id: s, probe: cell, prompt_tokens: 64, cache: shared}",), "", "plan.yaml:9:5", "`shared_tokens`"),
        (("{id: o, probe: cell, prompt_tokens: 64, rate: 0}",), "", "plan.yaml:9:5", "above zero"),
        ((CELL,), "gates: [{id: g, subject: c5, require: all passed}]", "plan.yaml:1:1", "'c5' is none of this plan"),
        ((CELL,), "gates: [{id: g, subject: c4, require: <= 5 s}]", "plan.yaml:1:1", "judges a figure"),
        ((CELL,), "gatez: []", "plan.yaml:10:1", "did you mean 'gates'"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(populations, more, place, told):
    found = problems(populations, more)
    assert any(line.startswith(place) and told in line for line in found), found


def test_a_key_in_the_plan_is_refused():
    text = plan_text().replace("model: reference", "model: reference, api_key_env: sk-abc-123")
    assert "never the key itself" in problems(text=text)[0]


def test_the_key_comes_from_the_variable_that_is_named(monkeypatch):
    text = plan_text().replace("model: reference", "model: reference, api_key_env: SOME_KEY")
    found, _ = read_plan(text, "plan.yaml")
    monkeypatch.setenv("SOME_KEY", "value")
    assert api_keys(found) == ["value"]
    monkeypatch.delenv("SOME_KEY")
    with pytest.raises(UsageError, match="SOME_KEY"):
        api_keys(found)


def test_the_cost_of_a_population_is_known_beforehand():
    """12 samples of 1000 + 50 tolerated + 50 out, and sizing by 14 requests and 5 prompts with 500 to spare.

    At worst each of ceil(12 / 4) = 3 rounds and of the 14 requests hangs for the 5 s that one may take.
    """
    (cost,) = estimate(plan(populations=(CELL,)))
    assert cost.requests == 12 + 14
    assert cost.tokens == 12 * 1100 + 5500
    assert cost.seconds == (3 + 14) * 5


def test_a_continued_tool_call_is_two_requests():
    (cost,) = estimate(plan(populations=("{id: t, probe: tools, want: result, max_tokens: 100, requests: 3}",)))
    assert (cost.requests, cost.tokens) == (6, 3 * 2 * 600)


def test_what_is_sent_beside_the_populations_is_counted():
    """Recognising the server asks nine places, identifying it three things twice; metrics are read once a second."""
    gate = "gates: [{id: g, subject: chat, require: all passed}]\nrepeat_failed: true"
    look, metrics, again = around(plan(populations=("{id: chat, probe: chat}", CELL), more=gate))
    assert (look.requests, metrics.requests) == (9 + 2 * 3, 600)
    assert (again.what, again.requests, again.tokens) == ("chat, repeated", 1, 232)
    assert len(around(plan())) == 1


def test_no_more_is_sent_than_that(monkeypatch):
    sent, send = [], Client.send
    monkeypatch.setattr(
        Client, "send", lambda client, request, *rest: sent.append(request) or send(client, request, *rest)
    )

    async def go():
        async with session(dialect=Dialect.TGI) as here:
            await observe(here.client)
            looked = len(sent)
            await identify(here)
            return looked, len(sent) - looked

    assert asyncio.run(go()) == (LOOKS, MOST_REQUESTS)


def test_a_bound_in_money_needs_a_price():
    _, problems = read_plan(plan_text().replace("requests: 2000", "requests: 2000, money: 5"), "plan.yaml")
    assert ["plan/money" in str(problem) for problem in problems] == [True]
