"""Probes verify output, never acceptance: what passes, what is a miss of which kind, what has failed."""

from __future__ import annotations

import asyncio
import json

import pytest
from runner_support import outcome, session

from dossier.runner.probes import PROBES, probe_of
from dossier.runner.probes.basic import judge
from dossier.runner.probes.cell import Cell, is_warm, salted
from dossier.runner.probes.errors import Wrong
from dossier.runner.probes.errors import _judge as judge_refusal
from dossier.runner.probes.structure import SCHEMAS, Form
from dossier.runner.probes.structure import verify as verify_json
from dossier.runner.probes.tools import Want
from dossier.runner.probes.tools import verify as verify_tools
from dossier.runner.schedule import Schedule
from dossier.wire.dialect import Dialect
from dossier.wire.errors import Failure, FailureClass
from dossier.wire.events import Usage

SCHEDULE = Schedule(ttft_ms=1, gap_ms=0.2, tokens=40)


def ask(name, schedule=SCHEDULE, index=0, dialect=Dialect.UNKNOWN, sizes=None, **fields):
    """One sample of a probe from the reference server."""

    async def go():
        spec = PROBES[name].spec.model_validate({"id": "x", "probe": name, **fields})
        async with session(schedule, dialect) as here:
            here.sizes.update(sizes or {})
            return await probe_of(spec).ask(here, spec, index)

    return asyncio.run(go())


def of(sample):
    return sample.outcome.value, sample.kind


# Plain answers


def test_a_whole_answer_passes():
    assert of(ask("chat")) == ("passed", None)
    assert of(ask("streaming")) == ("passed", None)
    assert of(ask("health")) == ("passed", None)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("error", "stream-error"), ("empty", "empty"), ("truncated", "truncated"), ("eof", "disconnected"),
        ("reset", "disconnected"), ("no-done", "no-terminal-event"), ("no-finish", "no-finish-reason"),
        ("garbage", "bad-json"), ("wrong-model", "wrong-model"), ("html", "not-a-stream"), ("json", "not-a-stream"),
        ("status", "overloaded"), ("bad-http", "http-protocol"), ("hang", "idle-timeout"), ("silent", "idle-timeout"),
        ("drip", "deadline"),
    ],
)  # fmt: skip
def test_a_misbehaving_server_is_a_failure_of_its_class_and_never_a_sample(fault, kind):
    sample = ask("streaming", Schedule(ttft_ms=1, gap_ms=1, tokens=8, fault=fault))
    assert of(sample) == ("failed", kind)


@pytest.mark.parametrize("style", [{"pings": True, "newline": "\r\n"}, {"pad": 300_000}, {"split": 3},
                                   {"per_chunk": 4}, {"role": "null"}, {"named_event": True}])  # fmt: skip
def test_odd_but_right_streams_pass(style):
    assert of(ask("streaming", Schedule(ttft_ms=1, gap_ms=0, tokens=8, **style))) == ("passed", None)


def test_reasoning_alone_is_no_answer():
    sample = ask("streaming", Schedule(ttft_ms=1, gap_ms=0, tokens=64, reasoning=64), max_tokens=8)
    assert of(sample) == ("failed", "reasoning-only")


def test_a_stream_without_usage_is_told_and_not_guessed():
    assert of(ask("streaming", Schedule(ttft_ms=1, gap_ms=0, tokens=8, usage="never"))) == ("missed", "usage-missing")


@pytest.mark.parametrize(
    ("content", "finish", "tokens", "kind"),
    [("READY", "stop", 3, None), ("ready.", "stop", 3, None), ("I am READY", "stop", 3, "incorrect"),
     ("READY", "length", 3, "truncated"), ("", "stop", 3, "answer-missing"), ("READY", "eos", 3, "unexpected-finish"),
     ("READY", "stop", 33, "budget-exceeded")],
)  # fmt: skip
def test_the_one_word_is_the_whole_answer(content, finish, tokens, kind):
    reply = outcome(content, finish=finish, usage=Usage(5, tokens))
    assert judge(reply, 32, exact=True).kind == kind


