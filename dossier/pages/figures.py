"""The measurements, comparisons and gates of a finding as tables, with what is computed from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from markupsafe import Markup

from dossier.derive.deltas import Difference, resolved_digits
from dossier.derive.format import number, with_unit
from dossier.derive.gates import Judged
from dossier.derive.intervals import comparison_interval, measurement_interval
from dossier.derive.items import Compared, Item, display, known, stated_text
from dossier.derive.paired import told, within
from dossier.derive.show import shown
from dossier.model.base import Quantity
from dossier.model.finding import Finding
from dossier.model.gate import Gate
from dossier.model.measurement import Comparison, Delta, Interval, Measurement, Origin, Statistic
from dossier.model.metrics import Metric
from dossier.model.vocabulary import Verdict
from dossier.model.workload import Population
from dossier.pages.fields import Writer, label_of, rest
from dossier.pages.markup import figure, html, joined, moment, permalink, quiet, safe
from dossier.pages.outside import Outside, Waiver
from dossier.pages.populations import EXCLUDED, beside, excluded_tag, exclusion
from dossier.pages.tables import Grid, Labels, grid


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An item for which what is stated and what follows from the record differ; both as short texts.

    `how` says in which way the second came about.
    """

    item: str
    title: str
    stated: str
    how: str
    computed: str


# Measurements


def measurement_grid(writer: Writer, finding: Finding) -> Grid:
    """Every measurement; the head of its row holds title, metric and id."""
    names = ("value", "statistic", "n", "arm", "population", "per", "when")
    last = ("origin", "provenance", "excluded", "note")
    middle = rest(Measurement, "id", "metric", "title", "approximate", *names, *last)
    return grid(
        writer, finding.measurements, (*names, *middle, *last),
        head=("Measurement", lambda m: _measurement_head(writer, m)), labels={"origin": "From", "excluded": EXCLUDED},
        cells={
            "value": lambda m: value_of(writer, m),
            "n": lambda m: beside(writer.value(m.n), None if m.interval else measurement_interval(m)),
            "interval": lambda m: _interval(m.interval, _unit(m.value)) if m.interval else None,
            "origin": lambda m: _origin(writer, m.origin) if m.origin else None,
            "excluded": lambda m: exclusion(writer, m.excluded),
        },
    )  # fmt: skip


def _measurement_head(writer: Writer, measurement: Measurement) -> Markup:
    metric = writer.metric(measurement.metric)
    if measurement.title:
        named = html('%s<br><span class="dx-unit">%s</span>', measurement.title, metric)
    else:
        cell = _measured_in(writer, measurement)
        named = html("%s, %s", metric, cell) if cell else metric
    return html("%s<br>%s%s", named, permalink(measurement.id), excluded_tag(measurement.excluded))


def _measured_in(writer: Writer, measurement: Measurement) -> str:
    """The cell, such as `4K`, of the population that the figure comes from; empty where none is given."""
    found = writer.find(measurement.population) if measurement.population else None
    return found.part.target or "" if found is not None and isinstance(found.part, Population) else ""


def value_of(writer: Writer, measurement: Measurement) -> Markup:
    """The figure with its unit, marked where it is approximate; or why it is not known."""
    value = measurement.value
    if not isinstance(value, Quantity):
        return writer.unknown(value)
    about = "≈ " if measurement.approximate else ""
    return html('<span class="dx-fig">%s<data value="%s">%s</data></span>', about, f"{value.value:f}", display(value))


def _interval(interval: Interval, unit: str) -> Markup:
    limits = f"{number(interval.low)} to {with_unit(number(interval.high), unit)}"
    return html(
        '<span class="dx-interval">%s %s %s</span>',
        quiet(f"{number(interval.level)} %"), limits, quiet(interval.method),
    )  # fmt: skip


def _unit(value: object) -> str:
    return value.unit if isinstance(value, Quantity | Difference) else ""


def _origin(writer: Writer, origin: Origin) -> Markup:
    return html("%s <code>%s</code>", writer.item(origin.artifact), origin.pointer)


# Comparisons


def comparison_grid(writer: Writer, finding: Finding) -> Grid:
    """Every comparison with both values, the computed and the stated difference, and what was held equal."""
    results = writer.compared
    names = ("of", "candidate", "baseline", "computed", "stated", "interval", "band", "matched", "differs")
    last = ("class_", "excluded", "stated_differs", "note")
    middle = rest(Comparison, "id", "title", "metric", "statistic", *names, *last)
    labels: Labels = {
        "of": "Metric", "computed": "Difference", "stated": ("Stated", "mid"), "stated_differs": "Why stated differs",
        "differs": "Also differs", "excluded": EXCLUDED,
    }  # fmt: skip
    return grid(
        writer, finding.comparisons, (*names, *middle, *last), head=("Comparison", _item_head), labels=labels,
        cells={
            "of": lambda c: _metric(writer, c, results[c.id]),
            "candidate": lambda c: _side(writer, c.candidate, results[c.id].candidate),
            "baseline": lambda c: _side(writer, c.baseline, results[c.id].baseline),
            "computed": lambda c: beside(_computed(c, results[c.id]), _tests(writer, c)),
            "stated": lambda c: _stated(c, results[c.id]),
            "interval": lambda c: _interval(c.interval, _unit(results[c.id].difference)) if c.interval else None,
            "band": lambda c: _band(writer, c, results[c.id].difference),
            "excluded": lambda c: exclusion(writer, c.excluded),
        },
    )  # fmt: skip


