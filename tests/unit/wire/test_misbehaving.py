"""Servers that misbehave, one test a row: C2 (measured) and E (reported) of the study of the runner's peers.

Each server is played from bytes and pauses, apart from the package's own reference server, over a real socket.
"""

from __future__ import annotations

import asyncio
import json

import pytest
from wire_servers import http, raw_server, read_request, serving

from dossier.wire.api import stream
from dossier.wire.client import Limits, connect
from dossier.wire.decode import Protocol
from dossier.wire.loop import run
from dossier.wire.stream import Expect, StreamOutcome

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
LIMITS = Limits(deadline_s=5, idle_s=2)
EXPECT = Expect(frozenset({"m"}))


def event(**payload) -> bytes:
    return b"data: " + json.dumps({"id": "x", "model": "m", **payload}).encode() + b"\n\n"


def delta(finish=None, **fields) -> bytes:
    return event(choices=[{"index": 0, "delta": fields, "finish_reason": finish}])


def usage(completion=8) -> bytes:
    return event(choices=[], usage={"prompt_tokens": 5, "completion_tokens": completion})


ROLE, FINISH, DONE = delta(role="assistant", content=""), delta("stop"), b"data: [DONE]\n\n"
TOKENS = [delta(content=f" t{number}") for number in range(8)]
ENDING = [FINISH, usage(), DONE]


def play(*steps: bytes | float, ending: bytes = b"0\r\n\r\n", expect: Expect = EXPECT) -> StreamOutcome:
    """One stream: bytes are written as they stand, each in a chunk of its own; a number is a pause in seconds."""

    async def answer(reader, writer):
        await read_request(reader)
        writer.write(HEAD)
        for step in steps:
            if isinstance(step, bytes):
                writer.write(b"%x\r\n%b\r\n" % (len(step), step))
                await writer.drain()
            else:
                await asyncio.sleep(step)
        writer.write(ending)

    async def main():
        async with serving(answer) as port, connect(f"http://127.0.0.1:{port}", proxy=None, limits=LIMITS) as client:
            return await stream(client, Protocol.CHAT, {"model": "m", "messages": []}, expect)

    return run(main())


def kind(outcome: StreamOutcome) -> str | None:
    return outcome.failure.kind.value if outcome.failure else None


def good(*steps, **options) -> StreamOutcome:
    """A stream that counts: eight tokens, by usage and by text."""
    outcome = play(*steps, **options)
    assert kind(outcome) is None, outcome.failure
    assert outcome.usage.completion == 8
    return outcome


# C2


def test_c2_good_is_eight_tokens():
    outcome = good(ROLE, *TOKENS, *ENDING)
    assert (outcome.content, len(outcome.arrivals)) == (" t0 t1 t2 t3 t4 t5 t6 t7", 8)


def test_c2_error200_is_a_failure_that_keeps_the_error_and_what_came_before():
    outcome = play(ROLE, *TOKENS[:3], event(error={"message": "out of memory", "type": "oom"}), DONE)
    assert (kind(outcome), outcome.failure.message, outcome.failure.code) == ("stream-error", "out of memory", "oom")
    assert outcome.content == " t0 t1 t2"


def test_c2_empty_has_a_class_of_its_own_and_no_time():
    outcome = play(ROLE, FINISH, usage(0), DONE)
    assert (kind(outcome), outcome.ttft_any_ns, outcome.tpot_ns) == ("empty", None, None)


def test_c2_cut_is_truncated_however_cleanly_the_body_ends():
    assert kind(play(ROLE, *TOKENS[:3])) == "truncated"


def test_c2_reasoning_only_has_a_first_output_and_no_visible_one():
    steps = [ROLE, *(delta(reasoning=f" t{number}") for number in range(8)), delta("length"), usage(), DONE]
    assert kind(play(*steps)) == "reasoning-only"
    outcome = good(*steps, expect=Expect(frozenset({"m"}), visible=False))
    assert outcome.ttft_any_ns > 0
    assert outcome.ttft_visible_ns is None


def test_c2_data_without_a_space_is_parsed():
    good(*(step.replace(b"data: ", b"data:") for step in (ROLE, *TOKENS, *ENDING)))


