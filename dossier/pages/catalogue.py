"""The run catalogue: every finding in one table, from summaries alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from dossier.catalog.summary import Summary
from dossier.model.vocabulary import Outcome, Verdict
from dossier.pages.context import Site
from dossier.pages.places import Page
from dossier.pages.shell import SearchEntry

PATH = "findings/"


@dataclass(frozen=True, slots=True)
class Run:
    """A finding as a row: its outcome and gates in words, and what later findings made of it."""

    summary: Summary
    outcomes: tuple[Outcome, ...]
    gates: tuple[tuple[Verdict, int], ...]
    marks: tuple[tuple[str, Summary], ...]


def catalogue(site: Site) -> Page:
    """All findings, newest first, in one table; attributes of its rows say what to sort by."""
    found = runs(site, reversed(site.catalog.dated))
    words = (
        f"{len(found)} dated findings, newest first: kind, classes, provenance, outcome, gates, recipes and hardware."
    )
    body = site.view(PATH).render("catalogue.html.j2", runs=found, words=words)
    return Page(PATH, "Findings", "Run catalogue", words, body, (SearchEntry(PATH, "Run catalogue", words),))


def runs(site: Site, summaries: Iterable[Summary]) -> list[Run]:
    """Rows of the catalogue, or of a model's run history, in the given order."""
    return [_run(site, summary) for summary in summaries]


def _run(site: Site, summary: Summary) -> Run:
    outcomes = tuple(dict.fromkeys(decision.outcome for decision in summary.decisions))
    return Run(summary, outcomes, tally(site, summary), tuple(_marks(site, summary)))


def tally(site: Site, summary: Summary) -> tuple[tuple[Verdict, int], ...]:
    """How many gates had which verdict; a failed gate that a human set aside counts as waived."""
    waived = site.catalog.waived
    seen = Counter(_verdict(gate.verdict, waived=f"{summary.id}#{gate.id}" in waived) for gate in summary.gates)
    return tuple((verdict, seen[verdict]) for verdict in Verdict if seen[verdict])


def _verdict(verdict: Verdict, *, waived: bool) -> Verdict:
    return Verdict.WAIVED if waived and verdict is not Verdict.PASS else verdict


_MARKS = {"supersedes": "superseded", "corrects": "corrected", "adds to": "added to", "withdraws": "withdrawn"}


def _marks(site: Site, summary: Summary) -> Iterable[tuple[str, Summary]]:
    """What later findings made of this one, as (word, the later finding)."""
    return ((_MARKS[word], later) for word, later in site.linked_from.get(summary.id, ()) if word in _MARKS)