def test_a_model_that_is_not_listed_is_a_miss():
    async def go():
        spec = PROBES["health"].spec.model_validate({"id": "x", "probe": "health"})
        async with session() as here:
            here.model = "other"
            return await probe_of(spec).ask(here, spec, 0)

    assert of(asyncio.run(go())) == ("missed", "not-listed")


# JSON


@pytest.mark.parametrize(
    ("content", "finish", "kind"),
    [
        ('{"city": "Oslo", "ok": true}', "stop", None),
        (' {"ok": false, "city": "Lima"}\n', "stop", None),
        ('```json\n{"city": "Oslo", "ok": true}\n```', "stop", "not-json"),
        ('Sure: {"city": "Oslo", "ok": true}', "stop", "not-json"),
        ('{"city": "Oslo", "ok": true}', "length", "truncated"),
        ('{"city": "Oslo"}', "stop", "schema-violated"),
        ('{"city": "Oslo", "ok": "true"}', "stop", "schema-violated"),
        ('{"city": "Oslo", "ok": true, "more": 1}', "stop", "schema-violated"),
        ("null", "stop", "schema-violated"),
        ("[" * 5000, "stop", "not-json"),
    ],
)
def test_json_is_valid_and_not_merely_parseable(content, finish, kind):
    assert verify_json(outcome(content, finish=finish), SCHEMAS[Form.OBJECT]).kind == kind


@pytest.mark.parametrize("stream", ["true", "false"])
def test_an_accepted_schema_that_is_not_obeyed_is_a_miss(stream):
    """The reference server accepts any response_format with 200 and answers words."""
    assert of(ask("structured", stream=stream)) == ("missed", "not-json")
    said = Schedule(ttft_ms=1, gap_ms=0, tokens=4, text='"日本語"')
    assert of(ask("structured", said, stream=stream)) == ("passed", None)


# Tools

GOOD = ("get_weather", '{"city": "Oakland"}')


@pytest.mark.parametrize(
    ("want", "content", "tools", "finish", "kind"),
    [
        (Want.AUTO, "", [GOOD], "tool_calls", None),
        (Want.AUTO, "", [GOOD], "stop", "unexpected-finish"),
        (Want.REQUIRED, "", [GOOD], "stop", None),
        (Want.REQUIRED, "Sunny.", [], "length", "tool-choice-ignored"),
        (Want.NAMED, "<tool_call>{}", [], "stop", "tool-choice-ignored"),
        (Want.AUTO, "Sunny.", [], "stop", "no-call"),
        (Want.AUTO, "<tool_call>{}", [], "stop", "template-garbage"),
        (Want.AUTO, "", [("weather", '{"city": "Oakland"}')], "tool_calls", "wrong-tool"),
        (Want.AUTO, "", [("get_weather", '{"city": ')], "tool_calls", "arguments-not-json"),
        (Want.AUTO, "", [("get_weather", '{"city": " "}')], "tool_calls", "arguments-invalid"),
        (Want.AUTO, "", [("get_weather", '{"city": "Oakland", "x": 1}')], "tool_calls", "arguments-invalid"),
        (Want.NONE, "Four.", [], "stop", None),
        (Want.NONE, "", [GOOD], "tool_calls", "unwanted-call"),
        (Want.PARALLEL, "", [GOOD, ("get_weather", '{"city": "Lima"}')], "tool_calls", None),
        (Want.PARALLEL, "", [GOOD, GOOD], "tool_calls", "calls-missing"),
        (Want.PARALLEL, "", [GOOD], "tool_calls", "calls-missing"),
    ],
)
def test_calls_are_verified_by_name_and_arguments(want, content, tools, finish, kind):
    cities = ["Oakland", "Lima"] if want is Want.PARALLEL else ["Oakland"]
    assert verify_tools(outcome(content, tools=tools, finish=finish), want, cities).kind == kind


