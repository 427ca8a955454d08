"""What is new: findings, what they changed in a lane, and what they said of earlier ones, by day; and the feeds."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import date

from dossier.catalog.summary import Summary
from dossier.pages.asof import AsOf, Then, day_path
from dossier.pages.context import Site
from dossier.pages.exports.feeds import Channel, channels
from dossier.pages.places import Page
from dossier.pages.runrows import Run, runs
from dossier.pages.shell import SearchEntry

PATH = "whats-new/"
NEWEST = 100
"""Findings that the page shows; the catalogue holds all."""
_WORDS = "Findings by day, what each changed in a lane, and what it corrected or withdrew. Every list is a feed too."
_DOES = {"supersedes": "supersedes", "corrects": "corrects", "adds to": "adds to", "withdraws": "withdraws"}


@dataclass(slots=True)
class Day:
    """One day: its findings, and the lanes of which the current recipe or the rollback changed."""

    day: date
    found: list[Run] = field(default_factory=list)
    changes: list[Then] = field(default_factory=list)


def news_page(site: Site, states: list[AsOf]) -> Page:
    """The page, newest day first."""
    view = site.view(PATH)
    newest = site.catalog.dated[-NEWEST:]
    days: dict[date, Day] = {}
    for run in reversed(runs(site, newest)):
        days.setdefault(run.summary.date, Day(run.summary.date)).found.append(run)
    oldest = min(days, default=date.max)
    for state in states:
        if state.day >= oldest:
            changed = [lane for lane in state.lanes if lane.new_current or lane.new_rollback]
            days.setdefault(state.day, Day(state.day)).changes += changed
    body = view.render(
        "news.html.j2", words=_WORDS, days=[days[day] for day in sorted(days, reverse=True)], did=_did(site, newest),
        feeds=_feeds(site), day_path=day_path, total=len(site.catalog.dated), shown=len(newest),
    )  # fmt: skip
    return Page(PATH, "Home", "What is new", _WORDS, body, (SearchEntry(PATH, "What is new", _WORDS),))


def _did(site: Site, newest: list[Summary]) -> dict[str, list[tuple[str, str]]]:
    """Finding -> what it does to earlier ones, as (word, the earlier finding)."""
    wanted = {s.id for s in newest}
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for earlier, later in site.linked_from.items():
        for word, summary in later:
            if word in _DOES and summary.id in wanted:
                found[summary.id].append((_DOES[word], earlier))
    return found


def _feeds(site: Site) -> list[Channel]:
    return list(channels(site))
