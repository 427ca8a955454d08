"""The server's own counters around a cell: queue and cache as samples, the rest as growth of counters."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from dossier.wire import api
from dossier.wire.client import Client
from dossier.wire.dialect import Detection, Dialect
from dossier.wire.errors import WireError
from dossier.wire.metrics import Scrape, differences, parse_metrics

PERIOD_S = 1.0
MOST = 600

# Gauges: every reading during the cell, `kv` as a share of 1. Counters: growth over the cell.
GAUGES: Mapping[Dialect, Mapping[str, str]] = {
    Dialect.VLLM: {
        "running": "vllm:num_requests_running", "waiting": "vllm:num_requests_waiting",
        "kv": "vllm:kv_cache_usage_perc",
    },
    Dialect.SGLANG: {
        "running": "sglang:num_running_reqs", "waiting": "sglang:num_queue_reqs", "kv": "sglang:token_usage",
    },
    Dialect.LLAMA_CPP: {"running": "llamacpp:requests_processing", "waiting": "llamacpp:requests_deferred"},
    Dialect.TGI: {"running": "tgi_batch_current_size", "waiting": "tgi_queue_size"},
    Dialect.UNKNOWN: {"running": "reference:requests_running"},
    Dialect.TRTLLM: {
        "running": "trtllm_num_requests_running", "waiting": "trtllm_num_requests_waiting",
        "kv": "trtllm_kv_cache_utilization",
    },
    Dialect.UNKNOWN: {"running": "reference:requests_running"},
}  # fmt: skip
COUNTERS: Mapping[Dialect, Mapping[str, str]] = {
    Dialect.VLLM: {
        "prompt_tokens": "vllm:prompt_tokens_total", "output_tokens": "vllm:generation_tokens_total",
        "preemptions": "vllm:num_preemptions_total", "prefix_queries": "vllm:prefix_cache_queries_total",
        "prefix_hits": "vllm:prefix_cache_hits_total", "drafted": "vllm:spec_decode_num_draft_tokens_total",
        "accepted": "vllm:spec_decode_num_accepted_tokens_total",
    },
    Dialect.SGLANG: {
        "prompt_tokens": "sglang:prompt_tokens_total", "output_tokens": "sglang:generation_tokens_total",
        "preemptions": "sglang:num_retracted_requests_total", "prefix_hits": "sglang:cached_tokens_total",
    },
    Dialect.LLAMA_CPP: {
        "prompt_tokens": "llamacpp:prompt_tokens_total", "output_tokens": "llamacpp:tokens_predicted_total",
        "prefix_hits": "llamacpp:prompt_tokens_cached_total",
        "drafted": "llamacpp:spec_decode_num_draft_tokens_total",
        "accepted": "llamacpp:spec_decode_num_accepted_tokens_total",
    },
    Dialect.TRTLLM: {
        "drafted": "trtllm_spec_decode_num_draft_tokens_total",
        "accepted": "trtllm_spec_decode_num_accepted_tokens_total",
    },
    Dialect.UNKNOWN: {
        "prompt_tokens": "reference:prompt_tokens_total", "prefix_hits": "reference:prefix_hits_total",
        "prefix_queries": "reference:prompt_tokens_total",
        "drafted": "reference:drafted_total", "accepted": "reference:accepted_total",
    },
}  # fmt: skip


@dataclass(slots=True)
class Watch:
    """Texts of the metrics page as they came; they are parsed when the cell is over, not while it is timed."""

    client: Client
    detection: Detection
    texts: list[str] = field(default_factory=list)

    async def take(self) -> None:
        """One reading; a server without metrics gives none."""
        path = self.detection.habits.metrics
        if path is None or len(self.texts) >= MOST:
            return
        reply = await api.get_text(self.client, self.client.target.root + path)
        if reply.failure is None:
            self.texts.append(reply.data)

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """A reading before, one a second, and one after."""
        await self.take()
        ticking = asyncio.create_task(self._tick()) if self.texts else None
        try:
            yield
        finally:
            if ticking is not None:
                ticking.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await ticking
        await self.take()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(PERIOD_S)
            await self.take()

    def summary(self) -> dict[str, Any]:
        """Every value of `gauges`, what `grown` of counters, and how many readings; empty where the server gave none.

        Readings are a second apart, so a short peak between two of them goes unseen.
        """
        scrapes = [scrape for text in self.texts if (scrape := _parsed(text)) is not None]
        if len(scrapes) < 2:
            return {}
        dialect = self.detection.dialect
        gauges = {name: _values(scrapes, series) for name, series in GAUGES.get(dialect, {}).items()}
        grown = differences(scrapes[0], scrapes[-1])
        counters = {name: grown.total(series) for name, series in COUNTERS.get(dialect, {}).items()}
        return {
            "readings": len(scrapes),
            "gauges": {name: values for name, values in gauges.items() if values},
            "grown": {name: value for name, value in counters.items() if value is not None},
            "resets": len(grown.resets),
        }


async def in_flight(client: Client, detection: Detection) -> int | None:
    """Requests that the server is running or keeps waiting; None where it does not say."""
    watch = Watch(client, detection)
    await watch.take()
    scrape = _parsed(watch.texts[0]) if watch.texts else None
    if scrape is None:
        return None
    series = GAUGES.get(detection.dialect, {})
    values = [scrape.gauge(series[name]) for name in ("running", "waiting") if name in series]
    known = [value for value in values if value is not None]
    return round(sum(known)) if known else None


def _parsed(text: str) -> Scrape | None:
    try:
        return parse_metrics(text)
    except WireError:
        return None


def _values(scrapes: list[Scrape], series: str) -> list[float]:
    return [round(value, 6) for scrape in scrapes if (value := scrape.gauge(series)) is not None]
