"""What a journal tells, in the form in which a finding asks for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dossier.model.vocabulary import Exclusion
from dossier.runner.figure import Figure, figure_id, over_starts
from dossier.runner.figures import cache_figures, gauge_figures, latency_figures, load_figures, memory_figures
from dossier.runner.journal import Entry, Reading
from dossier.runner.judged import COUNTS, enough
from dossier.runner.outcome import Outcome
from dossier.runner.plan import Instance, Plan
from dossier.runner.probes import probe_of
from dossier.runner.probes.base import Share, Spec
from dossier.runner.state import MEASURED, State, state_of

_PERCENTILES = {"p90", "p95", "p99"}


@dataclass(frozen=True, slots=True)
class Whole:
    """A population of one arm over all its server starts; `parts` are those that count, under their own ids."""

    arm: str
    spec: Spec
    parts: tuple[Spec, ...]


@dataclass(frozen=True)
class Told:
    """One journal, read; `head` is its first entry."""

    plan: Plan
    reading: Reading
    head: Entry

    @property
    def seen(self) -> list[str]:
        """The arms that answered at least once."""
        return [arm for arm in self.plan.sides if arm in self.state.identities]

    def server(self, arm: str) -> Mapping[str, Any]:
        """What the server of an arm that was seen told about itself before it was measured."""
        told: Mapping[str, Any] = self.state.identities[arm]["server"]
        return told

    def host(self, arm: str) -> Mapping[str, Any]:
        """What the client's machine told."""
        told: Mapping[str, Any] = self.state.identities[arm]["host"]
        return told

    def local(self, arm: str) -> bool:
        """Did server and client share the machine?"""
        return bool(self.state.identities[arm]["local"])

    @property
    def day(self) -> str:
        """The day on which the run began, UTC."""
        return str(self.head["at"])[:10]

    @cached_property
    def state(self) -> State:
        """Where the run stood at its last line."""
        return state_of(self.reading.entries)

    @cached_property
    def instances(self) -> list[Instance]:
        """The populations of every block, each followed by its repeat where there was one."""
        found: list[Instance] = []
        for instance in self.plan.instances():
            again = [instance.repeat] if instance.repeat.name in self.state.repeats else []
            found += [instance, *again]
        return found

    @cached_property
    def places(self) -> dict[str, Instance]:
        """Where each population, and each part of one, was measured."""
        return {
            spec.id: each
            for each in self.instances
            for spec in (each.published, *(share.spec for share in _shares(each.published)))
        }

    @cached_property
    def specs(self) -> list[Spec]:
        """The populations of every block, each followed by its parts, and by its repeat where there was one."""
        return [
            spec
            for each in self.instances
            for spec in (each.published, *(share.spec for share in _shares(each.published)))
        ]

    @cached_property
    def parts(self) -> dict[str, tuple[str, Share]]:
        """The parts of populations by id, each with the id of its whole."""
        return {share.spec.id: (spec.id, share) for spec in self.specs for share in _shares(spec)}

    @cached_property
    def wholes(self) -> list[Whole]:
        """The populations of arms that were started several times; a void start is no part of them."""
        return [
            Whole(arm, spec.model_copy(update={"id": f"{arm}-{spec.id}"}), self._parts_of(arm, spec.id))
            for spec in self.plan.populations
            for arm in self.plan.sides
            if len(self.plan.starts_of(arm)) > 1
        ]

    def _parts_of(self, arm: str, population: str) -> tuple[Spec, ...]:
        return tuple(
            each.published
            for each in self.plan.instances()
            if (each.block.arm, each.spec.id) == (arm, population) and not self.is_void(each.name)
        )

    @cached_property
    def figures(self) -> list[tuple[Spec, list[Figure]]]:
        """Every figure of every population that has any; then those of arms over their starts."""
        each = {spec.id: self._figures(spec) for spec in self.specs}
        own = [(spec, each[spec.id]) for spec in self.specs if each[spec.id]]
        wholes = [(whole.spec, self._over_starts(whole, [each[part.id] for part in whole.parts]))
                  for whole in self.wholes if whole.parts]  # fmt: skip
        return [*own, *((spec, found) for spec, found in wholes if found)]

    def _over_starts(self, whole: Whole, each: list[list[Figure]]) -> list[Figure]:
        pooled = latency_figures([entry for part in whole.parts for entry in self.samples(part.id)])
        timed = probe_of(whole.spec).timed
        return [*over_starts(each), *(figure for figure in pooled if timed and figure.statistic in _PERCENTILES)]

    def figures_by(self, population: str) -> list[Figure]:
        """The figures of one population."""
        return self._figures_by.get(population, [])

    @cached_property
    def _figures_by(self) -> dict[str, list[Figure]]:
        return {spec.id: found for spec, found in self.figures}

    @property
    def stopped(self) -> str | None:
        """Why the run did not end as planned; None where it did."""
        voids = self.reading.of("void")
        if voids and {block.number for block in self.plan.blocks} <= self.state.void:
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
        return self._samples.get(population, [])

    @cached_property
    def _samples(self) -> dict[str, list[Entry]]:
        found: dict[str, list[Entry]] = {}
        for (name, phase, _), entry in sorted(self.state.sampled.items()):
            if phase == MEASURED:
                found.setdefault(name, []).append(entry)
        return found

    def passed(self, population: str) -> int:
        """How many of its samples passed."""
        return sum(entry["outcome"] == Outcome.PASSED for entry in self.samples(population))

    def is_void(self, population: str) -> bool:
        """Did the server turn into another in the block of this population?"""
        return self.places[population].block.number in self.state.void

    def cells(self, population: str) -> list[Entry]:
        """What was seen of a cell as a whole, once a session that ran in it."""
        return [entry for entry in self.reading.of("cell") if entry["population"] == population]

    def excluded(self, spec: Spec) -> tuple[Exclusion, str] | None:
        """Why a population feeds nothing, if it does not."""
        whole = next((whole for whole in self.wholes if whole.spec.id == spec.id), None)
        if whole is not None:
            found = (self.excluded(part) for part in whole.parts)
            return next((reason for reason in found if reason is not None), None)
        if self.is_void(spec.id):
            where = "run" if self.plan.arms is None else "block"
            return Exclusion.INVALID_RUN, f"The identity of the server changed during the {where}."
        if not probe_of(spec).timed:
            return None
        if self.plan.arms is not None and (gate := self._failed_gate(self.places[spec.id])) is not None:
            return Exclusion.GATE_FAILED, f"The gate `{gate}` on this population failed: no speed claim rests on it."
        reasons = [reason for entry in self.cells(spec.id) for reason in entry["limits"]]
        reasons += [
            f"calibration: {reason}"
            for entry in self.reading.of("calibration")
            if entry["streams"] == spec.concurrency
            for reason in entry["limits"]
        ]
        return (Exclusion.CLIENT_LIMITED, "; ".join(f"`{reason}`" for reason in reasons)) if reasons else None

    def _failed_gate(self, place: Instance) -> str | None:
        """The gate on the counts of an arm's population that was not met."""
        subject = f"{place.block.arm}-{place.spec.id}"
        parts = self._parts_of(place.block.arm, place.spec.id)
        passed, planned = sum(self.passed(part.id) for part in parts), sum(part.requests for part in parts)
        judged = (gate for gate in self.plan.gates if gate.subject == subject and gate.require.test in COUNTS)
        return next((gate.id for gate in judged if parts and not enough(gate.require, passed, planned)), None)

    def figures_of(self, population: str) -> dict[str, str]:
        """The measurement that speaks for each metric of a cell: the median, a rate, or the one value."""
        found = self.figures_by(population)
        return {f.metric: figure_id(population, f) for f in found if f.statistic in {"median", "single", "rate"}}

    def _figures(self, spec: Spec) -> list[Figure]:
        probe, samples, cells = probe_of(spec), self.samples(spec.id), self.cells(spec.id)
        shares = probe.shares(spec)
        seen = [*cells, *(entry for share in shares for entry in self.cells(share.spec.id))]
        own = list(probe.figures(spec, samples, seen)) if samples else []
        if not probe.timed or shares:
            return own
        return [
            *latency_figures(samples, mean=self.plan.arms is not None),
            *load_figures(spec.requests, getattr(spec, "goal", None), samples, cells),
            *cache_figures(samples, cells),
            *gauge_figures(cells),
            *memory_figures(cells, local=bool(cells) and self.local(self.places[spec.id].block.arm)),
            *own,
        ]


def _shares(spec: Spec) -> Sequence[Share]:
    return probe_of(spec).shares(spec)
