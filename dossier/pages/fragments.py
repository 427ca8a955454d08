"""What one finding gives to the dossiers of its models: a piece of markup a section, each made once.

A fragment depends on nothing but the finding and the records that it names, so that it can be kept until one of
them changes. What later findings and decisions make of it is added by the dossier page.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup, escape

from dossier.catalog.summary import classes_of
from dossier.derive.deltas import Difference
from dossier.derive.items import Compared, Item, difference_text, display, fraction, known, stated_text
from dossier.model.base import Quantity, Unknown
from dossier.model.decision import Decision
from dossier.model.finding import Finding, Observation
from dossier.model.measurement import Comparison, Measurement
from dossier.model.metrics import Metric
from dossier.model.vocabulary import MeasurementClass, Provenance
from dossier.model.workload import Excluded, Population
from dossier.pages.context import Site, View
from dossier.pages.lanes import cited, label, show
from dossier.pages.markup import html, joined
from dossier.pages.pictures.points import points_of

UNCLASSED = "unclassed"
_IN_SUMMARY = 4
_OPTIONAL = ("arm", "cell", "figures", "excluded")
"""Columns that a table of populations has only where a row fills them."""
_EFFECTS = {"better": "better", "worse": "worse", "within": "within the band"}


@dataclass(slots=True)
class Row:
    """A population with its figures, each a list item, or figures that belong to none."""

    title: Markup | str
    href: str = ""
    arm: str = ""
    recipe: str | None = None
    passed: Markup | str = ""
    cell: str = ""
    figures: list[Markup] = field(default_factory=list)
    excluded: Markup | str = ""
    provenance: Provenance | None = None

    @property
    def listed(self) -> Markup:
        """The figures as a list."""
        return html('<ul class="dx-plain">\n%s</ul>', joined("", self.figures)) if self.figures else Markup()


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison."""

    value: str
    cell: Markup


@dataclass(frozen=True, slots=True)
class Pair:
    """A comparison with both sides resolved; `cell` shows the difference."""

    comparison: Comparison
    href: str
    title: Markup | str
    candidate: Side
    baseline: Side
    difference: str
    computed: bool
    stated: str
    cell: Markup
    excluded: Markup


@dataclass(frozen=True, slots=True)
class Approval:
    """What is known of a human's approval, in words; empty where the decision says nothing of it."""

    words: Markup | str
    by: Markup | str


def dossier_fragments(site: Site, view: View, finding_id: str) -> dict[str, str]:
    """Section -> markup of one finding, as seen from a dossier page.

    Keys: `review`, `comparisons`, `failures`, `limits`, `discrepancies`, `evidence:<class>` and `decision:<id>`, and
    `points`, which is JSON: what the pictures draw of it. A section to which the finding gives nothing is left out.
    """
    finding = site.catalog.finding(finding_id)
    if finding is None:
        return {}
    macros: Any = site.env.get_template("model_finding.html.j2").module
    compared, origin, limits = list(pairs(view, finding)), macros.origin(view, finding), macros.limits(view, finding)
    differing = [pair for pair in compared if pair.comparison.stated_differs]
    causes = [(failure, show(view, failure.cause, finding)) for failure in finding.failures]
    found = {
        "review": macros.review(view, finding, limits),
        "comparisons": macros.comparisons(view, finding, origin, compared),
        "failures": macros.failures(view, finding, origin, causes),
        "limits": limits,
        "discrepancies": macros.discrepancies(view, finding, origin, differing),
    }
    for class_, rows in evidence(view, finding):
        counted, loose = [row for row in rows if row.href], [row for row in rows if not row.href]
        filled = [name for name in _OPTIONAL if any(getattr(row, name) for row in counted)]
        found[f"evidence:{class_}"] = macros.evidence(view, finding, counted, loose, filled, in_summary(rows))
    for decision in finding.decisions:
        named = list(cited(view, decision, finding))
        found[f"decision:{decision.id}"] = macros.decision(
            view, finding, decision, approval(view, decision, finding), named, _exception(view, decision, finding)
        )
    if drawn := points_of(finding):
        found["points"] = json.dumps(drawn)
    return {name: text for name, markup in found.items() if (text := str(markup).strip())}


def approval(view: View, decision: Decision, finding: Finding) -> Approval:
    """Whether a human approved, and who decided."""
    value = decision.human_approval
    words: Markup | str = show(view, value, finding)
    if isinstance(value, bool):
        words = "yes, explicit" if value else "no"
    return Approval(words, show(view, decision.by, finding))