def test_c2_multi_counts_tokens_by_usage_and_chunks_as_chunks():
    """Two chunks of four tokens, 0.1 s apart: TPOT is the gap over seven tokens, not over one."""
    outcome = good(ROLE, delta(content=" a b c d"), 0.1, delta(content=" e f g h"), *ENDING)
    assert len(outcome.arrivals) == 2
    assert outcome.tpot_ns == (outcome.arrivals[1].at_ns - outcome.arrivals[0].at_ns) / 7


def test_c2_bigline_of_300_kb_is_one_chunk_of_eight_tokens():
    outcome = good(ROLE, delta(content="x" * 300_000), *ENDING)
    assert (len(outcome.content), len(outcome.arrivals)) == (300_000, 1)


def test_c2_ping_comments_and_crlf_are_read_over():
    steps = [b": ping\r\n\r\n" + step.replace(b"\n", b"\r\n") for step in (ROLE, *TOKENS, *ENDING)]
    assert good(*steps).comments == len(steps)


def test_c2_split_events_are_put_together():
    body = b"".join([ROLE, *TOKENS, *ENDING])
    good(*(body[at : at + 7] for at in range(0, len(body), 7)))


def test_c2_no_usage_is_unknown_and_never_the_requested_maximum():
    outcome = play(ROLE, *TOKENS, FINISH, DONE)
    assert (kind(outcome), outcome.usage, outcome.tpot_ns) == (None, None, None)


# E, by the number of the report's row


def test_e1_the_role_chunk_is_not_the_first_token():
    outcome = good(ROLE, 0.3, *TOKENS, *ENDING)
    assert outcome.ttft_any_ns > 300_000_000
    assert outcome.trace.first_ns - outcome.trace.start_ns < 250_000_000


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
def test_e2_and_e3_reasoning_under_either_name_is_output_but_not_visible(name):
    outcome = good(ROLE, *(delta(**{name: " r"}) for _ in range(5)), 0.1, *TOKENS[:3], *ENDING)
    assert outcome.reasoning == " r" * 5
    assert outcome.ttft_visible_ns - outcome.ttft_any_ns > 100_000_000


def test_e3_usage_without_any_text_is_an_inconsistency_and_never_0_ms():
    outcome = play(ROLE, *(delta(thoughts=" r") for _ in range(8)), *ENDING)
    assert (kind(outcome), outcome.ttft_any_ns) == ("empty", None)
    assert "usage-without-output" in outcome.deviations


def test_e4_a_usage_chunk_without_choices_is_read():
    assert good(ROLE, *TOKENS, *ENDING).usage.prompt == 5


def test_e5_a_stream_that_never_sends_usage_counts_no_tokens():
    assert play(ROLE, *TOKENS, FINISH, DONE).usage is None


def test_e7_several_tokens_a_chunk_do_not_inflate_the_gap_between_tokens():
    outcome = play(ROLE, delta(content=" a b c d"), 0.08, delta(content=" e f g h"), FINISH, usage(8), DONE)
    assert outcome.tpot_ns < 50_000_000


def test_e8_any_error_payload_in_a_stream_is_a_failure():
    for error in ({"message": "boom"}, "boom"):
        assert kind(play(ROLE, *TOKENS[:3], event(error=error), DONE)) == "stream-error"
    assert kind(play(ROLE, *TOKENS[:3], b"event: error\ndata: boom\n\n")) == "stream-error"


def test_e9_no_output_is_empty_and_out_of_every_latency():
    assert kind(play(ROLE, FINISH, usage(0), DONE)) == "empty"


@pytest.mark.parametrize("last", [[], [FINISH], [DONE]], ids=["neither", "no terminal event", "no finish reason"])
def test_e10_a_clean_close_before_the_end_is_no_short_success(last):
    expected = {0: "truncated", 1: "no-finish-reason" if last == [DONE] else "no-terminal-event"}
    assert kind(play(ROLE, *TOKENS[:3], *last)) == expected[len(last)]


def test_e10_a_connection_that_dies_inside_the_body_is_disconnected():
    assert kind(play(ROLE, *TOKENS[:3], ending=b"")) == "disconnected"


def test_e11_comments_before_the_first_event_do_not_stamp_it():
    outcome = good(b":\n\n: ping\n\n", ROLE, 0.2, b": ping\n\n", *TOKENS, *ENDING)
    assert outcome.ttft_any_ns > 200_000_000
    assert outcome.comments == 3


