"""The figures of a finding that a dossier draws: speed against context, throughput against concurrency."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from dossier.derive.deltas import in_unit
from dossier.derive.items import display, known
from dossier.model.base import Quantity, Range
from dossier.model.finding import Finding
from dossier.model.measurement import Measurement, Statistic
from dossier.model.metrics import METRICS
from dossier.model.workload import Population
from dossier.pages.pictures.tracks import CARRY_NOTHING
from dossier.pages.sorting import sort_key
from dossier.stats import least_n

AGAINST_CONTEXT = ("decode_rate", "ttft_visible", "ttft_any", "ttft_unstated")
AGAINST_CONCURRENCY = ("throughput", "request_throughput", "goodput")
_METRICS = frozenset(AGAINST_CONTEXT + AGAINST_CONCURRENCY)
_QUANTILES = {Statistic.P90: 90, Statistic.P95: 95, Statistic.P99: 99}
_DRAWN = frozenset(
    {*_QUANTILES, Statistic.MEDIAN, Statistic.POOLED, Statistic.MEAN, Statistic.RATE, Statistic.SINGLE,
     Statistic.UNSTATED,     Statistic.TOTAL}
)  # fmt: skip


class Point(NamedTuple):
    """A figure with where it stands. `why` says why it is not drawn; `series` is what points are joined within."""

    metric: str
    x: float
    value: float
    low: float | None
    high: float | None
    shown: str
    at: str
    n: int | None
    nominal: bool
    statistic: str
    series: str
    name: str
    recipe: str
    finding: str
    item: str
    why: str


def points_of(finding: Finding) -> list[Point]:
    """The points of a finding; as JSON each is a list of its fields in order."""
    wanted = [m for m in finding.measurements if m.metric in _METRICS and m.statistic in _DRAWN and m.population]
    if not wanted:
        return []
    populations = {p.id: p for p in finding.populations}
    return [p for m in wanted if m.population in populations for p in _points(finding, m, populations[m.population])]


def _points(finding: Finding, m: Measurement, p: Population) -> Iterator[Point]:
    if not isinstance(m.value, Quantity):
        return
    place = _context(p) if m.metric in AGAINST_CONTEXT else _concurrency(p)
    metric = METRICS.get(m.metric)
    value = in_unit(m.value, metric.unit, metric) if metric is not None else None
    if value is None or place is None:
        return
    x, at, nominal = place
    interval = m.interval if m.value.unit == (metric.unit if metric is not None else "") else None
    arm_id = m.arm or p.arm or ""
    arm = finding.arms.get(arm_id)
    recipe = arm.recipe if arm is not None and isinstance(arm.recipe, str) else ""
    at_once = f"C{p.concurrency}" if isinstance(p.concurrency, int) else None
    load = [display(v) for v in (at_once, p.cache, p.thinking, p.path, p.protocol) if known(v) is not None]
    yield Point(
        m.metric, float(x), float(value), float(interval.low) if interval else None,
        float(interval.high) if interval else None, display(m.value), at, _count(m, p), nominal, str(m.statistic),
        "|".join([finding.id, m.metric, arm_id, str(m.statistic), str(p.class_), *load]),
        (arm.title if arm is not None else None) or arm_id or finding.title, recipe, finding.id, m.id,
        _why_not(finding, m, p),
    )  # fmt: skip


def _context(population: Population) -> tuple[Decimal, str, bool] | None:
    """Actual prompt tokens where they are known, else the nominal target."""
    actual = known(population.prompt_tokens)
    if isinstance(actual, Range):
        return Decimal(actual.low + actual.high) / 2, display(actual), False
    target = known(population.target_tokens)
    if isinstance(target, int):
        return Decimal(target), display(target), True
    key = sort_key(population.target) if population.target else None
    return None if key is None or "-" in key or Decimal(key) <= 0 else (Decimal(key), str(population.target), True)


def _concurrency(population: Population) -> tuple[Decimal, str, bool] | None:
    at_once = known(population.concurrency)
    return (Decimal(at_once), f"C{at_once}", False) if isinstance(at_once, int) and at_once > 0 else None


def _count(m: Measurement, p: Population) -> int | None:
    n = known(m.n) if m.n is not None else known(p.completed)
    return n if isinstance(n, int) else None


def _why_not(finding: Finding, m: Measurement, p: Population) -> str:
    provenance = m.provenance or p.provenance or finding.provenance
    if m.excluded is not None or p.excluded is not None:
        return "excluded"
    if provenance in CARRY_NOTHING:
        return f"{provenance.replace('-', ' ')} only"
    percent = _QUANTILES.get(m.statistic)
    n = _count(m, p)
    return "of too few values" if percent is not None and (n is None or n < least_n(percent)) else ""