def _exception(view: View, decision: Decision, finding: Finding) -> tuple[Markup | str, Markup | str] | None:
    asked = decision.exception
    return None if asked is None else (show(view, asked.asked, finding), show(view, asked.granted, finding))


def evidence(view: View, finding: Finding) -> Iterator[tuple[str, list[Row]]]:
    """Each measurement class of a finding with its populations and figures, in the vocabulary's order."""
    rows: dict[str, dict[str, Row]] = {str(c): {} for c in classes_of(finding) if c is not None}
    class_of = {p.id: str(p.class_ or UNCLASSED) for p in finding.populations}
    for population in finding.populations:
        rows.setdefault(class_of[population.id], {})[population.id] = _row(view, finding, population)
    for measurement in finding.measurements:
        owner = measurement.population or ""
        class_ = str(measurement.class_ or class_of.get(owner, UNCLASSED))
        _place(rows, class_, owner, class_of).figures.append(_figure(view, finding, measurement))
    others: list[Observation | Comparison] = [*finding.observations, *(c for c in finding.comparisons if c.class_)]
    for part in others:
        class_ = str(part.class_ or UNCLASSED)
        _place(rows, class_, "", class_of).figures.append(_other(view, finding, part))
    order = [*map(str, MeasurementClass), UNCLASSED]
    return ((class_, list(rows[class_].values())) for class_ in order if class_ in rows)


def _place(rows: dict[str, dict[str, Row]], class_: str, owner: str, class_of: dict[str, str]) -> Row:
    """The row of a population where the class is its own; else the row of what belongs to no population."""
    within = rows.setdefault(class_, {})
    if class_of.get(owner) == class_:
        return within[owner]
    return within.setdefault("", Row("Without a population of this class"))


def _row(view: View, finding: Finding, population: Population) -> Row:
    arm = finding.arms.get(population.arm or "")
    return Row(
        title=population.title or population.id,
        href=view.href("findings", finding.id, population.id),
        arm=(arm.title or population.arm or "") if arm is not None else population.arm or "",
        recipe=arm.recipe if arm is not None and isinstance(arm.recipe, str) else None,
        passed=passed(view, population, finding),
        cell=_cell(population),
        excluded=excluded(view, finding, population.excluded),
        provenance=population.provenance,
    )


def passed(view: View, population: Population, finding: Finding) -> Markup | str:
    """`58/60 passed`, `12/12 completed`, or why there is no count."""
    if fraction(population) == "unknown":
        return show(view, population.planned, finding) or "no count is recorded"
    word = "passed" if known(population.passed) is not None else "completed"
    return f"{fraction(population)} {word}"


def _cell(population: Population) -> str:
    """The load in a few words; what is unknown stands on the finding's own page."""
    p = population
    texts = [
        (p.target, "{}"),
        (p.prompt_tokens, "{} prompt tokens"),
        (p.output_tokens, "{} output tokens"),
        (p.concurrency, "C{}"),
        (p.cache, "cache {}"),
        (p.path, "{}"),
        (p.thinking, "thinking {}"),
    ]
    return ", ".join(form.format(display(v)) for v, form in texts if v is not None and not isinstance(v, Unknown))


def _figure(view: View, finding: Finding, measurement: Measurement) -> Markup:
    value = show(view, measurement.value, finding)
    if isinstance(measurement.value, Quantity) and measurement.approximate:
        value = html("≈ %s", value)
    n = f"n = {measurement.n}" if isinstance(measurement.n, int) else ""
    note = ", ".join(text for text in (n, measurement.per, measurement.when) if text)
    return _line(view, Item(finding, "measurement", measurement), value, note)


def _other(view: View, finding: Finding, part: Observation | Comparison) -> Markup:
    if isinstance(part, Comparison):
        return _line(view, Item(finding, "", part), difference_text(part, view.compared(part, finding)), "")
    return _line(view, Item(finding, "", part), part.value or "", display(part.at) if part.at is not None else "")


def _line(view: View, item: Item, value: Markup | str, note: str) -> Markup:
    """A figure as a list item: what it is, its value linked to its row, and what sets it apart."""
    part = item.part
    link = _link(view.href("findings", item.finding.id, item.id), value, "record")
    provenance, why = getattr(part, "provenance", None), getattr(part, "excluded", None)
    more = [html(' <span class="dx-quiet">%s</span>', note)] if note else []
    more += [html(" %s", view.word(provenance))] if provenance and provenance != item.finding.provenance else []
    more += [html(" %s", excluded(view, item.finding, why))] if why else []
    return html("<li>%s %s%s</li>\n", label(view, item), link, joined("", more))


