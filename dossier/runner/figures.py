"""Figures of a cell from its samples: pure, and each of so many values that the statistic means something."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dossier.runner.figure import Figure, statistics_of
from dossier.runner.journal import Entry
from dossier.runner.outcome import Goal, Outcome
from dossier.stats import median

PER_REQUEST: Mapping[str, str] = {
    "ttft_any": "s", "ttft_visible": "s", "e2e": "s", "tpot": "s", "decode_rate": "tok/s", "effective_prefill": "tok/s",
}  # fmt: skip
"""Metrics of which every request has a value, with their unit."""
BATCH: Mapping[str, str] = {
    "throughput": "tok/s", "request_throughput": "req/s", "goodput": "req/s", "prefix_hit_rate": "%",
    "engine_prefix_hit_rate": "%", "acceptance_rate": "%",
}  # fmt: skip
"""Metrics of a whole batch, one value a start."""
_ORDER = ("ttft_any", "ttft_visible", "e2e", "tpot", "inter_chunk_gap", "decode_rate", "effective_prefill")


def latency_figures(samples: Sequence[Entry], *, mean: bool = False) -> list[Figure]:
    """Times and rates of the samples that passed; what failed or missed feeds none of them."""
    good = timed(samples)
    series = {metric: (unit, [value for _, value in values_of(metric, good)]) for metric, unit in PER_REQUEST.items()}
    gaps = [gap / 1e6 for entry in good for gap in entry["timing"].get("gaps_us", ())]
    series = {**series, "inter_chunk_gap": ("s", gaps)}
    return [
        figure
        for metric in _ORDER
        for figure in statistics_of(metric, series[metric][0], series[metric][1], mean=mean)
        if figure.value > 0
    ]


def timed(samples: Sequence[Entry]) -> list[Entry]:
    """The samples that passed and have times."""
    return [entry for entry in samples if entry["outcome"] == Outcome.PASSED and "timing" in entry]


def values_of(metric: str, good: Sequence[Entry]) -> list[tuple[Entry, float]]:
    """Every such sample that has a value, with it."""
    value = _VALUES[metric]
    return [(entry, round(one, 9)) for entry in good if (one := value(entry)) is not None]


def load_figures(requests: int, goal: Goal | None, samples: Sequence[Entry], cells: Sequence[Entry]) -> list[Figure]:
    """Rates of the whole batch. None where the cell was interrupted: its wall time is not that of one batch."""
    if len(cells) != 1 or cells[0]["requests"] != requests or len(samples) != requests:
        return []
    all_timed = [entry for entry in samples if "timing" in entry]
    whole = [entry for entry in all_timed if entry["outcome"] != Outcome.FAILED]
    if not whole:
        return []
    wall = (max(map(_end_ns, all_timed)) - min(map(_begin_ns, all_timed))) / 1e9
    tokens = [entry["usage"]["completion"] for entry in whole if "completion" in entry.get("usage", {})]
    found = [Figure("request_throughput", "rate", len(whole) / wall, "req/s", len(whole))]
    if len(tokens) == len(whole):
        found.append(Figure("throughput", "rate", sum(tokens) / wall, "tok/s", len(whole)))
    if goal is not None:
        good = sum(entry["outcome"] == Outcome.PASSED and meets(entry, goal) for entry in whole)
        found.append(Figure("goodput", "rate", good / wall, "req/s", len(whole)))
    return [figure for figure in found if figure.value > 0]


def cache_figures(samples: Sequence[Entry], cells: Sequence[Entry]) -> list[Figure]:
    """The share of prompt tokens that usage calls cached, and of draft tokens that the engine accepted."""
    usages = [entry["usage"] for entry in samples if entry["outcome"] == Outcome.PASSED and "usage" in entry]
    found = []
    if usages and all("cached" in usage and usage.get("prompt") for usage in usages):
        share = 100 * sum(usage["cached"] for usage in usages) / sum(usage["prompt"] for usage in usages)
        found.append(Figure("prefix_hit_rate", "rate", share, "%", len(usages)))
    grown: Mapping[str, Any] = cells[0]["server"].get("grown", {}) if len(cells) == 1 else {}
    if grown.get("prefix_queries") and "prefix_hits" in grown:
        share = 100 * grown["prefix_hits"] / grown["prefix_queries"]
        found.append(Figure("engine_prefix_hit_rate", "rate", share, "%", len(samples)))
    if grown.get("drafted") and "accepted" in grown:
        share = 100 * grown["accepted"] / grown["drafted"]
        found.append(Figure("acceptance_rate", "rate", share, "%", len(samples)))
    return found


_GAUGES = {"running": ("requests_running", "requests", 1), "waiting": ("requests_waiting", "requests", 1),
           "kv": ("kv_use", "%", 100)}  # fmt: skip


def gauge_figures(cells: Sequence[Entry]) -> list[Figure]:
    """Median and greatest of the server's own gauges over the readings of the cell: what ran, what waited, KV use.

    None of fewer than three readings: the first and the last are taken before and after the load.
    """
    found = []
    for name, (metric, unit, factor) in _GAUGES.items():
        during = [value for entry in cells for value in entry["server"].get("gauges", {}).get(name, ())[1:-1]]
        if during:
            values = [factor * value for value in during]
            found.append(Figure(metric, "median", median(values) or 0.0, unit, len(values)))
            found.append(Figure(metric, "max", max(values), unit, len(values)))
    return found


def memory_figures(cells: Sequence[Entry], *, local: bool) -> list[Figure]:
    """Memory when the cell ended, of this machine, where the server runs on it."""
    if not local or not cells:
        return []
    told = cells[-1]["memory"]
    found = [Figure("host_memory_used", "single", told["host_used_mib"], "MiB", 1)] if "host_used_mib" in told else []
    for metric, name, choose in (("gpu_memory_used", "gpu_used_mib", max), ("gpu_memory_free", "gpu_free_mib", min)):
        if told.get(name):
            statistic = "max" if choose is max else "min"
            found.append(Figure(metric, statistic, choose(told[name]), "MiB", len(told[name])))
    return found


def seconds(entry: Entry, name: str) -> float:
    """A time of a sample in seconds; from the scheduled time under an open load."""
    timing = entry["timing"]
    return float((timing[name] + timing.get("lag_ns", 0)) / 1e9)


def tpot(entry: Entry) -> float | None:
    """(e2e - ttft) / (output tokens - 1); None for fewer than two tokens, or when all came at once."""
    tokens = entry.get("usage", {}).get("completion", 0)
    span = entry["timing"]["e2e"] - entry["timing"]["ttft_any"]
    return span / (tokens - 1) / 1e9 if tokens >= 2 and span > 0 else None


def _visible(entry: Entry) -> float | None:
    return seconds(entry, "ttft_visible") if "ttft_visible" in entry["timing"] else None


def _decode(entry: Entry) -> float | None:
    each = tpot(entry)
    return 1 / each if each else None


def meets(entry: Entry, goal: Goal) -> bool:
    """Are all the stated limits met? An undefined TPOT meets none."""
    each = tpot(entry)
    seen = (
        (goal.ttft_ms, seconds(entry, "ttft_any")),
        (goal.tpot_ms, each if each is not None else float("inf")),
        (goal.e2e_ms, seconds(entry, "e2e")),
    )
    return all(limit is None or value * 1000 <= limit for limit, value in seen)


def _prefill(entry: Entry) -> float | None:
    prompt, first = entry.get("usage", {}).get("prompt"), seconds(entry, "ttft_any")
    return prompt / first if prompt and first > 0 else None


def _begin_ns(entry: Entry) -> int:
    return int(entry["timing"]["start_ns"]) - int(entry["timing"].get("lag_ns", 0))


def _end_ns(entry: Entry) -> int:
    return int(entry["timing"]["start_ns"]) + int(entry["timing"]["e2e"])


_VALUES: Mapping[str, Callable[[Entry], float | None]] = {
    "ttft_any": lambda entry: seconds(entry, "ttft_any"),
    "ttft_visible": _visible,
    "e2e": lambda entry: seconds(entry, "e2e"),
    "tpot": tpot,
    "decode_rate": _decode,
    "effective_prefill": _prefill,
}
