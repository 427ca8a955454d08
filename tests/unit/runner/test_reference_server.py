"""The reference server through the real client: every schedule arrives as planned, every fault under its class."""

from __future__ import annotations

import asyncio
import io
import json

import pytest

from dossier.runner.reference_server import ReferenceServer
from dossier.runner.schedule import Fault, Schedule
from dossier.wire.api import count_tokens, generate, get_json, get_text, models, stream
from dossier.wire.client import Limits, connect
from dossier.wire.decode import Protocol
from dossier.wire.dialect import Dialect, detect, observe
from dossier.wire.errors import FailureClass
from dossier.wire.loop import run
from dossier.wire.metrics import differences, parse_metrics
from dossier.wire.stream import Expect, StreamOutcome

FAST = Schedule(ttft_ms=5, gap_ms=1, tokens=6)
LIMITS = Limits(deadline_s=3, idle_s=0.4)
EXPECT = Expect(frozenset({"reference"}))


def with_server(use, schedule: Schedule = FAST, limits: Limits = LIMITS, log=None):
    """Run `use(client, server)` against a server in this process."""

    async def main():
        async with (
            ReferenceServer(schedule, log_file=log) as server,
            connect(server.base_url, proxy=None, limits=limits) as client,
        ):
            return await use(client, server)

    return run(main())


def body(**schedule) -> dict:
    return {
        "model": "reference",
        "messages": [{"role": "user", "content": "one two three"}],
        "prompt": "one two three",
        "input": "one two three",
        "stream_options": {"include_usage": True},
        "x_schedule": schedule,
    }


def streamed(protocol: Protocol = Protocol.CHAT, limits: Limits = LIMITS, **schedule) -> StreamOutcome:
    return with_server(lambda client, _: stream(client, protocol, body(**schedule), EXPECT), limits=limits)


FAULTS = {
    Fault.NONE: None,
    Fault.RESET: FailureClass.DISCONNECTED,
    Fault.EOF: FailureClass.DISCONNECTED,
    Fault.TRUNCATED: FailureClass.TRUNCATED,
    Fault.NO_DONE: FailureClass.NO_TERMINAL,
    Fault.NO_FINISH: FailureClass.NO_FINISH,
    Fault.ERROR: FailureClass.STREAM_ERROR,
    Fault.GARBAGE: FailureClass.BAD_JSON,
    Fault.DRIP: FailureClass.DEADLINE,
    Fault.HANG: FailureClass.IDLE,
    Fault.SILENT: FailureClass.IDLE,
    Fault.LEFT_OPEN: None,
    Fault.EMPTY: FailureClass.EMPTY,
    Fault.WRONG_MODEL: FailureClass.WRONG_MODEL,
    Fault.STATUS: FailureClass.OVERLOADED,
    Fault.REDIRECT: None,
    Fault.HTML: FailureClass.NOT_A_STREAM,
    Fault.JSON: FailureClass.NOT_A_STREAM,
    Fault.BAD_HTTP: FailureClass.HTTP_PROTOCOL,
    Fault.CLOSE_AFTER: None,
}


@pytest.mark.parametrize("fault", Fault, ids=str)
def test_each_fault_has_its_class(fault):
    outcome = streamed(fault=fault, limits=Limits(deadline_s=0.8, idle_s=0.4))
    assert (outcome.failure and outcome.failure.kind) == FAULTS[fault]


CUT_SHORT = [Fault.RESET, Fault.EOF, Fault.TRUNCATED, Fault.ERROR, Fault.GARBAGE, Fault.HANG]


@pytest.mark.parametrize("fault", CUT_SHORT, ids=str)
def test_what_came_before_a_fault_is_kept_apart_from_success(fault):
    outcome = streamed(fault=fault, fault_at=2)
    assert outcome.failure is not None
    assert (len(outcome.arrivals), outcome.content) == (2, " token token")


def test_a_stream_left_open_after_its_end_counts_and_is_noted():
    outcome = streamed(fault=Fault.LEFT_OPEN)
    assert outcome.failure is None
    assert {"left-open", "broken-after-terminal"} & set(outcome.deviations)