@pytest.mark.parametrize("style", ["full", "no-index", "no-id", "from-one"])
def test_streamed_calls_are_joined_whatever_they_leave_out(style):
    schedule = Schedule(ttft_ms=1, gap_ms=0, tokens=0, tools=1, tool_style=style)
    assert of(ask("tools", schedule, stream="true")) == ("passed", None)


def test_a_result_that_is_not_used_is_a_miss():
    """The reference server answers the tool's result with another call and no words."""
    schedule = Schedule(ttft_ms=1, gap_ms=0, tokens=0, tools=1)
    assert of(ask("tools", schedule, want="result")) == ("missed", "result-not-used")


# Controls, refusals, responses


def test_controls_are_verified_by_what_came():
    assert of(ask("controls", control="max_tokens")) == ("passed", None)
    assert of(ask("controls", control="stop")) == ("missed", "stop-ignored")
    assert of(ask("controls", control="seed")) == ("passed", None)
    assert of(ask("controls", control="logprobs")) == ("missed", "logprobs-missing")
    assert of(ask("controls", control="unicode")) == ("missed", "incorrect")


def test_a_budget_that_is_not_kept_is_a_miss():
    assert of(ask("controls", Schedule(ttft_ms=1, gap_ms=0, tokens=4), control="max_tokens")) == (
        "missed", "budget-ignored",
    )  # fmt: skip


def test_thinking_is_what_came_and_not_what_was_switched():
    thinks = Schedule(ttft_ms=1, gap_ms=0, tokens=8, reasoning=4)
    assert of(ask("thinking", thinks, state="on")) == ("passed", None)
    assert of(ask("thinking", thinks, state="off")) == ("missed", "thinking-not-off")
    assert of(ask("thinking", state="on")) == ("missed", "thinking-not-on")
    assert of(ask("thinking", state="off")) == ("passed", None)
    marked = Schedule(ttft_ms=1, gap_ms=0, tokens=8, text="<think>hm</think> 51")
    assert of(ask("thinking", marked, state="off")) == ("missed", "thinking-not-off")
    assert of(ask("thinking", marked, state="on")) == ("missed", "reasoning-in-answer")


@pytest.mark.parametrize("wrong", ["model", "length", "json"])
def test_what_is_refused_clearly_passes(wrong):
    assert of(ask("errors", wrong=wrong)) == ("passed", None)


@pytest.mark.parametrize(
    ("failure", "wrong", "expected"),
    [
        (None, Wrong.MODEL, ("missed", "wrong-model-accepted")),
        (None, Wrong.LENGTH, ("missed", "overlong-accepted")),
        (None, Wrong.JSON, ("missed", "bad-json-accepted")),
        (Failure(FailureClass.SERVER_ERROR, "oops", 500), Wrong.LENGTH, ("missed", "unclear-refusal")),
        (Failure(FailureClass.NOT_FOUND, "no such model", 404), Wrong.MODEL, ("passed", None)),
        (Failure(FailureClass.CONTEXT_EXCEEDED, "too long", 400), Wrong.LENGTH, ("passed", None)),
        (Failure(FailureClass.DISCONNECTED, "gone"), Wrong.JSON, ("failed", "disconnected")),
    ],
)
def test_a_refusal_is_clear_or_a_miss(failure, wrong, expected):
    assert of(judge_refusal(failure, wrong, "")) == expected


def test_responses_in_each_way():
    assert of(ask("responses")) == ("passed", None)
    assert of(ask("responses", way="stream")) == ("passed", None)
    assert of(ask("responses", way="cut")) == ("passed", None)


def test_a_cut_reply_that_calls_itself_completed_is_a_miss():
    lies = Schedule(ttft_ms=1, gap_ms=0, tokens=8, finish="stop")
    assert of(ask("responses", lies, way="cut")) == ("missed", "completed-when-cut")


