"""The gates of a plan, bound to what they judge; the verdict itself is computed wherever the finding is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil
from typing import Any

from dossier.model.gate import Requirement, Test
from dossier.runner.compare import Sided
from dossier.runner.figure import figure_id
from dossier.runner.judged import COUNTS, PlannedGate
from dossier.runner.plan import REPEAT
from dossier.runner.probes.base import Spec
from dossier.runner.told import Told
from dossier.stats import acceptance

_RATES = (0.99, 0.95, 0.9)


def judged_gates(told: Told, sided: Sequence[Sided]) -> list[dict[str, Any]]:
    """Every gate, each followed by one on the repeat of its population, where there was one."""
    found = []
    for gate in told.plan.gates:
        found.append(_gate(told, gate, gate.id, gate.subject, sided))
        if f"{gate.subject}{REPEAT}" in told.state.repeats and told.plan.arms is not None:
            found.append(_gate(told, gate, f"{gate.id}{REPEAT}", f"{gate.subject}{REPEAT}", sided))
    return found


def _gate(told: Told, gate: PlannedGate, gate_id: str, subject: str, sided: Sequence[Sided]) -> dict[str, Any]:
    why = _not_judged(told, gate, subject, sided)
    judged = {"require": str(gate.require), "subject": subject} if why is None else {"not_run": why}
    repeat = gate_id != gate.id
    return {
        "id": gate_id,
        "title": gate.title if not repeat else f"{gate.title or gate.id}, the one repeat",
        **judged,
        "predeclared": True,
        "declared_at": told.head["at"],
        "repeats_allowed": 1 if told.plan.repeat_failed and not repeat else 0,
        "note": " ".join(_notes(told, gate, subject, why)) or None,
    }


def _not_judged(told: Told, gate: PlannedGate, subject: str, sided: Sequence[Sided]) -> str | None:
    """Why there is no verdict; None where there is one."""
    one = next((one for one in sided if one.planned.id == subject), None)
    if one is not None:
        return _no_difference(one, gate.require)
    spec = _population(told, subject)
    parts = _parts(told, spec)
    if not parts or any(told.is_void(part.id) for part in parts):
        void = "run is" if told.plan.arms is None else "block is"
        return f"The {void} void: the identity of the server changed."
    if not any(told.samples(part.id) for part in parts):
        return "The run ended before its population."
    if gate.require.test in COUNTS:
        return None
    if subject not in {figure_id(spec.id, figure) for figure in told.figures_by(spec.id)}:
        return "The figure could not be computed from the samples."
    return "Its population is excluded, so no figure of it is judged." if told.excluded(spec) is not None else None


def _no_difference(one: Sided, require: Requirement) -> str | None:
    if one.n == 0:
        return "The two sides have no pair of values: there is nothing to compare."
    if one.excluded is not None:
        return f"A population of the comparison is excluded ({one.excluded[0]}), so no difference is judged."
    if require.shown and one.low is None:
        return f"So few pairs bound no difference (n={one.n})."
    return None


def _population(told: Told, subject: str) -> Spec:
    """The population that a subject is, or whose figure it names; the longest id that fits."""
    specs = [*(whole.spec for whole in told.wholes), *told.specs]
    return max((s for s in specs if subject == s.id or subject.startswith(f"{s.id}-")), key=lambda s: len(s.id))


def _parts(told: Told, spec: Spec) -> tuple[Spec, ...]:
    return next((whole.parts for whole in told.wholes if whole.spec.id == spec.id), (spec,))


def _notes(told: Told, gate: PlannedGate, subject: str, why: str | None) -> Iterator[str]:
    if told.plan.arms is None or why is not None:
        return
    if gate.require.test in COUNTS:
        parts = _parts(told, _population(told, subject))
        yield operating_curve(gate.require, sum(part.requests for part in parts))
    elif gate.require.shown:
        yield "Judged by the whole interval, not by the value in its middle."
    elif subject in told.plan.subjects.comparisons:
        yield "Judged by the value alone: descriptive, whatever its interval."


def operating_curve(require: Requirement, planned: int) -> str:
    """How probably systems of a few true pass rates meet a gate on counts."""
    least = planned
    if require.test is Test.AT_LEAST and require.limit is not None:
        least = ceil(require.limit.value * planned / 100) if require.limit.unit == "%" else ceil(require.limit.value)
    curve = ", ".join(f"{100 * rate:.0f} %: {100 * acceptance(rate, least, planned):.1f} %" for rate in _RATES)
    return f"Operating curve, true pass rate and how probably it meets the gate: `{curve}`."
