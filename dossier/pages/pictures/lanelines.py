"""Who was current in each lane, over time: one bar a recipe, in one SVG a model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from markupsafe import Markup

from dossier.fold import LaneState
from dossier.model.subject import Subject
from dossier.model.vocabulary import Outcome
from dossier.pages.context import View
from dossier.pages.markup import html, joined, safe

_WIDTH, _LEFT, _ROW, _TOP = 720, 8, 44, 26
_LETTER = 6.6
"""About the width of a letter on a bar."""


@dataclass(frozen=True, slots=True)
class Reign:
    """One recipe current in a lane from a day to another; `end` is None where it still is."""

    recipe: str
    start: date
    end: date | None
    finding: str
    decision: str


def reigns(state: LaneState) -> list[Reign]:
    """Who was current when, in order; a confirmation of the same recipe goes on with it."""
    found: list[Reign] = []
    for event in state.events:
        decision = event.decision
        last = found[-1] if found and found[-1].end is None else None
        ends = decision.outcome is Outcome.WITHDRAW and last is not None and decision.recipe == last.recipe
        begins = decision.outcome is Outcome.PROMOTE and (last is None or decision.recipe != last.recipe)
        if last is not None and (ends or begins):
            found[-1] = Reign(last.recipe, last.start, event.day, last.finding, last.decision)
        if begins and decision.recipe is not None:
            found.append(Reign(decision.recipe, event.day, None, event.finding, decision.id))
    return found


def timeline(view: View, subject: Subject) -> Markup:
    """The picture; nothing where no lane saw two recipes."""
    lanes = [(lane, reigns(view.site.catalog.lane(subject.id, lane.id))) for lane in subject.lanes]
    lanes = [(lane, found) for lane, found in lanes if found]
    newest = view.site.newest
    if newest is None or not any(len(found) > 1 for _, found in lanes):
        return Markup()
    first = min(found[0].start for _, found in lanes)
    span = max((newest - first).days, 1)
    height = _TOP + _ROW * len(lanes) + 6
    title = f"{subject.name}: who was current in each lane"
    told = (
        f"From {first} to {newest}, the day of the newest finding. The table of decisions below says the same in words."
    )

    def at(day: date) -> float:
        return _LEFT + (day - first).days / span * (_WIDTH - 2 * _LEFT)

    parts = [*_ticks(first, newest, at(first), at(newest), height)]
    for row, (lane, found) in enumerate(lanes):
        top = _TOP + row * _ROW
        parts.append(f'<text class="dx-axis" x="{_LEFT}" y="{top + 10}">{safe(lane.title)}</text>')
        parts += [_bar(view, reign, at(reign.start), at(reign.end or newest), top + 15) for reign in found]
    return html(
        '<figure class="dx-picture" id="picture-lanes"><figcaption><strong>%s</strong></figcaption><div '
        'class="dx-chart-frame" role="region" tabindex="0" aria-label="%s"><svg class="dx-chart" viewBox="0 0 %s %s" '
        'role="group" aria-labelledby="lanes-t lanes-d"><title id="lanes-t">%s</title>'
        '<desc id="lanes-d">%s</desc>%s</svg>'
        '</div><p class="dx-note">Drawn from <a href="#as-of">the table of days</a>. A bar that reaches the right '
        "edge is current.</p></figure>",
        title, title, _WIDTH, height, title, told, joined("", parts),
    )  # fmt: skip


def _ticks(first: date, newest: date, left: float, right: float, height: int) -> Iterator[str]:
    for day, place, anchor in ((first, left, "start"), (newest, right, "end")):
        yield f'<text class="dx-tick" x="{place:.1f}" y="12" text-anchor="{anchor}">{day}</text>'
        yield f'<line class="dx-grid" x1="{place:.1f}" x2="{place:.1f}" y1="18" y2="{height - 4}"/>'


def _bar(view: View, reign: Reign, start: float, end: float, top: float) -> Markup:
    title = view.site.titles.get(("recipes", reign.recipe), reign.recipe)
    width = max(end - start - 1.5, 2)
    until = f"to {reign.end}" if reign.end is not None else "and still"
    fits = int((width - 8) / _LETTER)
    label = title if len(title) <= fits else f"{title[: fits - 1].rstrip()}…" if fits > 4 else ""
    return html(
        '<a href="%s"><title>%s</title><rect class="%s" x="%s" y="%s" width="%s" height="20" rx="2"/>'
        '<text class="dx-bar-label" x="%s" y="%s">%s</text></a>',
        view.href("findings", reign.finding, reign.decision), f"{title}: current from {reign.start} {until}",
        "dx-reign" if reign.end is not None else "dx-reign dx-reign-now",
        f"{start:.1f}", f"{top:.1f}", f"{width:.1f}", f"{start + 5:.1f}", f"{top + 14:.1f}", label,
    )  # fmt: skip