def _tests(writer: Writer, comparison: Comparison) -> str | None:
    """What the counts or the replicates of both sides say of the difference, beyond what the comparison states."""
    if writer.finding is None:
        return None
    find = writer.view.site.catalog.finding
    found = told(comparison, writer.finding, find)
    if comparison.interval is None and comparison.metric == "pass_rate":
        found.insert(0, comparison_interval(comparison, writer.finding, find) or "")
    return "; ".join(text for text in found if text) or None


def _item_head(part: Comparison | Gate) -> Markup:
    tag = excluded_tag(part.excluded) if isinstance(part, Comparison) else ""
    return html("%s<br>%s%s", part.title or part.id, permalink(part.id), tag)


def _metric(writer: Writer, comparison: Comparison, result: Compared) -> Markup | None:
    if result.metric is None:
        return None
    statistic = comparison.statistic or next(
        (s.part.statistic for s in (result.candidate,) if s is not None and isinstance(s.part, Measurement)), None
    )
    name = writer.metric(result.metric.id)
    return html("%s %s", name, quiet(statistic)) if statistic not in {None, Statistic.UNSTATED} else name


def _side(writer: Writer, target: str, item: Item | None) -> Markup:
    """The figure of one side linked to its row; for a population its name, for no figure is published."""
    if item is None:
        return writer.item(target)
    text = shown(item, "", writer.view.site.catalog.finding)
    of_figure = isinstance(item.part, Measurement) or (isinstance(item.part, Population) and known(item.part.passed))
    link = html(
        '<a class="dx-fig" href="%s">%s</a>',
        writer.view.href("findings", item.finding.id, item.id),
        text if of_figure else label_of(item),
    )
    elsewhere = item.finding is not writer.finding and item.finding.id != getattr(writer.finding, "id", "")
    arm = getattr(item.part, "arm", None)
    notes = [safe(arm)] if arm else []
    notes += [moment(item.finding.date)] if elsewhere else []
    return html('%s<br><span class="dx-quiet">%s</span>', link, joined(", ", notes)) if notes else link


def _computed(comparison: Comparison, result: Compared) -> Markup | None:
    difference = result.difference
    if difference is None:
        return None
    effect = _effect(result.metric, difference.direction(comparison.interval))
    if difference.direction() and not difference.direction(comparison.interval):
        effect = "not shown: its interval holds both"
    return _delta(difference.text, effect)


def _delta(text: str, effect: str) -> Markup:
    tone = effect if effect in {"better", "worse"} else "neutral"
    words = html(' <span class="dx-effect">%s</span>', effect) if effect else ""
    return html('<span class="dx-fig dx-delta dx-delta-%s"><data>%s</data>%s</span>', tone, text, words)


def _effect(metric: Metric | None, direction: int) -> str:
    """What more or less of the metric means, in a word."""
    if direction == 0:
        return "equal within rounding"
    if metric is None or metric.better == "neither":
        return ""
    return "better" if (direction > 0) == (metric.better == "higher") else "worse"


def _stated(comparison: Comparison, result: Compared) -> Markup | None:
    """The stated difference, and whether it recomputes."""
    stated = comparison.stated
    if stated is None:
        return None
    if result.difference is None:
        more = 0 if stated.sign == "±" else int(stated.signed > _even(stated)) - int(stated.signed < _even(stated))
        effect = _effect(result.metric, more) if more else ""
        words = quiet("stated only: no values to recompute")
        return html("%s<br>%s", _delta(stated_text(comparison), effect), words)
    agrees = result.difference.agrees(stated)
    words = quiet("agrees" if agrees else f"differs: rounding allows {_allowed(result.difference)}")
    return html("%s<br>%s", figure(stated_text(comparison)), words)


def _even(stated: Delta) -> Decimal:
    return Decimal(1) if stated.unit == "x" else Decimal(0)


def _allowed(difference: Difference) -> str:
    """The range that rounding leaves, its ends rounded outwards."""
    place = Decimal((0, (1,), -min(resolved_digits(difference.low, difference.high) + 1, 2)))
    low, high = difference.low.quantize(place, ROUND_FLOOR), difference.high.quantize(place, ROUND_CEILING)
    return f"{number(low)} to {with_unit(number(high), difference.unit)}"