# Cells


def cell(schedule=SCHEDULE, words=91, **fields):
    """Words are tokens on the reference server; thirteen more come with the question itself."""
    spec = {"prompt_tokens": 104, "output_tokens": 16, **fields}
    return ask("cell", schedule, sizes={"x": words}, **spec)


def test_a_cell_keeps_times_and_counts_and_no_text():
    sample = cell()
    assert of(sample) == ("passed", None)
    assert sample.usage == Usage(104, 16)
    assert len(sample.timing.gaps_us) == 15
    assert sample.text is None


@pytest.mark.parametrize(
    ("schedule", "fields", "kind"),
    [
        (Schedule(ttft_ms=1, gap_ms=0, tokens=9), {}, "output-length"),
        (Schedule(ttft_ms=1, gap_ms=0, tokens=9), {"output": "up-to"}, None),
        (Schedule(ttft_ms=1, gap_ms=0, tokens=16, usage="never"), {}, "usage-missing"),
        (SCHEDULE, {"words": 150}, "prompt-size"),
    ],
)
def test_a_reply_of_another_size_is_no_sample(schedule, fields, kind):
    assert cell(schedule, **fields).kind == kind


@pytest.mark.parametrize(
    ("cache", "cached", "kind"),
    [
        ("unique", None, None), ("unique", 20, None), ("unique", 90, "warm-prefix"), ("warm", 90, None),
        ("cold", 0, None), ("cold", 1, "warm-prefix"), ("cold", None, "cold-unproven"),
    ],
)  # fmt: skip
def test_a_cache_mode_is_what_usage_says_it_is(cache, cached, kind):
    """Cold is a claim: a server that counts no cached tokens does not prove it, whatever fields it accepts."""
    schedule = Schedule(ttft_ms=1, gap_ms=0, tokens=40, cached=cached)
    assert cell(schedule, cache=cache, warmups=1).kind == kind


@pytest.mark.parametrize(
    ("dialect", "fields"),
    [(Dialect.VLLM, {"cache_salt"}), (Dialect.LLAMA_CPP, {"cache_prompt"}), (Dialect.UNKNOWN, set())],
)
def test_a_cold_request_is_kept_apart_in_the_cache_where_the_dialect_has_a_field(dialect, fields):
    async def go():
        async with session(SCHEDULE, dialect) as here:
            return salted(here, 1), salted(here, 2)

    first, second = asyncio.run(go())
    assert set(first) == fields
    assert (first != second) == ("cache_salt" in fields)


def test_a_template_in_the_cache_is_not_a_warm_prompt():
    assert not is_warm(1000, 40)
    assert not is_warm(1000, None)
    assert is_warm(1000, 900)
    assert not is_warm(32, 22)


def test_an_open_load_is_due_at_seeded_times():
    spec = {"id": "o", "probe": "cell", "prompt_tokens": 64, "requests": 1000, "rate": "10"}
    constant = Cell.model_validate(spec | {"arrivals": "constant"}).due_s("s")
    poisson = Cell.model_validate(spec).due_s("s")
    assert constant[:3] == (0.0, 0.1, 0.2)
    assert poisson == Cell.model_validate(spec).due_s("s") != Cell.model_validate(spec).due_s("t")
    assert poisson[0] == 0.0
    assert 80 < poisson[-1] < 120


def test_every_probe_says_what_it_does_not_show():
    for probe in PROBES.values():
        assert probe.asks.endswith(".")
        assert len(probe.not_shown) > 30


def test_misses_quote_on_one_line_without_escapes():
    sample = verify_json(outcome("\x1b[31mred\n\u202e\x00" + "x" * 1000), SCHEMAS[Form.OBJECT])
    assert sample.observed.startswith("\\u001b[31mred \\u202e\\u0000")
    assert len(sample.observed) < 300
    assert json.dumps(sample.observed).isascii()
