"""Steps of concurrency: one cell at each, and where the rate stops growing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from dossier.model.base import Count
from dossier.model.vocabulary import Load, MeasurementClass
from dossier.runner.figure import Figure as Computed
from dossier.runner.figures import load_figures
from dossier.runner.journal import Entry
from dossier.runner.probes import cell
from dossier.runner.probes.base import Probe, Round, Share
from dossier.runner.probes.cell import Cell

KNEE = 0.95


class Steps(Cell):
    """A closed cell at each of several concurrencies, `each` requests for every stream."""

    probe: Literal["steps"]  # type: ignore[assignment]
    steps: Annotated[tuple[Annotated[Count, Field(ge=1, le=4096)], ...], Field(min_length=2, max_length=20)]
    each: Annotated[Count, Field(ge=1, le=1000, description="Requests for every stream of a step.")] = 4

    @model_validator(mode="after")
    def _stepped(self) -> Steps:
        if list(self.steps) != sorted(set(self.steps)):
            raise PydanticCustomError("plan/steps", "`steps` rise, and none stands there twice")
        whole = self.each * sum(self.steps)
        if self.requests != whole:
            text = f"`requests` is {whole}: {self.each} for each of {sum(self.steps)} streams in all steps"
            raise PydanticCustomError("plan/steps", "{text}", {"text": text})
        if self.rate is not None or self.concurrency != 1:
            raise PydanticCustomError("plan/steps", "steps are closed loads: `steps` takes the place of `concurrency`")
        return self


def rounds(spec: Steps) -> list[Round]:
    """One round a step."""
    found: list[Round] = []
    for streams in spec.steps:
        first = sum(len(item.indices) for item in found)
        indices = range(first, first + spec.each * streams)
        found.append(Round(f"{spec.id}-c{streams}", indices, streams))
    return found


def shares(spec: Steps) -> list[Share]:
    """A cell for each step."""
    fields = {name: getattr(spec, name) for name in Cell.model_fields if name != "probe"}
    return [
        Share(
            Cell.model_construct(**fields | {
                "probe": "cell", "id": item.population, "requests": len(item.indices), "warmups": 0,
                "concurrency": item.concurrency, "title": f"{spec.title or 'Load'}, {item.concurrency} at once",
            }),
            item.indices,
        )
        for item in rounds(spec)
    ]  # fmt: skip


def knee(spec: Steps, samples: Sequence[Entry], cells: Sequence[Entry]) -> list[Computed]:
    """Where the rate stops growing. None where it still grows at the last step, or where a step is missing."""
    metric = "goodput" if spec.goal is not None else "throughput"
    rates: list[tuple[int, float]] = []
    for item in rounds(spec):
        own = [entry for entry in samples if entry["index"] in item.indices]
        seen = [entry for entry in cells if entry["population"] == item.population]
        figures = load_figures(len(item.indices), spec.goal, own, seen)
        rate = next((figure.value for figure in figures if figure.metric == metric), None)
        if rate is None or any(entry["limits"] for entry in seen):
            return []
        rates.append((item.concurrency, rate))
    most = max(rate for _, rate in rates)
    at = next(streams for streams, rate in rates if rate >= KNEE * most)
    if at == spec.steps[-1]:
        return []
    return [Computed("saturation_concurrency", "single", at, "requests", len(samples), title=_title(metric))]


def _title(metric: str) -> str:
    return f"Least step that reaches {KNEE:.0%} of the greatest {metric}".replace("%", " %")


def _facts(spec: Steps, _: Sequence[Entry]) -> Mapping[str, Any]:
    return {"concurrency": max(spec.steps), "load": Load.CLOSED.value}


PROBES = (
    Probe(
        "steps", Steps, MeasurementClass.CONCURRENCY,
        "One closed cell at each of several concurrencies, one after another, and the least that nearly reaches "
        "the greatest rate.",
        "Where between two steps the rate stops growing, that more would be refused or queued, or what an open load "
        "does there; with the rate still growing at the last step no saturation is stated.",
        cell.cost, cell.ask_cell, cell.setup, cell.sizes, rounds, shares, timed=True, figures=knee, facts=_facts,
    ),
)  # fmt: skip