def _band(writer: Writer, comparison: Comparison, difference: Difference | None) -> Markup | None:
    """The declared band, and where the interval of the difference lies; without one, the difference itself."""
    band = comparison.band
    if band is None:
        return None
    words = ""
    here = writer.finding
    tested = within(comparison, band, here, writer.view.site.catalog.finding) if here is not None else None
    if tested is not None:
        words = f"{'within' if tested.equivalent else 'not shown'}, by the pairs"
    elif difference is not None and difference.unit == band.unit:
        reach = comparison.interval or difference
        inside = reach.low >= -band.size and reach.high <= band.size
        beyond = reach.low > band.size or reach.high < -band.size
        words = f"{'within' if inside else 'outside' if beyond else 'undecided'}, {_by(comparison)}"
    return html("%s<br>%s", figure(str(band)), quiet(words))


def _by(comparison: Comparison) -> str:
    return "by the interval" if comparison.interval else "without an interval"


# Gates


def gate_grid(writer: Writer, finding: Finding, known_outside: Outside) -> Grid:
    """Every gate: what was required, of what, what was seen, and the verdict."""
    judged = writer.judged
    waivers = {w.gate: w for w in known_outside.waivers}
    names = ("verdict", "rule", "require", "subject", "observed", "predeclared", "declared_at", "repeats_allowed")
    last = ("stated", "stated_differs", "waiver", "not_run", "not_applicable", "note")
    middle = rest(Gate, "id", "title", *names, *last)
    labels: Labels = {
        "verdict": "Verdict", "observed": "Observed", "waiver": ("Waived", "wide"), "require": "Requirement",
        "stated": "Stated verdict", "stated_differs": "Why stated differs", "not_run": "Why not run",
        "not_applicable": "Why not applicable",
    }  # fmt: skip
    return grid(
        writer, finding.gates, (*names, *middle, *last), head=("Gate", _item_head), labels=labels,
        cells={
            "verdict": lambda g: verdict(writer, judged[g.id], waivers.get(g.id)),
            "stated": lambda g: _stated_verdict(writer, g, judged[g.id]),
            "observed": lambda g: figure(judged[g.id].observed) if judged[g.id].observed else None,
            "waiver": lambda g: _waiver(writer, waivers[g.id]) if g.id in waivers else None,
        },
    )  # fmt: skip


def verdict(writer: Writer, judged: Judged, waiver: Waiver | None) -> Markup:
    """The verdict as a badge, whether it was computed, and the waiver beside it: a failure stays visible."""
    badge = writer.word
    given = "computed" if judged.computed else "stated" if judged.verdict in {Verdict.PASS, Verdict.FAIL} else ""
    waived = html(" %s", badge(Verdict.WAIVED)) if waiver is not None else ""
    return html("%s%s %s", badge(judged.verdict), waived, quiet(given))


def _stated_verdict(writer: Writer, gate: Gate, judged: Judged) -> Markup | None:
    """The verdict of the source beside a computed one, and whether they agree."""
    if gate.stated is None or not judged.computed:
        return None
    words = "agrees" if gate.stated is judged.verdict else "differs"
    return html("%s %s", writer.word(gate.stated), quiet(words))


def _waiver(writer: Writer, waiver: Waiver) -> Markup:
    href = writer.view.href("findings", waiver.finding, waiver.decision)
    who = f"by {waiver.by}" if waiver.by else "by a human"
    return html('<p><a href="%s">%s</a></p>%s', href, who, writer.prose(waiver.reason))


def gate_tally(writer: Writer, finding: Finding, known_outside: Outside) -> list[tuple[Verdict, int]]:
    """How many gates came to each verdict; a waived failure counts as waived."""
    waived = {w.gate for w in known_outside.waivers}
    found = [Verdict.WAIVED if g.id in waived else writer.judged[g.id].verdict for g in finding.gates]
    return [(word, found.count(word)) for word in Verdict if word in found]


# What is stated and does not follow


def disagreements(writer: Writer, finding: Finding, known_outside: Outside) -> list[Disagreement]:
    """Everything for which the source states something else than the record gives."""
    return [*_differences(writer, finding), *_verdicts(writer, finding), *_roles(finding, known_outside)]


def _differences(writer: Writer, finding: Finding) -> Iterator[Disagreement]:
    for comparison in finding.comparisons:
        difference = writer.compared[comparison.id].difference if comparison.stated else None
        if difference is not None and comparison.stated is not None and not difference.agrees(comparison.stated):
            title = comparison.title or comparison.id
            yield Disagreement(comparison.id, title, stated_text(comparison), "recomputed", difference.text)


def _verdicts(writer: Writer, finding: Finding) -> Iterator[Disagreement]:
    for gate in finding.gates:
        judged = writer.judged[gate.id] if gate.stated is not None else None
        if judged is not None and judged.computed and judged.verdict is not gate.stated:
            found = f"{judged.verdict} ({judged.observed})"
            yield Disagreement(gate.id, gate.title or gate.id, str(gate.stated), "computed", found)


def _roles(finding: Finding, known_outside: Outside) -> Iterator[Disagreement]:
    for number_, (stated, role) in enumerate(zip(finding.stated_roles, known_outside.folded, strict=True), start=1):
        if role is not stated.role:
            found = role.replace("-", " ") if role is not None else "no role"
            title = f"{stated.recipe} in lane {stated.lane}"
            yield Disagreement(f"role-{number_}", title, stated.role.replace("-", " "), "by the decisions", found)
