"""Endurance: one cell for a long time, and whether its speed or the machine's memory drifts."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

from dossier.model.vocabulary import MeasurementClass
from dossier.runner.figure import Figure as Computed
from dossier.runner.figures import seconds, tpot
from dossier.runner.host import memory
from dossier.runner.journal import Entry
from dossier.runner.outcome import Outcome
from dossier.runner.probes import cell
from dossier.runner.probes.base import Probe, Sample
from dossier.runner.probes.cell import Cell
from dossier.runner.session import Session
from dossier.stats import Trend, trend

METHOD = "least squares over time, t"
_READINGS = 200
_LEAST = 20


class Soak(Cell):
    """A cell whose samples are looked at in order."""

    probe: Literal["soak"]  # type: ignore[assignment]


async def ask_soak(session: Session, spec: Soak, index: int) -> Sample:
    """One request of the cell; some also read the memory of this machine, where the server runs on it."""
    sample = await cell.ask_cell(session, spec, index)
    every = max(1, spec.requests // _READINGS)
    if index < 0 or index % every or not session.client.target.origin.loopback:
        return sample
    read = await asyncio.to_thread(memory)
    return replace(sample, facts={name: value for name, value in read.items() if name != "gpu_free_mib"})


def drift(_: Soak, samples: Sequence[Entry], __: Sequence[Entry]) -> list[Computed]:
    """Change over the run, of a line through the samples in the order in which they were sent."""
    timed = sorted((entry for entry in samples if "timing" in entry), key=_start_s)
    good = [entry for entry in timed if entry["outcome"] == Outcome.PASSED]
    found = [*_relative("ttft_drift", [(_start_s(entry), seconds(entry, "ttft_any")) for entry in good])]
    rates = [(_start_s(entry), value) for entry in good if (value := tpot(entry)) is not None]
    found += _relative("tpot_drift", rates)
    for metric, name in (("host_memory_growth", "host_used_mib"), ("gpu_memory_growth", "gpu_used_mib")):
        read = [(_start_s(entry), _most(entry["facts"][name])) for entry in timed if entry.get("facts", {}).get(name)]
        found += _absolute(metric, read)
    return found


def _relative(metric: str, points: list[tuple[float, float]]) -> Iterator[Computed]:
    fitted = _fit([(at, math.log(value)) for at, value in points if value > 0])
    if fitted is not None:
        line, span = fitted
        value, low, high = (100 * math.expm1(slope * span) for slope in (line.slope, line.low, line.high))
        yield Computed(metric, "single", value, "%", line.n, low, high, METHOD)


def _absolute(metric: str, points: list[tuple[float, float]]) -> Iterator[Computed]:
    fitted = _fit(points)
    if fitted is not None:
        line, span = fitted
        value, low, high = (slope * span for slope in (line.slope, line.low, line.high))
        yield Computed(metric, "single", value, "MiB", line.n, low, high, METHOD)


def _fit(points: list[tuple[float, float]]) -> tuple[Trend, float] | None:
    """The line and how long it is; None of so few points that it would say nothing."""
    if len(points) < _LEAST:
        return None
    line = trend([at for at, _ in points], [value for _, value in points])
    return (line, points[-1][0] - points[0][0]) if line is not None else None


def _start_s(entry: Entry) -> float:
    return float(entry["timing"]["start_ns"]) / 1e9


def _most(value: Any) -> float:
    return float(max(value)) if isinstance(value, list | tuple) else float(value)


PROBES = (
    Probe(
        "soak", Soak, MeasurementClass.ENDURANCE,
        "The same cell again and again: every reply whole and of its length, and a line through times and memory in "
        "the order of the requests says whether they drift.",
        "That nothing drifts over a longer time, under another load, or in a step that a straight line hides; memory "
        "is the machine's, with whatever else runs on it.",
        cell.cost, ask_soak, cell.setup, cell.sizes, timed=True, figures=drift,
    ),
)  # fmt: skip
