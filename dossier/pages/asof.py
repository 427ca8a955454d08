"""What was current at the end of a day: one page for every day on which that changed somewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from dossier.fold import LaneState, Standing
from dossier.pages.context import Site
from dossier.pages.lanes import as_of
from dossier.pages.places import Page


@dataclass(frozen=True, slots=True)
class Then:
    """One lane at the end of a day, and what is current in it now. `finding` and `decision` made it current."""

    model: str
    lane: str
    title: str
    current: str | None
    rollback: str | None
    new_current: bool
    new_rollback: bool
    finding: str
    decision: str
    since: date | None
    now: str | None
    others: tuple[tuple[str, Standing], ...]


@dataclass(frozen=True, slots=True)
class AsOf:
    """All lanes at the end of a day, with the days of change before and after it."""

    day: date
    before: date | None
    after: date | None
    lanes: tuple[Then, ...]


def days_of_change(site: Site) -> list[date]:
    """The days on which a current recipe or a rollback changed in any lane, oldest first."""
    changed = {
        day
        for subject in site.subjects
        for day, lanes in as_of(site, subject)
        if any(held.new_current or held.new_rollback for held in lanes)
    }
    return sorted(changed)


def day_path(day: date) -> str:
    """The page of a day of change."""
    return f"decisions/{day.isoformat()}/"


def snapshots_in_time(site: Site) -> list[AsOf]:
    """What every such page shows, oldest first. Its `repr` tells whether a page has to be made again."""
    days = days_of_change(site)
    states = [_lanes(site, day, before) for before, day in zip([None, *days], days, strict=False)]
    return [
        AsOf(day, days[at - 1] if at else None, days[at + 1] if at + 1 < len(days) else None, states[at])
        for at, day in enumerate(days)
    ]


def _lanes(site: Site, day: date, before: date | None) -> tuple[Then, ...]:
    found = []
    for subject in site.subjects:
        for lane in subject.lanes:
            state = site.folded(day).lanes.get((subject.id, lane.id))
            if state is None:
                continue
            was = site.folded(before).lanes.get((subject.id, lane.id)) if before is not None else None
            found.append(_then(site, f"{subject.name}, {lane.title}", state, was or LaneState(subject.id, lane.id)))
    return tuple(found)


def _then(site: Site, title: str, state: LaneState, was: LaneState) -> Then:
    event, held = state.promoted, {state.current, state.rollback}
    others = sorted(
        ((n, s) for n, s in state.standings.items() if n not in held), key=lambda p: (p[1].since, p[0]), reverse=True
    )
    return Then(
        state.model, state.lane, title, state.current, state.rollback, state.current != was.current,
        state.rollback != was.rollback, event.finding if event else "", event.decision.id if event else "",
        event.day if event else None, site.catalog.lane(state.model, state.lane).current, tuple(others),
    )  # fmt: skip


def day_page(site: Site, then: AsOf) -> Page:
    """The page of one day."""
    path = day_path(then.day)
    changed = [lane.title for lane in then.lanes if lane.new_current or lane.new_rollback]
    words = f"What was current in every lane at the end of {then.day} (UTC). Changed that day: {_list(changed)}."
    body = site.view(path).render("asof.html.j2", then=then, words=words, day_path=day_path)
    return Page(path, "Decisions", f"As of {then.day}", words, body)


def _list(titles: Sequence[str]) -> str:
    return "; ".join(titles) or "nothing"
