"""Each file under streams/ is a stream as some server sends it: a JSON line that says what is right, then bytes."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dossier.wire.decode import Protocol
from dossier.wire.errors import Failure, WireError
from dossier.wire.sse import MAX_EVENT, SseReader
from dossier.wire.stream import Expect, StreamOutcome, StreamRecorder
from dossier.wire.trace import Trace

FILES = sorted((Path(__file__).parent / "streams").glob("*.txt"))
PROTOCOLS = {"chat": Protocol.CHAT, "completions": Protocol.COMPLETIONS, "responses": Protocol.RESPONSES}


def split_at(body: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted({cut % (len(body) + 1) for cut in cuts}), len(body)]
    return [body[start:end] for start, end in pairwise(edges)]


def record(path: Path, cuts: list[int] | None = None, step: int = 0) -> tuple[dict, StreamOutcome]:
    head, _, body = path.read_bytes().partition(b"\n")
    case = json.loads(head)
    reads = [body[at : at + step] for at in range(0, len(body), step)] if step else split_at(body, cuts or [])
    recorder = StreamRecorder(PROTOCOLS[case["protocol"]], MAX_EVENT)
    trace, broke = Trace(start_ns=0, status=200), None
    for number, read in enumerate(reads):
        trace.last_ns = number
        try:
            recorder(number, read)
        except WireError as error:
            broke = error.failure
            break
    return case["expect"], recorder.outcome(trace, broke, Expect(frozenset(case["models"])))


def seen(outcome: StreamOutcome) -> dict:
    failure: Failure | None = outcome.failure
    usage = outcome.usage
    return {
        "failure": failure and failure.kind.value,
        "message": failure and failure.message,
        "code": failure and failure.code,
        "content": outcome.content,
        "reasoning": outcome.reasoning,
        "tools": [[call.id, call.name, call.arguments] for call in outcome.tools],
        "finish": outcome.finish,
        "terminal": outcome.terminal,
        "usage": usage and [usage.prompt, usage.completion, usage.reasoning, usage.cached],
        "model": outcome.named.model,
        "id": outcome.named.id,
        "fingerprint": outcome.named.fingerprint,
        "arrivals": len(outcome.arrivals),
        "tokens": [arrival.completion_tokens for arrival in outcome.arrivals],
        "comments": outcome.comments,
        "deviations": list(outcome.deviations),
    }


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_stream_means_what_its_header_says(path):
    expect, outcome = record(path)
    assert {name: seen(outcome)[name] for name in expect} == expect


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_stream_means_the_same_byte_by_byte(path):
    expect, outcome = record(path, step=1)
    assert {name: seen(outcome)[name] for name in expect} == expect


@settings(max_examples=150, deadline=None)
@given(path=st.sampled_from(FILES), cuts=st.lists(st.integers(0, 4000), max_size=12))
def test_a_stream_means_the_same_however_it_is_cut(path, cuts):
    expect, outcome = record(path, cuts)
    assert {name: seen(outcome)[name] for name in expect} == expect


texts = st.text(st.characters(exclude_characters="\r\n", exclude_categories=("Cs",)), max_size=20)


@settings(max_examples=200, deadline=None)
@given(
    events=st.lists(st.lists(texts, min_size=1, max_size=3), max_size=6),
    newline=st.sampled_from(["\n", "\r\n", "\r"]),
    cuts=st.lists(st.integers(0, 500), max_size=10),
)
def test_events_survive_any_newline_and_any_cut(events, newline, cuts):
    """Written by the standard's grammar, read back whole: one event a block, its data lines joined by LF."""
    body = "".join("".join(f"data: {line}{newline}" for line in lines) + newline for lines in events)
    reader = SseReader()
    read = [event.data.decode() for part in split_at(body.encode(), cuts) for event in reader.feed(part)]
    assert read == ["\n".join(lines) for lines in events]
    assert reader.rest() is None
