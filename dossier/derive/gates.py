"""Gate verdicts, computed from what the gate judges."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from dossier.derive.deltas import in_unit
from dossier.derive.intervals import comparison_interval
from dossier.derive.items import Find, Item, Metrics, compared, display, fraction, known, resolve
from dossier.model.base import Quantity
from dossier.model.finding import Finding
from dossier.model.gate import Gate, Requirement, Test
from dossier.model.measurement import Comparison, Measurement
from dossier.model.metrics import METRICS, Metric
from dossier.model.vocabulary import Verdict
from dossier.model.workload import Population


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict, what was observed, and whether it was computed or only stated."""

    verdict: Verdict
    observed: str
    computed: bool
    subject: Item | None


def judge(gate: Gate, here: Finding, find: Find, metrics: Metrics = METRICS.get) -> Judged:
    """The verdict of a gate before any waiver."""
    subject = resolve(gate.subject, here, find) if gate.subject else None
    if gate.not_applicable is not None:
        return Judged(Verdict.NOT_APPLICABLE, "", computed=False, subject=subject)
    if gate.not_run is not None:
        return Judged(Verdict.NOT_RUN, "", computed=False, subject=subject)
    met, observed = None, ""
    if subject is not None and gate.require is not None:
        met, observed = _met(subject, gate.require, find, metrics)
    if met is not None:
        return Judged(Verdict.PASS if met else Verdict.FAIL, observed, computed=True, subject=subject)
    return Judged(gate.stated or Verdict.UNDETERMINED, observed, computed=False, subject=subject)


def _met(subject: Item, require: Requirement, find: Find, metrics: Metrics) -> tuple[bool | None, str]:
    part = subject.part
    if isinstance(part, Population):
        return _population_met(part, require), fraction(part)
    if isinstance(part, Measurement):
        value = part.value
        met = _within(value, require, metrics(part.metric)) if isinstance(value, Quantity) else None
        return met, display(value)
    if isinstance(part, Comparison):
        return _comparison_met(part, subject.finding, require, find, metrics)
    return None, ""


def _population_met(part: Population, require: Requirement) -> bool | None:
    passed, planned = known(part.passed), known(part.planned)
    if not isinstance(passed, int) or not isinstance(planned, int) or planned == 0:
        return None
    if require.test is Test.ALL:
        return passed == planned
    if require.test is not Test.AT_LEAST or require.limit is None:
        return None
    least = require.limit.value
    return Decimal(100 * passed) >= least * planned if require.limit.unit == "%" else passed >= least


def _comparison_met(
    part: Comparison, finding: Finding, require: Requirement, find: Find, metrics: Metrics
) -> tuple[bool | None, str]:
    result = compared(part, finding, find, metrics)
    if require.shown:
        return _shown(part, require), comparison_interval(part, finding, find) or "no interval"
    if result.difference is not None:
        seen = Quantity(value=result.difference.value, unit=result.difference.unit)
        return _within(seen, require, None), result.difference.text
    if part.stated is None:
        return None, ""
    seen = Quantity(value=part.stated.signed, unit=part.stated.unit)
    return _within(seen, require, None), str(part.stated)


def _shown(part: Comparison, require: Requirement) -> bool | None:
    """Does every value of the interval meet the requirement? None where there is no interval in its unit."""
    unit = part.stated.unit if part.stated is not None else "%"
    if part.interval is None or part.excluded is not None or require.limit is None or require.limit.unit != unit:
        return None
    ends = (Quantity(value=end, unit=unit) for end in (part.interval.low, part.interval.high))
    return all(_within(end, require, None) for end in ends)


def _within(seen: Quantity, require: Requirement, metric: Metric | None) -> bool | None:
    if require.limit is None:
        return None
    value = in_unit(seen, require.limit.unit, metric)
    if value is None:
        return None
    limit = require.limit.value
    outcomes = {
        Test.LESS: value < limit,
        Test.AT_MOST: value <= limit,
        Test.MORE: value > limit,
        Test.NOT_LESS: value >= limit,
        Test.WITHIN: abs(value) <= abs(limit),
    }
    return outcomes.get(require.test)