def test_e13_a_line_of_20_mib_is_an_oversize_event():
    assert kind(play(ROLE, b"data: " + b"x" * (20 * 1024 * 1024) + b"\n\n")) == "oversize-event"


def test_e14_half_events_and_three_in_one_write_are_eight_tokens():
    body = b"".join(TOKENS[:3])
    good(ROLE, body, TOKENS[3][:20], 0.02, TOKENS[3][20:], *TOKENS[4:], *ENDING)


def test_e15_a_line_separator_inside_text_ends_no_line():
    outcome = good(ROLE, event(choices=[{"delta": {"content": "a"}}]), "data: {\"model\":\"m\",\"choices\":"
                   "[{\"delta\":{\"content\":\"\u2028b\u0085\"}}]}\n\n".encode(), *ENDING)  # fmt: skip
    assert outcome.content == "a\u2028b\u0085"


def tool(**fields) -> bytes:
    return delta(tool_calls=[fields])


@pytest.mark.parametrize(
    ("pieces", "deviation"),
    [
        ([tool(id="a", function={"name": "f", "arguments": "{"}), tool(function={"arguments": "}"})],
         "tool-index-missing"),
        ([tool(index=0, function={"name": "f", "arguments": "{"}), tool(index=0, function={"arguments": "}"})],
         "tool-id-missing"),
        ([tool(index=1, id="a", function={"name": "f", "arguments": "{"}),
          tool(index=1, function={"arguments": "}"})], "tool-index-base"),
    ],
    ids=["no index", "no id", "first index 1"],
)  # fmt: skip
def test_e16_tool_deltas_are_joined_and_the_deviation_is_recorded(pieces, deviation):
    outcome = good(ROLE, *pieces, delta("tool_calls"), usage(), DONE)
    assert [(call.name, call.arguments) for call in outcome.tools] == [("f", "{}")]
    assert deviation in outcome.deviations


def streamed() -> bytes:
    body = b"".join([ROLE, *TOKENS, *ENDING])
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n" % len(body) + body


def ask_twice(answer) -> tuple[list[StreamOutcome], int]:
    async def main():
        async with raw_server(answer) as raw, connect(raw.url, proxy=None, limits=LIMITS) as client:
            outcomes = []
            for _ in range(2):
                outcomes.append(await stream(client, Protocol.CHAT, {"model": "m", "messages": []}, EXPECT))
                await asyncio.sleep(0.01)
            return outcomes, len(raw.connections)

    return run(main())


def test_e20_a_kept_connection_that_dies_unanswered_is_retried_once_counted_and_timed_anew():
    outcomes, connections = ask_twice(lambda c, n: streamed() if (c, n) != (0, 1) else None)
    assert [kind(outcome) for outcome in outcomes] == [None, None]
    assert ([outcome.trace.stale_retries for outcome in outcomes], connections) == ([0, 1], 2)


def test_e20_and_c3_a_connection_closed_after_a_stream_costs_no_request():
    """What llama.cpp does after the second streamed reply, without a word."""
    outcomes, _ = ask_twice(lambda *_: streamed() + b"<close>")
    assert [kind(outcome) for outcome in outcomes] == [None, None]


# More, from the same reports


@pytest.mark.parametrize(("status", "expected"), [("503 Busy", "overloaded"), ("429 Slow down", "rate-limited"),
                                                  ("500 NaN", "server-error")])  # fmt: skip
def test_a_refusal_is_never_retried_and_never_counted_as_fast(status, expected):
    [first, _], _ = ask_twice(lambda *_: http(b'{"error":{"message":"no"}}', status))
    assert (kind(first), first.ttft_any_ns, first.trace.stale_retries) == (expected, None, 0)


def test_another_models_name_in_the_reply_is_a_failure():
    lie = [step.replace(b'"model": "m"', b'"model": "other"') for step in (ROLE, *TOKENS, *ENDING)]
    assert kind(play(*lie)) == "wrong-model"


def test_a_proxy_that_buffers_shows_as_a_burst():
    """All tokens in one write: the first is late, and no gap is left between them."""
    outcome = good(ROLE, 0.2, b"".join([*TOKENS, *ENDING]))
    assert len({arrival.at_ns for arrival in outcome.arrivals}) == 1
    assert outcome.ttft_any_ns > 200_000_000
