"""Arithmetic of figures: units, ranges, and everything stated that can be recomputed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal

from dossier.catalog import Catalog
from dossier.checks.registry import Wrong, record_rule
from dossier.derive.deltas import in_unit
from dossier.derive.format import number
from dossier.derive.formula import FormulaError, compute
from dossier.derive.gates import judge
from dossier.derive.items import compared, number_of, resolve
from dossier.model.base import Quantity
from dossier.model.finding import Finding
from dossier.model.gate import Gate, Test
from dossier.model.measurement import Comparison, Interval, Measurement
from dossier.model.metrics import ANY_UNIT, Metric
from dossier.model.vocabulary import Verdict


def _units(metric: Metric) -> list[str]:
    return [metric.unit, *metric.other_units]


@record_rule("arithmetic/unit", Finding)
def unit_of_the_metric(finding: Finding, catalog: Catalog) -> Iterator[Wrong]:
    """A figure in a unit that its metric does not know cannot be compared with any other."""
    for index, measurement in enumerate(finding.measurements):
        metric, value = catalog.metric(measurement.metric), measurement.value
        if metric is None or not isinstance(value, Quantity) or metric.id in ANY_UNIT:
            continue
        if value.unit not in _units(metric):
            allowed = ", ".join(unit or "a bare number" for unit in _units(metric))
            told = f"{value.unit or 'a bare number'} is no unit of {metric.id}; write it in one of: {allowed}"
            yield Wrong(("measurements", index, "value"), told)
    for index, gate in enumerate(finding.gates):
        yield from _limit_unit(index, gate, finding, catalog)


def _limit_unit(index: int, gate: Gate, finding: Finding, catalog: Catalog) -> Iterator[Wrong]:
    item = resolve(gate.subject, finding, catalog.finding) if gate.subject else None
    limit = gate.require.limit if gate.require else None
    if item is None or limit is None:
        return
    if isinstance(item.part, Comparison):
        unit = item.part.stated.unit if item.part.stated is not None else "%"
        if limit.unit != unit:
            told = f"a limit in {limit.unit or 'no unit'} cannot judge {item.id}, a difference in {unit}"
            yield Wrong(("gates", index, "require"), told)
    if not isinstance(item.part, Measurement):
        return
    value = item.part.value
    if isinstance(value, Quantity) and in_unit(value, limit.unit, catalog.metric(item.part.metric)) is None:
        told = f"a limit in {limit.unit or 'no unit'} cannot judge {item.id}, which is in {value.unit or 'no unit'}"
        yield Wrong(("gates", index, "require"), told)


_JUDGED = {"population", "measurement", "comparison"}


@record_rule("arithmetic/requirement", Finding)
def requirement_fits(finding: Finding, catalog: Catalog) -> Iterator[Wrong]:
    """`passed` judges requests and a limit judges a figure; mixed up, the gate would never be decided."""
    for index, gate in enumerate(finding.gates):
        item = resolve(gate.subject, finding, catalog.finding) if gate.subject else None
        if item is None or gate.require is None:
            continue
        counts = gate.require.test in {Test.ALL, Test.AT_LEAST}
        if item.kind not in _JUDGED:
            told = f"{item.id} is {item.kind}, which no requirement can judge; name a figure, or give `stated` instead"
            yield Wrong(("gates", index, "subject"), told)
        elif counts != (item.kind == "population"):
            form = "`all passed` or `at least 58 passed`" if item.kind == "population" else "a limit such as `<= 5 %`"
            yield Wrong(("gates", index, "require"), f"{item.id} is a {item.kind}; it is judged by {form}")


@record_rule("arithmetic/percent", Finding)
def percent_of_a_whole(finding: Finding, catalog: Catalog) -> Iterator[Wrong]:
    """A share of a whole lies between nothing and all of it."""
    for index, measurement in enumerate(finding.measurements):
        metric, value = catalog.metric(measurement.metric), measurement.value
        if metric is None or not metric.id.endswith("_rate") or metric.unit != "%":
            continue
        if isinstance(value, Quantity) and value.unit == "%" and not 0 <= value.value <= 100:
            yield Wrong(("measurements", index, "value"), f"{value} is no share of a whole; write 0 to 100 %")


@record_rule("arithmetic/interval", Finding)
def interval_holds_its_value(finding: Finding, _: Catalog) -> Iterator[Wrong]:
    """An interval that does not hold its own estimate belongs to another figure."""
    for index, measurement in enumerate(finding.measurements):
        interval, value = measurement.interval, measurement.value
        if interval is None or not isinstance(value, Quantity):
            continue
        if told := _wrong_interval(interval, value):
            yield Wrong(("measurements", index, "interval"), told)


def _wrong_interval(interval: Interval, value: Quantity) -> str:
    if not 0 < interval.level < 100:
        return f"a level of {interval.level:f} % cannot be; write for example level: 95"
    if interval.low > interval.high:
        return f"low {interval.low:f} is above high {interval.high:f}"
    if not interval.low <= value.value <= interval.high:
        return f"{value} lies outside {interval.low:f}..{interval.high:f}"
    return ""


@record_rule("arithmetic/metric", Finding)
def sides_of_one_metric(finding: Finding, catalog: Catalog) -> Iterator[Wrong]:
    """Two figures of different metrics differ in what they are; their difference says nothing."""
    for index, comparison in enumerate(finding.comparisons):
        sides = [resolve(t, finding, catalog.finding) for t in (comparison.candidate, comparison.baseline)]
        parts = [side.part for side in sides if side is not None]
        kinds = {type(part) for part in parts}
        place = ("comparisons", index, "candidate")
        if len(kinds) > 1:
            yield Wrong(place, "one side is a measurement, the other is not; name two measurements or two populations")
        named = [comparison.metric] if comparison.metric is not None else []
        metrics = sorted({part.metric for part in parts if isinstance(part, Measurement)} | set(named))
        if len(metrics) > 1:
            yield Wrong(place, f"{metrics[0]} is compared with {metrics[1]}; name two figures of one metric")
        if comparison.metric is None and kinds and Measurement not in kinds:
            yield Wrong(place, "populations are compared, but by no `metric`; name it")


@record_rule("arithmetic/delta", Finding)
def stated_difference(finding: Finding, catalog: Catalog) -> Iterator[Wrong]:
    """A stated difference has to follow from the two figures, within what their rounding leaves."""
    for index, comparison in enumerate(finding.comparisons):
        told = _wrong_delta(comparison, finding, catalog)
        if told and comparison.stated_differs is None:
            yield Wrong(("comparisons", index, "stated"), told)
        elif not told and comparison.stated_differs is not None:
            why = "nothing differs: the stated difference recomputes, or nothing is there to recompute; leave this out"
            yield Wrong(("comparisons", index, "stated_differs"), why, key=True)


def _wrong_delta(comparison: Comparison, finding: Finding, catalog: Catalog) -> str:
    stated = comparison.stated
    if stated is None:
        return ""
    result = compared(comparison, finding, catalog.finding, catalog.metric)
    computed, values = result.difference, result.values
    if computed is None or values is None or computed.agrees(stated):
        return ""
    over = "over" if computed.unit in {"%", "x"} else "less"
    told = f"{values[0]} {over} {values[1]} is {computed.text} ({number(round(computed.low, 3))} to "
    return f"stated {stated}, but {told}{number(round(computed.high, 3))}); correct it, or say why in `stated_differs`"


@record_rule("arithmetic/verdict", Finding)
def stated_verdict(finding: Finding, catalog: Catalog) -> Iterator[Wrong]:
    """A verdict follows from the requirement and what was observed; a stated one may only repeat it."""
    for index, gate in enumerate(finding.gates):
        judged = judge(gate, finding, catalog.finding, catalog.metric)
        said, seen = gate.stated, judged.verdict
        agree = said in {None, seen} or (said is Verdict.WAIVED and seen is Verdict.FAIL) or not judged.computed
        if not agree and gate.stated_differs is None:
            told = f"stated {said}, but {gate.require} over {judged.observed} is {seen}"
            yield Wrong(("gates", index, "stated"), f"{told}; correct it, or say why in `stated_differs`")
        elif agree and gate.stated_differs is not None:
            yield Wrong(("gates", index, "stated_differs"), "nothing differs: leave this out", key=True)


@record_rule("arithmetic/formula", Finding)
def formula_gives_the_figure(finding: Finding, catalog: Catalog) -> Iterator[Wrong]:
    """A planned figure is worth what it is computed from; its formula has to give it, within rounding."""

    def value_of(target: str) -> Decimal | None:
        return number_of(target, finding, catalog.finding, catalog.record)

    for index, measurement in enumerate(finding.measurements):
        formula, value = measurement.computed_from, measurement.value
        if formula is not None and isinstance(value, Quantity) and (told := _wrong_formula(formula, value, value_of)):
            yield Wrong(("measurements", index, "computed_from"), told)


def _wrong_formula(formula: str, stated: Quantity, value_of: Callable[[str], Decimal | None]) -> str:
    try:
        result = compute(formula, value_of)
    except FormulaError as error:
        return f"{error}; write for example [[pool]] / 2"
    if result is None or result.agrees(stated.value):
        return ""
    return f"the formula gives {number(result.like(stated.value))}, but {stated} stands in `value`; correct one"
