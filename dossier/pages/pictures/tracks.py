"""Rows with a small track each, in one table: pass rates with their intervals, differences with their bands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from markupsafe import Markup

from dossier.derive.format import number
from dossier.derive.intervals import pass_counts, population_bounds, population_interval
from dossier.derive.items import Compared, difference_text, known
from dossier.model.finding import Finding
from dossier.model.measurement import Comparison
from dossier.model.vocabulary import Provenance
from dossier.model.workload import Population
from dossier.pages.markup import html, joined, safe
from dossier.pages.pictures.scale import Scale, around_zero
from dossier.pages.places import anchor

CARRY_NOTHING = frozenset({Provenance.REPORTED, Provenance.EXTERNAL_PRIOR})
_LEAST = 2
"""Fewer rows than this are no picture: the table says it."""
_FULL = 100.0


def why_not(part: Population | Comparison, finding: Finding) -> str:
    """Why prose could not claim it, so that it is not drawn; empty where it could."""
    if part.excluded is not None:
        return "excluded"
    provenance = getattr(part, "provenance", None) or finding.provenance
    return f"{provenance.replace('-', ' ')} only" if provenance in CARRY_NOTHING else ""


def left_out(reasons: Iterable[str]) -> Markup:
    """What a picture leaves out, by reason; nothing where it shows all."""
    seen = Counter(reason for reason in reasons if reason)
    if not seen:
        return Markup()
    told = "; ".join(f"{count} {reason}" for reason, count in sorted(seen.items()))
    return html('<p class="dx-note dx-undrawn">Not drawn: %s.</p>', told)


def rates(finding: Finding) -> Markup:
    """The pass rates of a finding's graded populations, each with its exact 95 % interval; nothing below two.

    A part is left to the tables where its whole is drawn, so that nothing is seen twice.
    """
    graded = [p for p in finding.populations if pass_counts(p) is not None and known(p.passed) is not None]
    own = {p.id: why_not(p, finding) for p in graded}
    wholes = {id_ for id_, reason in own.items() if not reason}
    reasons = [own[p.id] or ("in a whole that is drawn" if p.part_of in wholes else "") for p in graded]
    drawn = [p for p, reason in zip(graded, reasons, strict=True) if not reason]
    if len(drawn) < _LEAST:
        return Markup()
    rows = [_rate_row(p) for p in drawn]
    return _frame(
        "Pass rates with exact 95 % intervals (Clopper-Pearson)", ("Population", "0 to 100 %", "Passed", "Interval"),
        rows, left_out(reasons), "#populations",
    )  # fmt: skip


def _rate_row(population: Population) -> Markup:
    bounds, counts = population_bounds(population), pass_counts(population)
    assert bounds is not None and counts is not None  # noqa: S101, PT018  (the caller asked)
    low, high, here = bounds.low * _FULL, bounds.high * _FULL, _FULL * counts[0] / counts[1]
    name = population.title or population.id
    told = f"{name}: {counts[0]} of {counts[1]} passed, {population_interval(population)}"
    track = (
        f'<line class="dx-p-rail" x1="0" x2="100" y1="6" y2="6"/>'
        f'<line class="dx-p-range" x1="{low:.2f}" x2="{high:.2f}" y1="6" y2="6"/>'
        f'<line class="dx-p-point" x1="{here:.2f}" x2="{here:.2f}" y1="1" y2="11"/>'
    )
    cell = ", ".join(filter(None, (population.arm, population.target)))
    label = html('%s <span class="dx-unit">%s</span>', name, cell) if cell else html("%s", name)
    interval = (population_interval(population) or "").partition("interval ")[2]
    return _row(population.id, label, _track(track, told), f"{number(counts[0])}/{number(counts[1])}", interval)


def differences(finding: Finding, results: Mapping[str, Compared]) -> Markup:
    """The computed relative differences of a finding, each with its band; nothing below two."""
    shown = [c for c in finding.comparisons if _relative(results[c.id])]
    reasons = [why_not(c, finding) for c in shown]
    drawn = [c for c, reason in zip(shown, reasons, strict=True) if not reason]
    others = ["without two values or in another unit"] * (len(finding.comparisons) - len(shown))
    if len(drawn) < _LEAST:
        return Markup()
    scale = around_zero(max(_reach(c, results[c.id]) for c in drawn), 0, _FULL)
    rows = [_difference_row(c, results[c.id], scale) for c in drawn]
    limit = f"{scale.high:g}"
    return _frame(
        "Candidate against baseline: relative differences, with the range that rounding leaves and declared bands",
        ("Comparison", f"\N{MINUS SIGN}{limit} % to +{limit} %", "Difference", "Better is"),
        rows, left_out([*reasons, *others]), "#comparisons",
    )  # fmt: skip


def _relative(result: Compared) -> bool:
    return result.difference is not None and result.difference.unit == "%"


def _reach(comparison: Comparison, result: Compared) -> float:
    difference = result.difference
    assert difference is not None  # noqa: S101  (the caller asked)
    sizes = [abs(difference.value), *_interval(comparison, difference.low, difference.high)]
    if comparison.band is not None and comparison.band.unit == "%":
        sizes.append(comparison.band.size)
    return float(max(abs(size) for size in sizes))


def _interval(comparison: Comparison, low: Decimal, high: Decimal) -> tuple[Decimal, Decimal]:
    """The stated interval of the difference where there is one, else the range that rounding leaves."""
    stated = comparison.interval
    return (stated.low, stated.high) if stated is not None else (low, high)


def _difference_row(comparison: Comparison, result: Compared, scale: Scale) -> Markup:
    difference, band = result.difference, comparison.band
    assert difference is not None  # noqa: S101  (the caller asked)
    low, high = (scale.at(float(v)) for v in _interval(comparison, difference.low, difference.high))
    here, zero = scale.at(float(difference.value)), scale.at(0)
    parts = ['<line class="dx-p-rail" x1="0" x2="100" y1="6" y2="6"/>']
    told = f"{comparison.title or comparison.id}: {difference_text(comparison, result)}"
    if band is not None and band.unit == "%":
        left, right = scale.at(-float(band.size)), scale.at(float(band.size))
        parts.append(f'<rect class="dx-p-band" x="{left:.2f}" width="{right - left:.2f}" y="0" height="12"/>')
        told += f", band \N{PLUS-MINUS SIGN}{band.size:f} %"
    parts += [
        f'<line class="dx-p-zero" x1="{zero:.2f}" x2="{zero:.2f}" y1="0" y2="12"/>',
        f'<line class="dx-p-bar" x1="{zero:.2f}" x2="{here:.2f}" y1="6" y2="6"/>',
        f'<line class="dx-p-range" x1="{low:.2f}" x2="{high:.2f}" y1="6" y2="6"/>',
        f'<line class="dx-p-point" x1="{here:.2f}" x2="{here:.2f}" y1="1" y2="11"/>',
    ]
    better = result.metric.better if result.metric is not None else "neither"
    name = html("%s", comparison.title or (result.metric.name if result.metric else comparison.id))
    return _row(comparison.id, name, _track("".join(parts), told), difference_text(comparison, result), better)


def _track(parts: str, told: str) -> Markup:
    return html(
        '<svg class="dx-track" viewBox="0 0 100 12" preserveAspectRatio="none" role="img"><title>%s</title>%s</svg>',
        told, joined("", [parts]),
    )  # fmt: skip


def _row(id_: str, label: Markup, track: Markup, value: str, last: str) -> Markup:
    return html(
        '<tr><th scope="row"><a href="#%s">%s</a></th><td class="dx-track-cell">%s</td>'
        '<td class="dx-num">%s</td><td class="dx-nowrap dx-quiet">%s</td></tr>',
        anchor(id_), label, track, value, last,
    )  # fmt: skip


def _frame(title: str, heads: Sequence[str], rows: Sequence[Markup], note: Markup, source: str) -> Markup:
    kinds = ("", ' class="dx-track-cell"', ' class="dx-num"', "")
    head = "".join(f'<th scope="col"{kind}>{safe(text)}</th>' for kind, text in zip(kinds, heads, strict=True))
    return html(
        '<figure class="dx-picture"><div class="dx-table" role="region" tabindex="0" aria-label="%s">'
        '<table class="dx-t dx-tracks"><caption><span>%s</span></caption><thead><tr>%s</tr></thead><tbody>\n%s\n'
        '</tbody></table></div><figcaption class="dx-note">Drawn from <a href="%s">the table</a>.</figcaption>'
        "%s</figure>",
        title, title, joined("", [head]), joined("\n", rows), source, note,
    )  # fmt: skip
