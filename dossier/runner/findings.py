"""The finding of a run: populations, figures, gates and limits, from what its journal tells."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from dossier.model.gate import Test
from dossier.model.vocabulary import Load
from dossier.runner.figure import Figure, figure_id, rounded
from dossier.runner.journal import Entry
from dossier.runner.outcome import Outcome
from dossier.runner.plan import PlannedGate
from dossier.runner.probes import probe_of
from dossier.runner.probes.base import Spec, range_of
from dossier.runner.probes.cell import Cell, Output
from dossier.runner.remarks import caveats, limits, observations, summary
from dossier.runner.told import Told

ARM = "candidate"
_MOST_MISSES = 200
_INTERRUPTED = " The cell was interrupted and resumed, so no rate of a whole batch is given."


def finding_record(
    told: Told, finding_id: str, recipe: str, artifacts: list[dict[str, Any]], pins: Mapping[str, str]
) -> dict[str, Any]:
    """The finding as plain data."""
    stopped = told.stopped
    figures = {figure_id(spec.id, figure) for spec, found in told.figures for figure in found}
    return {
        "schema": "dossier/finding/v1",
        "id": finding_id,
        "title": told.plan.title,
        "date": date.fromisoformat(told.day),
        "kind": "qualification",
        "provenance": "measured",
        "models": [told.plan.subject],
        "completion": "concluded" if stopped is None else "aborted",
        "summary": summary(told),
        "caveat": caveats(told),
        "arms": {ARM: {"recipe": recipe, "path": told.plan.target.path.value, "server_starts": 1}},
        "populations": [_population(told, spec) for spec in told.specs],
        "measurements": [_measurement(told, spec, figure) for spec, found in told.figures for figure in found],
        "gates": [_gate(told, gate, figures) for gate in told.plan.gates],
        "observations": observations(told),
        "artifacts": artifacts,
        "limits": limits(told),
        "pins": dict(pins),
    }


def _population(told: Told, spec: Spec) -> dict[str, Any]:
    probe, samples = probe_of(spec), told.samples(spec.id)
    count = {outcome: sum(entry["outcome"] == outcome for entry in samples) for outcome in Outcome}
    excluded = told.excluded(spec)
    return {
        "id": spec.id,
        "title": spec.title or probe.asks.split(":")[0].split(",")[0].rstrip("."),
        "class": probe.class_.value,
        "arm": ARM,
        "probe": _parameters(spec),
        "suite": f"dossier {told.head['dossier']}, probe {probe.name}",
        "repeat_of": told.state.repeats.get(spec.id),
        "planned": spec.requests,
        "completed": count[Outcome.PASSED] + count[Outcome.MISSED],
        "failed": count[Outcome.FAILED],
        "not_run": spec.requests - len(samples),
        "passed": count[Outcome.PASSED],
        "warmups": spec.warmups or None,
        **(_cell(told, spec, samples) if isinstance(spec, Cell) else {"concurrency": spec.concurrency}),
        **probe.facts(spec, samples),
        **_parts(told, spec),
        "misses": _misses(samples, most=_MOST_MISSES if not probe.shares(spec) else 0),
        "excluded": {"reason": excluded[0].value, "note": excluded[1]} if excluded is not None else None,
        "note": probe.asks + (_INTERRUPTED if len(told.cells(spec.id)) > 1 else ""),
    }


def _parts(told: Told, spec: Spec) -> dict[str, Any]:
    """Of which population it is a part, or whether its parts make up the whole."""
    if spec.id in told.parts:
        return {"part_of": told.parts[spec.id][0]}
    shares = probe_of(spec).shares(spec)
    return {"complete_parts": True} if sum(len(share.indices) for share in shares) == spec.requests else {}


def _parameters(spec: Spec) -> str:
    """The parameters that are the probe's own, as `name=value`."""
    common = {*Spec.model_fields, "probe"}
    data = spec.model_dump(mode="json", exclude=common, exclude_none=True)
    return " ".join([probe_of(spec).name, *(f"{name}={_shown(value)}" for name, value in data.items())])


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ",".join(map(str, value))
    return ",".join(f"{k}:{v}" for k, v in value.items()) if isinstance(value, Mapping) else str(value)


