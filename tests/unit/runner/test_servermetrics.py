"""The server's own metrics around a load: every reading of a gauge, growth of counters, nothing invented."""

from __future__ import annotations

import asyncio

from runner_support import session

from dossier.runner import servermetrics
from dossier.runner.schedule import Schedule
from dossier.runner.servermetrics import Watch
from dossier.wire.dialect import Detection, Dialect


def page(running, tokens):
    return (
        f'# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{{engine="0"}} {running}\n'
        f'vllm:num_requests_running{{engine="1"}} 1\n'
        f"# TYPE vllm:generation_tokens counter\nvllm:generation_tokens_total {tokens}\n"
    )


def watched(*texts):
    return Watch(client=None, detection=Detection(Dialect.VLLM, (), None), texts=list(texts)).summary()


def test_gauges_keep_every_reading_and_counters_grow():
    assert watched(page(0, 10), page(3, 40), page(0, 75)) == {
        "readings": 3, "gauges": {"running": [1, 4, 1]}, "grown": {"output_tokens": 65}, "resets": 0,
    }  # fmt: skip


def test_a_restart_during_the_load_is_told_and_gives_no_growth():
    assert watched(page(0, 100), page(0, 5)) == {
        "readings": 2, "gauges": {"running": [1, 1]}, "grown": {}, "resets": 1,
    }  # fmt: skip


def test_what_is_no_metrics_page_gives_nothing():
    assert watched("<html>", "<html>") == {}
    assert watched(page(0, 1)) == {}


def test_it_reads_before_during_and_after(monkeypatch):
    """Four streams of 0.3 s, read every 50 ms: the reference server says that four were at work."""
    monkeypatch.setattr(servermetrics, "PERIOD_S", 0.05)

    async def go():
        async with session(Schedule(ttft_ms=300, gap_ms=0, tokens=2)) as here:
            watch = Watch(here.client, here.detection)
            async with watch.watching():
                await asyncio.gather(*(here.stream(here.body("one two", 8)) for _ in range(4)))
            return watch.summary()

    seen = asyncio.run(go())
    running = seen["gauges"]["running"]
    assert (running[0], max(running), running[-1]) == (0, 4, 0)
    assert seen["grown"]["prompt_tokens"] == 4 * 2
