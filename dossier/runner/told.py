"""What a journal tells, in the form in which a finding asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dossier.model.vocabulary import Exclusion
from dossier.runner.figure import Figure, figure_id
from dossier.runner.figures import cache_figures, gauge_figures, latency_figures, load_figures, memory_figures
from dossier.runner.journal import Entry, Reading
from dossier.runner.plan import Plan
from dossier.runner.probes import probe_of
from dossier.runner.probes.base import Share, Spec
from dossier.runner.state import MEASURED, State, state_of


@dataclass(frozen=True)
class Told:
    """One journal, read; `head` and `identity` are its entries of those kinds."""

    plan: Plan
    reading: Reading
    head: Entry
    identity: Entry

    @property
    def server(self) -> Mapping[str, Any]:
        """What the server told about itself before the run."""
        told: Mapping[str, Any] = self.identity["server"]
        return told

    @property
    def host(self) -> Mapping[str, Any]:
        """What the client's machine told."""
        told: Mapping[str, Any] = self.identity["host"]
        return told

    @property
    def local(self) -> bool:
        """Did server and client share the machine?"""
        return bool(self.identity["local"])

    @property
    def day(self) -> str:
        """The day on which the run began, UTC."""
        return str(self.head["at"])[:10]

    @cached_property
    def state(self) -> State:
        """Where the run stood at its last line."""
        return state_of(self.reading.entries)

    @cached_property
    def specs(self) -> list[Spec]:
        """The populations of the plan, each followed by its parts, and by its repeat where there was one."""
        found: list[Spec] = []
        for spec in self.plan.populations:
            again = f"{spec.id}-repeat"
            copies = [spec.model_copy(update={"id": again})] if again in self.state.repeats else []
            for whole in (spec, *copies):
                found += [whole, *(share.spec for share in probe_of(whole).shares(whole))]
        return found

    @cached_property
    def parts(self) -> dict[str, tuple[str, Share]]:
        """The parts of populations by id, each with the id of its whole."""
        return {share.spec.id: (spec.id, share) for spec in self.specs for share in probe_of(spec).shares(spec)}

    @cached_property
    def figures(self) -> list[tuple[Spec, list[Figure]]]:
        """Every figure of every population that has any."""
        return [(spec, found) for spec in self.specs if (found := self._figures(spec))]

    @property
    def stopped(self) -> str | None:
        """Why the run did not end as planned; None where it did."""
        voids = self.reading.of("void")
        if voids:
            return f"the identity of the server changed: {voids[0]['why']}"
        if any(entry["completion"] == "concluded" for entry in self.reading.of("end")):
            return None
        stops = self.reading.of("stop")
        return str(stops[-1]["why"]) if stops else "the runner was killed, and the run was not resumed"

    def samples(self, population: str) -> list[Entry]:
        """The measured samples of a population, or of a part of one, by index."""
        if population in self.parts:
            whole, share = self.parts[population]
            return [entry for entry in self.samples(whole) if entry["index"] in share.indices]
        found = [entry for (name, phase, _), entry in self.state.sampled.items()
                 if name == population and phase == MEASURED]  # fmt: skip
        return sorted(found, key=lambda entry: entry["index"])

    def cells(self, population: str) -> list[Entry]:
        """What was seen of a cell as a whole, once a session that ran in it."""
        return [entry for entry in self.reading.of("cell") if entry["population"] == population]

    def excluded(self, spec: Spec) -> tuple[Exclusion, str] | None:
        """Why a population feeds nothing, if it does not."""
        if self.reading.of("void"):
            return Exclusion.INVALID_RUN, "The identity of the server changed during the run."
        if not probe_of(spec).timed:
            return None
        reasons = [reason for entry in self.cells(spec.id) for reason in entry["limits"]]
        reasons += [
            f"calibration: {reason}"
            for entry in self.reading.of("calibration")
            if entry["streams"] == spec.concurrency
            for reason in entry["limits"]
        ]
        return (Exclusion.CLIENT_LIMITED, "; ".join(f"`{reason}`" for reason in reasons)) if reasons else None

    def figures_of(self, population: str) -> dict[str, str]:
        """The measurement that speaks for each metric of a cell: the median, a rate, or the one value."""
        found = next((figures for spec, figures in self.figures if spec.id == population), [])
        return {f.metric: figure_id(population, f) for f in found if f.statistic in {"median", "single", "rate"}}

    def _figures(self, spec: Spec) -> list[Figure]:
        probe, samples, cells = probe_of(spec), self.samples(spec.id), self.cells(spec.id)
        shares = probe.shares(spec)
        seen = [*cells, *(entry for share in shares for entry in self.cells(share.spec.id))]
        own = list(probe.figures(spec, samples, seen)) if samples else []
        if not probe.timed or shares:
            return own
        return [
            *latency_figures(samples),
            *load_figures(spec.requests, getattr(spec, "goal", None), samples, cells),
            *cache_figures(samples, cells),
            *gauge_figures(cells),
            *memory_figures(cells, local=self.local),
            *own,
        ]
