"""What replicates say of a comparison: the paired ratio, its equivalence within a band, and p over a family (Holm).

Only figures that the record holds one by one (`each`), or the counts of two populations, are tested; a stated
interval is never taken apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from dossier.derive.format import NBSP, signed
from dossier.derive.intervals import pass_counts
from dossier.derive.items import Find, resolve
from dossier.model.finding import Finding
from dossier.model.measurement import Comparison, Delta, Measurement, Replicate
from dossier.model.workload import Population
from dossier.stats import Equivalence, Ratio, equivalence, fisher, holm, paired_p, paired_ratio

_MOST = 100_000
"""So many requests are tested exactly, which takes a step for each; of more the interval says it all."""
Sides = tuple[list[float], list[float]]


@dataclass(frozen=True, slots=True)
class Tested:
    """The p of a comparison, and what Holm makes of it in its family of `size`; a primary one keeps its own."""

    p: float
    adjusted: float
    size: int
    primary: bool


def measurements_of(comparison: Comparison, here: Finding, find: Find) -> list[Measurement]:
    """The measurements on the two sides, candidate first; fewer where a side is something else."""
    sides = (resolve(target, here, find) for target in (comparison.candidate, comparison.baseline))
    return [side.part for side in sides if side is not None and isinstance(side.part, Measurement)]


def pairs(comparison: Comparison, here: Finding, find: Find) -> Sides | None:
    """The replicates of both sides as pairs; None where the comparison is not `paired`, or they cannot be."""
    each = [m.each for m in measurements_of(comparison, here, find) if m.each is not None]
    if comparison.paired is not True or len(each) != 2 or each[0].of is not each[1].of:
        return None
    candidate, baseline = ([float(value) for value in side.values] for side in each)
    if len(candidate) != len(baseline) or min(*candidate, *baseline) <= 0:
        return None
    return candidate, baseline


def unit_of(comparison: Comparison, here: Finding, find: Find) -> Replicate | None:
    """What one pair is: the same request, the same prompt, or a start of the server."""
    return next((m.each.of for m in measurements_of(comparison, here, find) if m.each is not None), None)


def ratio(comparison: Comparison, here: Finding, find: Find) -> Ratio | None:
    """Candidate over baseline as the geometric mean of the pairs, with its 95 % interval."""
    sides = pairs(comparison, here, find)
    return paired_ratio(*sides) if sides is not None else None


def within(comparison: Comparison, band: Delta, here: Finding, find: Find) -> Equivalence | None:
    """Two one-sided tests at 5 % that the ratio lies in a band of percent; None where nothing can be tested."""
    sides = pairs(comparison, here, find)
    share = float(band.size) / 100
    return equivalence(*sides, share) if sides is not None and band.unit == "%" and 0 < share < 1 else None


def p_of(comparison: Comparison, here: Finding, find: Find) -> float | None:
    """The two-sided p that the two sides are alike: a paired t test, or Fisher's exact test of two pass rates."""
    sides = pairs(comparison, here, find)
    if sides is not None:
        return paired_p(*sides)
    parts = [resolve(target, here, find) for target in (comparison.candidate, comparison.baseline)]
    counts = [pass_counts(s.part) for s in parts if s is not None and isinstance(s.part, Population)]
    if comparison.metric != "pass_rate" or len(counts) != 2 or counts[0] is None or counts[1] is None:
        return None
    if counts[0][1] + counts[1][1] > _MOST:
        return None
    return fisher(*counts[0], *counts[1])


def members(family: str, here: Finding) -> list[Comparison]:
    """The comparisons of a family that are not excluded, in order."""
    return [c for c in here.comparisons if c.family == family and c.excluded is None]


def significance(comparison: Comparison, here: Finding, find: Find) -> Tested | None:
    """The comparison's p and its adjusted one. None outside a family, or where a member cannot be tested."""
    if comparison.family is None or comparison.excluded is not None:
        return None
    every = members(comparison.family, here)
    ps = {c.id: p for c in every if (p := p_of(c, here, find)) is not None}
    if len(ps) != len(every):
        return None
    rest = [c.id for c in every if c.primary is not True]
    adjusted = {**ps, **dict(zip(rest, holm([ps[id_] for id_ in rest]), strict=True))}
    id_, primary = comparison.id, comparison.primary is True
    return Tested(ps[id_], adjusted[id_], len(rest), primary)


def told(comparison: Comparison, here: Finding, find: Find) -> list[str]:
    """What the replicates say, for a reader: the interval, the equivalence where a band is declared, and p."""
    found = []
    paired, unit = ratio(comparison, here, find), unit_of(comparison, here, find)
    if paired is not None and unit is not None:
        kind = unit.replace("-", " ")
        bounds = f"{_percent(paired.low)} to {_percent(paired.high)}{NBSP}%"
        found.append(f"95{NBSP}% interval {bounds} ({paired.n} pairs, one a {kind})")
    band = comparison.band
    shown = within(comparison, band, here, find) if band is not None else None
    if shown is not None and band is not None:
        how = "equivalent" if shown.equivalent else "not shown equivalent"
        bounds = f"90{NBSP}% interval {_percent(shown.low)} to {_percent(shown.high)}{NBSP}%"
        found.append(f"{how} within ±{band.size:f}{NBSP}% ({bounds})")
    test = significance(comparison, here, find)
    if test is not None:
        rest = "primary, not adjusted" if test.primary else f"{_p(test.adjusted)} among {test.size} (Holm)"
        found.append(f"{_p(test.p)}; {rest}")
    return found


def _percent(share: float) -> str:
    return signed((Decimal(share) * 100 - 100).quantize(Decimal("0.01"), rounding=ROUND_HALF_UP))


def _p(value: float) -> str:
    return f"p{NBSP}<{NBSP}0.001" if value < 0.001 else f"p{NBSP}={NBSP}{value:.3f}"