@pytest.mark.parametrize(("status", "kind"), [(429, "rate-limited"), (503, "overloaded"), (500, "server-error")])
def test_refusals_keep_status_and_retry_after(status, kind):
    failure = streamed(fault=Fault.STATUS, status=status, retry_after="9").failure
    assert (failure.kind, failure.status, failure.retry_after_s) == (kind, status, 9.0)


@pytest.mark.parametrize("protocol", Protocol, ids=str)
@pytest.mark.parametrize(
    "schedule",
    [
        {},
        {"newline": "\r\n", "pings": True, "named_event": True, "split": 7},
        {"newline": "\r", "split": 1},
        {"gzip": True},
        {"role": "null"},
        {"role": "none"},
        {"per_chunk": 4},
        {"pad": 100_000},
        {"jitter_ms": 2, "seed": 7},
        {"usage": "continuous"},
        {"usage": "last"},
    ],
    ids=lambda schedule: ",".join(schedule) or "plain",
)
def test_six_tokens_are_six_tokens_however_they_are_sent(protocol, schedule):
    outcome = streamed(protocol, **schedule)
    assert outcome.failure is None
    assert outcome.content == " token" * 6
    assert (outcome.usage.prompt, outcome.usage.completion) == (3, 6)
    assert len(outcome.arrivals) == -(-6 // schedule.get("per_chunk", 1))


def test_usage_that_never_comes_is_unknown():
    outcome = streamed(usage="never")
    assert (outcome.usage, outcome.tpot_ns, outcome.failure) == (None, None, None)


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_reasoning_is_timed_apart_under_either_name(field):
    outcome = streamed(reasoning=2, reasoning_field=field)
    assert (outcome.reasoning, outcome.content) == (" token" * 2, " token" * 4)
    assert outcome.ttft_visible_ns == outcome.arrivals[2].at_ns - outcome.trace.start_ns
    assert outcome.ttft_any_ns == outcome.arrivals[0].at_ns - outcome.trace.start_ns


def test_reasoning_that_uses_up_the_budget_is_no_answer_unless_only_speed_is_asked_for():
    async def use(client, _):
        asked = body(reasoning=6, finish="length")
        return [await stream(client, Protocol.CHAT, asked, Expect(visible=visible)) for visible in (True, False)]

    strict, loose = with_server(use)
    assert strict.failure.kind is FailureClass.REASONING_ONLY
    assert loose.failure is None
    assert loose.ttft_visible_ns is None


@pytest.mark.parametrize("style", ["full", "no-index", "no-id", "from-one", "all-zero"])
def test_tool_calls_are_joined_however_they_are_numbered(style):
    outcome = streamed(tokens=0, tools=2, tool_style=style)
    assert [(call.name, call.arguments) for call in outcome.tools] == [
        ("get_weather", '{"city":"City 0"}'),
        ("get_weather", '{"city":"City 1"}'),
    ]
    assert outcome.finish == "tool_calls"
    assert bool(outcome.deviations) == (style != "full")


def test_a_token_limit_cuts_the_schedule_with_length():
    outcome = with_server(lambda client, _: stream(client, Protocol.CHAT, {**body(), "max_tokens": 4}))
    assert (outcome.usage.completion, outcome.finish) == (4, "length")


def test_the_log_has_one_stamp_for_each_arrival_on_the_same_clock():
    log = io.StringIO()

    async def use(client, server):
        request = stream(client, Protocol.CHAT, body(), EXPECT, (("X-Request-Id", "mine"),))
        return await request, server.log

    outcome, [served] = with_server(use, log=log)
    assert (served.id, served.complete, served.open) == ("mine", True, 1)
    assert len(served.sent_ns) == len(outcome.arrivals) == 6
    assert outcome.trace.start_ns <= served.received_ns <= served.sent_ns[0] <= outcome.arrivals[0].at_ns
    assert all(late >= 0 for late in served.late_ns)
    assert json.loads(log.getvalue())["sent_ns"] == served.sent_ns


def test_many_streams_at_once_all_count():
    async def use(client, server):
        outcomes = await asyncio.gather(*(stream(client, Protocol.CHAT, body(), EXPECT) for _ in range(40)))
        return outcomes, server

    outcomes, server = with_server(use)
    assert [outcome.failure for outcome in outcomes] == [None] * 40
    assert (len(server.log), server.open, max(served.open for served in server.log)) == (40, 0, 40)


def test_a_server_that_drops_its_idle_connections_costs_no_request():
    async def use(client, server):
        first = await stream(client, Protocol.CHAT, body(), EXPECT)
        server.drop_connections()
        return first, await stream(client, Protocol.CHAT, body(), EXPECT), server.connections

    first, second, connections = with_server(use)
    assert (first.failure, second.failure, connections) == (None, None, 2)


def test_an_answer_that_is_not_streamed():
    async def use(client, _):
        return [await generate(client, protocol, body(tools=1, reasoning=1)) for protocol in Protocol]

    chat, text, responses = with_server(use)
    [choice] = chat.data["choices"]
    assert choice["message"]["content"] == " token" * 5
    assert choice["message"]["reasoning_content"] == " token"
    assert choice["message"]["tool_calls"][0]["function"]["name"] == "get_weather"
    assert text.data["choices"][0]["text"] == " token" * 5
    assert responses.data["status"] == "completed"


def test_the_other_endpoints():
    async def use(client, _):
        before = parse_metrics((await get_text(client, "/metrics")).data)
        await stream(client, Protocol.CHAT, body(), EXPECT)
        after = parse_metrics((await get_text(client, "/metrics")).data)
        _, served = await models(client)
        tokens = await count_tokens(client, ("/tokenize", "prompt"), "one two three four")
        return differences(before, after), served, tokens, detect(await observe(client))

    growth, [served], tokens, detection = with_server(use)
    assert growth.total("reference:requests_total") == 1
    assert growth.total("reference:prompt_tokens_total") == 3
    assert (served.id, served.context) == ("reference", 32_768)
    assert tokens.data == 4
    assert (detection.dialect, detection.version) == (Dialect.UNKNOWN, "reference-1")


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"model": "other"}, FailureClass.NOT_FOUND),
        ({"x_schedule": {"ttft": 1}}, FailureClass.INVALID_REQUEST),
        ({"x_schedule": {"ttft_ms": -1}}, FailureClass.INVALID_REQUEST),
        ({"x_schedule": "fast"}, FailureClass.INVALID_REQUEST),
        ({"messages": [{"role": "user", "content": "a " * 40_000}]}, FailureClass.CONTEXT_EXCEEDED),
    ],
    ids=["wrong model", "unknown field", "negative", "no object", "too long"],
)
def test_requests_that_cannot_be_served_are_refused(change, kind):
    outcome = with_server(lambda client, _: stream(client, Protocol.CHAT, {**body(), **change}))
    assert outcome.failure.kind is kind


def test_a_path_that_does_not_exist():
    reply = with_server(lambda client, _: get_json(client, "/nowhere"))
    assert reply.failure.kind is FailureClass.NOT_FOUND


def test_due_times_are_absolute_and_seeded():
    assert Schedule(ttft_ms=100, gap_ms=10, tokens=3).due_ns() == [100_000_000, 110_000_000, 120_000_000]
    jittered = Schedule(tokens=50, jitter_ms=30, seed=1)
    assert jittered.due_ns() == jittered.due_ns() == sorted(jittered.due_ns())
    assert jittered.due_ns() != Schedule(tokens=50, jitter_ms=30, seed=2).due_ns()


@pytest.mark.parametrize(
    ("schedule", "chunks"),
    [
        ({"tokens": 64}, 64),
        ({"tokens": 10, "per_chunk": 4}, 3),
        ({"tokens": 10, "reasoning": 3, "per_chunk": 4}, 3),
        ({"tokens": 0, "tools": 2}, 4),
        ({"tokens": 2, "reasoning": 9}, 2),
    ],
)
def test_the_number_of_output_chunks(schedule, chunks):
    assert Schedule(**schedule).chunks == len(Schedule(**schedule).due_ns()) == chunks
