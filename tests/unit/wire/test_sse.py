"""The SSE reader beyond what the kept streams show: limits, names, line endings across reads."""

from __future__ import annotations

import pytest

from dossier.wire.errors import FailureClass, WireError
from dossier.wire.sse import SseEvent, SseReader


def read(*parts: bytes) -> list[SseEvent]:
    reader = SseReader()
    return [event for part in parts for event in reader.feed(part)]


def test_crlf_cut_between_cr_and_lf_is_one_line_end():
    assert read(b"data: a\r", b"\ndata: b\r", b"\n\r", b"\n") == [SseEvent("message", b"a\nb")]


def test_lf_after_a_complete_crlf_is_a_blank_line():
    assert read(b"data: a\r\n", b"\n") == [SseEvent("message", b"a")]


def test_only_one_space_after_the_colon_is_dropped():
    assert read(b"data:  a\n\n") == [SseEvent("message", b" a")]


def test_an_event_name_lasts_for_one_event():
    parts = read(b"event: note\ndata: 1\n\ndata: 2\n\n")
    assert parts == [SseEvent("note", b"1"), SseEvent("message", b"2")]


def test_an_event_without_data_is_no_event():
    assert read(b"event: note\n\ndata: 1\n\n") == [SseEvent("message", b"1")]


def test_a_field_without_colon_has_an_empty_value():
    assert read(b"data\n\n") == [SseEvent("message", b"")]


def test_unknown_fields_are_ignored():
    assert read(b"id: 4\nretry: 10\nwhat: ever\ndata: 1\n\n") == [SseEvent("message", b"1")]


def test_a_line_far_over_64_kib_in_small_reads_is_one_event():
    line = b"data: " + b"x" * 300_000 + b"\n\n"
    parts = [line[at : at + 1000] for at in range(0, len(line), 1000)]
    assert [len(event.data) for event in read(*parts)] == [300_000]


@pytest.mark.parametrize("ending", [b"", b"\n"], ids=["no line end", "many lines"])
def test_an_event_over_the_limit_stops_the_stream(ending):
    reads = [b"data: " + b"x" * 94 + ending] * 100
    reader = SseReader(max_event=1000)
    with pytest.raises(WireError) as caught:
        list(map(reader.feed, reads))
    assert caught.value.failure.kind is FailureClass.OVERSIZE_EVENT


def test_the_limit_is_for_one_event_not_for_the_stream():
    reader = SseReader(max_event=1000)
    assert sum(len(reader.feed(b"data: " + b"x" * 500 + b"\n\n")) for _ in range(50)) == 50
