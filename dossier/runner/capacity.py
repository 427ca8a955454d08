"""What a server says its cache holds, and what follows by division: planning values, never served ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dossier.runner.host import memory
from dossier.runner.probes import probe_of
from dossier.runner.remarks import JOURNAL
from dossier.runner.session import Session
from dossier.runner.told import Told
from dossier.wire import api
from dossier.wire.dialect import Dialect
from dossier.wire.errors import WireError
from dossier.wire.metrics import Scrape, parse_metrics

_DERIVED = "Arithmetic from what the server says of itself; nothing was served to show it."


async def look(session: Session) -> dict[str, Any]:
    """Tokens that the KV cache holds, and the memory free on each card where they are this machine's; else nothing."""
    found: dict[str, Any] = {}
    path = session.detection.habits.metrics
    if path is not None:
        reply = await api.get_text(session.client, session.client.target.root + path)
        tokens = kv_tokens(reply.data, session.detection.dialect) if reply.failure is None else None
        found = {"kv_tokens": tokens} if tokens is not None else {}
    if session.client.target.origin.loopback and "gpu_free_mib" in (read := memory()):
        found["gpu_free_mib"] = read["gpu_free_mib"]
    return found


def kv_tokens(text: str, dialect: Dialect) -> int | None:
    """Tokens of the KV cache by a server's metrics, over all its engines; None where they do not say."""
    try:
        scrape = parse_metrics(text)
    except WireError:
        return None
    if dialect is Dialect.VLLM:
        return _of_blocks(scrape)
    tokens = scrape.gauge("sglang:max_total_num_tokens") if dialect is Dialect.SGLANG else None
    return round(tokens) if tokens else None


def _of_blocks(scrape: Scrape) -> int | None:
    """Blocks by tokens a block; engines that do not say both count for nothing, so then nothing is known."""
    engines = [dict(series.labels) for series in scrape.gauges if series.name == "vllm:cache_config_info"]
    sizes = [(engine.get("num_gpu_blocks", ""), engine.get("block_size", "")) for engine in engines]
    if not sizes or not all(blocks.isdecimal() and size.isdecimal() for blocks, size in sizes):
        return None
    return sum(int(blocks) * int(size) for blocks, size in sizes) or None


def capacity(told: Told) -> list[dict[str, Any]]:
    """What the first start of each arm says it holds, as observations."""
    first: dict[str, dict[str, Any]] = {}
    for entry in told.reading.of("capacity"):
        first.setdefault(entry.get("arm", told.seen[0]), dict(entry))
    return [
        {"id": f"capacity-{arm}-{name}", "what": what, "value": value, "class": "capacity", "arm": arm,
         "artifact": JOURNAL}
        for arm, entry in first.items()
        for name, what, value in _derived(told, arm, entry)
    ]  # fmt: skip


def _derived(told: Told, arm: str, entry: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    for card, free in enumerate(entry.get("gpu_free_mib", ())):
        yield f"reserve-{card}", f"Memory free on card {card} when the server was up.", f"{free:,} MiB"
    tokens = entry.get("kv_tokens")
    if tokens is None:
        return
    yield "kv-tokens", "Tokens that the server says its KV cache holds.", f"{tokens:,} tokens"
    context = told.plan.sides[arm].context_tokens or told.server(arm).get("context")
    if context:
        what = f"Full windows of the configured context in that cache. {_DERIVED}"
        yield "full-windows", what, f"{tokens / context:.2f} windows"
    for streams in sorted({spec.concurrency for spec in told.specs if probe_of(spec).timed} - {1}):
        what = f"That cache divided by a concurrency of {streams}. {_DERIVED}"
        yield f"shared-{streams}", what, f"{tokens // streams:,} tokens a request"