def _cell(told: Told, spec: Cell, samples: list[Entry]) -> dict[str, Any]:
    load = Load.OPEN if spec.rate is not None else (Load.SERIAL if spec.concurrency == 1 else Load.CLOSED)
    exact = f"exactly {spec.output_tokens} asked for, counted by usage"
    return {
        "target_tokens": spec.prompt_tokens,
        "prompt_tokens": range_of(samples, "prompt"),
        "output_tokens": range_of(samples, "completion"),
        "output_budget": spec.output_tokens,
        "output_control": exact if spec.output is Output.EXACT else "up to the budget; replies may end earlier",
        "concurrency": spec.concurrency,
        "load": load.value,
        "rate": f"{spec.rate} req/s" if spec.rate is not None else None,
        "cache": spec.cache.value,
        "thinking": spec.thinking,
        "path": told.plan.target.path.value,
        "protocol": "chat-completions, streamed",
    }


def _misses(samples: list[Entry], most: int) -> list[dict[str, Any]]:
    """Every sample that did not pass, beyond the first ones counted by kind; those of parts stand there."""
    wrong = [entry for entry in samples if entry["outcome"] != Outcome.PASSED]
    found = [
        {
            "index": entry["index"],
            "kind": entry["kind"],
            "observed": entry.get("observed"),
            "expected": entry.get("expected"),
            "finish": entry.get("finish"),
        }
        for entry in wrong[:most]
    ]
    rest = [entry["kind"] for entry in wrong[most:]]
    return found + [{"kind": kind, "count": rest.count(kind)} for kind in sorted(set(rest))]


def _measurement(told: Told, spec: Spec, figure: Figure) -> dict[str, Any]:
    excluded = told.excluded(spec)
    interval = None
    if figure.low is not None and figure.high is not None:
        interval = {"low": f"{rounded(figure.low):f}", "high": f"{rounded(figure.high):f}", "level": "95",
                    "method": figure.method}  # fmt: skip
    memory = figure.unit == "MiB"
    return {
        "id": figure_id(spec.id, figure),
        "metric": figure.metric,
        "value": f"{rounded(figure.value):f} {figure.unit}".rstrip(),
        "statistic": figure.statistic,
        "n": figure.n,
        "population": spec.id,
        "interval": interval,
        "when": "when the cell ended" if memory else None,
        "per": "card" if figure.metric.startswith("gpu_") else None,
        "title": figure.title or (_goal(spec) if figure.metric == "goodput" else None),
        "from": {
            "artifact": "file-figures",
            "pointer": f"/cells/{spec.id}/{figure.key}/{figure.statistic}/value",
        },
        "excluded": {"reason": excluded[0].value} if excluded is not None else None,
    }


def _goal(spec: Spec) -> str:
    goal = getattr(spec, "goal", None)
    limits = {} if goal is None else goal.model_dump(exclude_none=True)
    return "Goodput under " + ", ".join(f"{name.removesuffix('_ms')} {value} ms" for name, value in limits.items())


def _gate(told: Told, gate: PlannedGate, figures: set[str]) -> dict[str, Any]:
    counts = gate.require.test in {Test.ALL, Test.AT_LEAST}
    judged_by = [s for s in told.specs if gate.subject == s.id or gate.subject.startswith(f"{s.id}-")]
    spec = max(judged_by, key=lambda s: len(s.id))
    why = None
    if told.reading.of("void"):
        why = "The run is void: the identity of the server changed."
    elif not told.samples(spec.id):
        why = "The run ended before its population."
    elif not counts and gate.subject not in figures:
        why = "The figure could not be computed from the samples."
    elif not counts and told.excluded(spec) is not None:
        why = "Its population is excluded, so no figure of it is judged."
    judged = {"require": str(gate.require), "subject": gate.subject} if why is None else {"not_run": why}
    return {
        "id": gate.id,
        "title": gate.title,
        **judged,
        "predeclared": True,
        "declared_at": told.head["at"],
        "repeats_allowed": 1 if told.plan.repeat_failed else 0,
    }