def excluded(view: View, finding: Finding, why: Excluded | None) -> Markup:
    """Why something is excluded, and from what; nothing where it is not."""
    if why is None:
        return Markup()
    scope = f" (from {', '.join(why.classes)})" if why.classes else ""
    note = html(' <span class="dx-quiet">%s</span>', view.inline(why.note, finding)) if why.note else ""
    words = f"excluded: {why.reason.replace('-', ' ')}{scope}"
    return html('<span class="dx-tag" title="%s">%s</span>%s', why.reason.meaning, words, note)


def in_summary(rows: Iterable[Row]) -> str:
    """The fractions that tell most, for the line that stands before the details."""
    graded = [f"{row.title} {row.passed}" for row in rows if "/" in row.passed and not isinstance(row.passed, Markup)]
    more = f" and {len(graded) - _IN_SUMMARY} more" if len(graded) > _IN_SUMMARY else ""
    return " · ".join(graded[:_IN_SUMMARY]) + more


def pairs(view: View, finding: Finding) -> Iterator[Pair]:
    """Every comparison of a finding."""
    for comparison in finding.comparisons:
        result = view.compared(comparison, finding)
        href = view.href("findings", finding.id, comparison.id)
        yield Pair(
            comparison=comparison,
            href=href,
            title=comparison.title or _metric_name(result.metric, comparison),
            candidate=_side(view, result.candidate, comparison.candidate),
            baseline=_side(view, result.baseline, comparison.baseline),
            difference=difference_text(comparison, result),
            computed=result.computed,
            stated=stated_text(comparison),
            cell=_difference(view, comparison, result, href),
            excluded=excluded(view, finding, comparison.excluded),
        )


def _difference(view: View, comparison: Comparison, result: Compared, href: str) -> Markup:
    """The computed difference with what it means, and the stated one; or why there is none."""
    difference, stated = result.difference, comparison.stated
    if difference is None:
        if stated is None:
            return view.unknown("neither values nor a difference are recorded")
        link = html('<a class="dx-fig" href="%s">%s</a>', href, stated_text(comparison))
        return html('%s<br><span class="dx-quiet">stated only</span>', link)
    effect, text = _effect(result, comparison), difference.text
    words = html(' <span class="dx-effect">%s</span>', _EFFECTS[effect]) if effect in _EFFECTS else ""
    link = html(
        '<a class="dx-fig dx-delta dx-delta-%s" href="%s"><data value="%s">%s</data>%s</a>',
        effect, href, text, text, words,
    )  # fmt: skip
    if stated is None:
        return link
    fault = "" if difference.agrees(stated) else ", which does not recompute"
    return html('%s<br><span class="dx-quiet">stated %s%s</span>', link, stated_text(comparison), fault)


def _metric_name(metric: Metric | None, comparison: Comparison) -> str:
    return metric.name if metric is not None else comparison.id


def _side(view: View, item: Item | None, target: str) -> Side:
    if item is None:
        return Side("", escape(target))
    part = item.part
    value = ""
    if isinstance(part, Measurement):
        value = display(part.value)
    elif isinstance(part, Population):
        value = fraction(part) if known(part.planned) is not None else ""
    arm_id = getattr(part, "arm", None) or ""
    arm = item.finding.arms.get(arm_id)
    name = (arm and arm.title) or arm_id
    above = html('<span class="dx-quiet">%s</span><br>', name) if name else ""
    href = view.href("findings", item.finding.id, item.id)
    return Side(value, html("%s%s", above, _link(href, value, label(view, item))))


def _link(href: str, value: Markup | str, words: Markup | str) -> Markup:
    """A figure, or words where there is none, linked to its row."""
    return html('<a class="dx-fig" href="%s">%s</a>' if value else '<a href="%s">%s</a>', href, value or words)


def _effect(result: Compared, comparison: Comparison) -> str:
    difference = result.difference
    if difference is None or comparison.excluded is not None or result.metric is None:
        return "neutral"
    if comparison.band is not None and difference.unit == comparison.band.unit:
        return (
            "within"
            if abs(difference.value) <= comparison.band.size
            else _direction(difference, comparison, result.metric)
        )
    return _direction(difference, comparison, result.metric)


def _direction(difference: Difference, comparison: Comparison, metric: Metric) -> str:
    direction = difference.direction(comparison.interval)
    if metric.better == "neither" or direction == 0:
        return "neutral"
    return "better" if (direction > 0) == (metric.better == "higher") else "worse"
