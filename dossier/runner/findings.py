"""The finding of a run: populations, figures, gates and limits, from what its journal tells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from dossier.model.vocabulary import Exclusion, Load
from dossier.runner.boundary import boundary
from dossier.runner.campaign import campaign_limits, campaign_summary, failures, not_compared, restoration, starts
from dossier.runner.capacity import capacity
from dossier.runner.compare import Sided, compared
from dossier.runner.figure import Figure, figure_id, rounded
from dossier.runner.figures import BATCH, PER_REQUEST
from dossier.runner.journal import Entry
from dossier.runner.judged import PASS_RATE, Kind
from dossier.runner.outcome import Outcome
from dossier.runner.probes import probe_of
from dossier.runner.probes.base import Spec, range_of
from dossier.runner.probes.cell import Cell, Output
from dossier.runner.remarks import caveats, limits, observations, summary
from dossier.runner.told import Told, Whole
from dossier.runner.verdicts import judged_gates

_ENDS = {"min", "max"}
_MOST_MISSES = 200
_INTERRUPTED = " The cell was interrupted and resumed, so no rate of a whole batch is given."


def finding_record(
    told: Told, finding_id: str, recipes: Mapping[str, str], artifacts: list[dict[str, Any]], pins: Mapping[str, str]
) -> dict[str, Any]:
    """The finding as plain data."""
    stopped = told.stopped
    sided = [compared(told, planned) for planned in told.plan.comparisons or ()]
    gates = judged_gates(told, sided)
    return {
        "schema": "dossier/finding/v1",
        "id": finding_id,
        "title": told.plan.title,
        "date": date.fromisoformat(told.day),
        "kind": "qualification",
        "provenance": "measured",
        "models": [told.plan.subject],
        "completion": "concluded" if stopped is None else "aborted",
        "summary": summary(told) if told.plan.arms is None else campaign_summary(told, sided),
        "caveat": caveats(told),
        "arms": {arm: _arm(told, arm, recipes) for arm in told.plan.sides},
        "boundary": boundary(told),
        "populations": list(_populations(told)),
        "measurements": list(_measurements(told, sided)),
        "comparisons": [_comparison(told, one) for one in sided if one.n],
        "gates": gates,
        "failures": failures(told),
        "observations": [*observations(told), *starts(told), *capacity(told)],
        "artifacts": artifacts,
        "limits": [*limits(told), *campaign_limits(told, sided)],
        "restoration": restoration(told, recipes),
        "not_attempted": not_compared(sided),
        "pins": dict(pins),
    }


def _arm(told: Told, arm: str, recipes: Mapping[str, str]) -> dict[str, Any]:
    side = told.plan.sides[arm]
    started = sum(entry["arm"] == arm and entry["block"] > 0 for entry in told.reading.of("server-started"))
    return {
        "recipe": recipes.get(arm) or {"unknown": "The server of this arm never answered."},
        "title": side.title,
        "path": side.path.value,
        "server_starts": started if side.start else 1,
    }


def _populations(told: Told) -> Iterator[dict[str, Any]]:
    """By population and arm: the arm over its starts, then each start with its parts and its repeat."""
    for spec in told.plan.populations:
        for arm in told.plan.sides:
            whole = next((w for w in told.wholes if (w.arm, w.spec.id) == (arm, f"{arm}-{spec.id}") and w.parts), None)
            if whole is not None:
                yield _whole(told, whole)
            for published in told.specs:
                place = told.places[published.id]
                if (place.block.arm, place.spec.id) == (arm, spec.id):
                    yield _population(told, published, whole)


def _population(told: Told, spec: Spec, whole: Whole | None) -> dict[str, Any]:
    probe, samples = probe_of(spec), told.samples(spec.id)
    count = {outcome: sum(entry["outcome"] == outcome for entry in samples) for outcome in Outcome}
    arm = told.places[spec.id].block.arm
    return {
        "id": spec.id,
        "title": _title(spec) + (f", start {told.places[spec.id].block.start}" if whole is not None else ""),
        "class": probe.class_.value,
        "arm": arm,
        "probe": _parameters(spec),
        "suite": f"dossier {told.head['dossier']}, probe {probe.name}",
        "repeat_of": told.state.repeats.get(spec.id),
        "planned": spec.requests,
        "completed": count[Outcome.PASSED] + count[Outcome.MISSED],
        "failed": count[Outcome.FAILED],
        "not_run": spec.requests - len(samples),
        "passed": count[Outcome.PASSED],
        "warmups": spec.warmups or None,
        **(_cell(told, arm, spec, samples) if isinstance(spec, Cell) else {"concurrency": spec.concurrency}),
        **probe.facts(spec, samples),
        **_parts(told, spec, whole),
        "misses": _misses(samples, most=_MOST_MISSES if not probe.shares(spec) else 0),
        "excluded": _excluded(told.excluded(spec)),
        "note": probe.asks + (_INTERRUPTED if len(told.cells(spec.id)) > 1 else ""),
    }


def _title(spec: Spec) -> str:
    return spec.title or probe_of(spec).asks.split(":")[0].split(",")[0].rstrip(".")


def _parts(told: Told, spec: Spec, whole: Whole | None) -> dict[str, Any]:
    """Of which population it is a part, and whether its own parts make up the whole."""
    if spec.id in told.parts:
        return {"part_of": told.parts[spec.id][0]}
    above = {"part_of": whole.spec.id} if whole is not None and spec in whole.parts else {}
    shares = probe_of(spec).shares(spec)
    complete = sum(len(share.indices) for share in shares) == spec.requests
    return {**above, "complete_parts": True} if complete else above


def _whole(told: Told, whole: Whole) -> dict[str, Any]:
    """A population over all starts of its arm; its misses stand with the starts."""
    spec, probe = whole.spec, probe_of(whole.spec)
    samples = [entry for part in whole.parts for entry in told.samples(part.id)]
    count = {outcome: sum(entry["outcome"] == outcome for entry in samples) for outcome in Outcome}
    planned = sum(part.requests for part in whole.parts)
    return {
        "id": spec.id,
        "title": _title(spec),
        "class": probe.class_.value,
        "arm": whole.arm,
        "probe": _parameters(spec),
        "suite": f"dossier {told.head['dossier']}, probe {probe.name}",
        "planned": planned,
        "completed": count[Outcome.PASSED] + count[Outcome.MISSED],
        "failed": count[Outcome.FAILED],
        "not_run": planned - len(samples),
        "passed": count[Outcome.PASSED],
        "warmups": spec.warmups * len(whole.parts) or None,
        "runs": len(whole.parts),
        "server_starts": len(whole.parts),
        **(_cell(told, whole.arm, spec, samples) if isinstance(spec, Cell) else {"concurrency": spec.concurrency}),
        "misses": _misses(samples, most=0),
        "excluded": _excluded(told.excluded(spec)),
        "note": "All starts of the arm together; what was missed stands with each start.",
        "complete_parts": True,
    }


def _excluded(found: tuple[Exclusion, str] | None) -> dict[str, Any] | None:
    if found is None:
        return None
    classes = ["performance"] if found[0] is Exclusion.GATE_FAILED else None
    return {"reason": found[0].value, "classes": classes, "note": found[1]}


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


def _cell(told: Told, arm: str, spec: Cell, samples: list[Entry]) -> dict[str, Any]:
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
        "path": told.plan.sides[arm].path.value,
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


def _measurements(told: Told, sided: Sequence[Sided]) -> Iterator[dict[str, Any]]:
    wanted = {gate.subject for gate in told.plan.gates}
    for spec, figures in told.figures:
        for figure in figures:
            if _tells(told, spec, figure) or figure_id(spec.id, figure) in wanted:
                yield _measurement(told, spec, figure)
    for one in sided:
        yield from _sides(told, one)


def _tells(told: Told, spec: Spec, figure: Figure) -> bool:
    """Of several arms the figures that are set against each other, of one start of several what differs between them.

    All others stand in the artifact.
    """
    if told.plan.arms is None:
        return True
    place = told.places.get(spec.id)
    if place is not None and len(told.plan.starts_of(place.block.arm)) > 1:
        timed = figure.metric in {*PER_REQUEST, *BATCH} - {"effective_prefill"}
        return timed and figure.statistic in {"median", "single", "rate"}
    few = figure.metric in PER_REQUEST and figure.metric != "effective_prefill" and figure.statistic not in _ENDS
    return few or (figure.metric not in PER_REQUEST and figure.metric != "inter_chunk_gap")


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
        "statistic": figure.over or figure.statistic,
        "n": figure.n,
        "population": spec.id,
        "interval": interval,
        "when": "when the cell ended" if memory else None,
        "per": "card" if figure.metric.startswith("gpu_") else None,
        "title": figure.title or _figure_title(spec, figure),
        "from": {
            "artifact": "file-figures",
            "pointer": f"/cells/{spec.id}/{figure.key}/{figure.statistic}/value",
        },
        "excluded": {"reason": excluded[0].value} if excluded is not None else None,
    }


def _sides(told: Told, one: Sided) -> Iterator[dict[str, Any]]:
    """The two figures of a comparison."""
    arms = dict(zip(("candidate", "baseline"), told.plan.subjects.arms_of(one.planned), strict=True))
    for side, figure in (("candidate", one.candidate), ("baseline", one.baseline)):
        if figure is None:
            continue
        yield {
            "id": f"{one.planned.id}-{side}",
            "metric": figure.metric,
            "value": f"{rounded(figure.value):f} {figure.unit}",
            "statistic": figure.over or figure.statistic,
            "n": figure.n,
            "population": f"{arms[side]}-{one.planned.population}",
            "from": {"artifact": "file-figures", "pointer": f"/comparisons/{one.planned.id}/{side}/value"},
            "excluded": {"reason": one.excluded[0].value} if one.excluded is not None else None,
            "note": f"The {figure.statistic} of each pair, as [[{one.planned.id}]] takes it.",
        }


def _comparison(told: Told, one: Sided) -> dict[str, Any]:
    planned = one.planned
    rates = planned.metric == PASS_RATE
    names = [f"{arm}-{planned.population}" for arm in told.plan.subjects.arms_of(planned)]
    sides = names if rates else [f"{planned.id}-candidate", f"{planned.id}-baseline"]
    interval = None
    if one.low is not None and one.high is not None:
        low, high = (f"{rounded(end):f}" for end in (one.low, one.high))
        interval = {"low": low, "high": high, "level": f"{planned.level:f}", "method": one.method}
    return {
        "id": planned.id,
        "title": planned.title,
        "candidate": sides[0],
        "baseline": sides[1],
        "metric": planned.metric if rates else None,
        "matched": ["prompts by index", "load", "output control", "cache mode"],
        "stated": _stated(told, one),
        "interval": interval,
        "excluded": _excluded(one.excluded),
        "note": one.note or None,
    }


def _stated(told: Told, one: Sided) -> str | None:
    """The difference in its own unit, where it is no ratio; checks compute it again."""
    if one.unit == "%" and one.planned.kind is Kind.RATIO:
        return None
    if one.candidate is not None and one.baseline is not None:
        apart = rounded(one.candidate.value) - rounded(one.baseline.value)
    else:
        names = [f"{arm}-{one.planned.population}" for arm in told.plan.subjects.arms_of(one.planned)]
        rates = [_rate(told, name) for name in names]
        apart = rounded(rates[0] - rates[1])
    return f"{'-' if apart < 0 else '+'}{abs(apart):f} {one.unit}"


def _figure_title(spec: Spec, figure: Figure) -> str | None:
    if figure.over is not None:
        return f"{figure.statistic.capitalize()} of each of {figure.n} starts"
    return _goal(spec) if figure.metric == "goodput" else None


def _goal(spec: Spec) -> str:
    goal = getattr(spec, "goal", None)
    limits = {} if goal is None else goal.model_dump(exclude_none=True)
    return "Goodput under " + ", ".join(f"{name.removesuffix('_ms')} {value} ms" for name, value in limits.items())


def _rate(told: Told, population: str) -> float:
    """The pass rate of an arm's population in percent of what was planned."""
    whole = next((whole for whole in told.wholes if whole.spec.id == population), None)
    parts = whole.parts if whole is not None else tuple(s for s in told.specs if s.id == population)
    return 100 * sum(told.passed(part.id) for part in parts) / sum(part.requests for part in parts)
