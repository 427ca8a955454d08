"""The home page: what is current in every lane, on which evidence, what it is not good for, and what is new."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from markupsafe import Markup

from dossier.model.recipe import Recipe
from dossier.model.vocabulary import MeasurementClass, Provenance
from dossier.pages.context import Site, View
from dossier.pages.lanes import Cited, Snapshot, cited, in_short, snapshots
from dossier.pages.places import Page
from dossier.pages.runrows import run_table, runs
from dossier.pages.shell import SearchEntry

_NEWEST = 8
_CITED = 5
_WORDS = "What is current in every lane, the evidence it rests on, what it is not good for, and what it replaced."


@dataclass(frozen=True, slots=True)
class Card:
    """One lane as a reader meets it first. `headline` is what the deciding finding says in short."""

    snapshot: Snapshot
    recipe: Recipe | None
    facts: str
    headline: Markup | str
    named: list[Cited]
    more: int
    limitation: Markup | str


def home_page(site: Site) -> Page:
    """Lane cards of every model, the newest findings, and how to read the site."""
    view = site.view("")
    lanes = [(subject, snapshots(site, subject)) for subject in site.subjects]
    # A model of which something is current comes before one that is only shown.
    lanes.sort(key=lambda one: all(snapshot.state.current is None for snapshot in one[1]))
    models = [(subject, [card(view, snapshot) for snapshot in found]) for subject, found in lanes]
    found = runs(site, islice(reversed(site.catalog.dated), _NEWEST))
    newest = run_table(view, found, "Newest findings", but="" if len(models) > 1 else "Models", facets=False)
    body = view.render(
        "home.html.j2", models=models, newest=newest, words=_WORDS, provenances=Provenance, classes=MeasurementClass
    )
    return Page("", "Home", "What is current", _WORDS, body, (SearchEntry("", "What is current", _WORDS),))


def card(view: View, snapshot: Snapshot) -> Card:
    """A lane's card; only the deciding finding is read whole."""
    current = snapshot.state.current
    recipe = view.site.catalog.recipe(current) if current is not None else None
    facts = " · ".join(in_short(view, recipe)) if recipe is not None else ""
    event = snapshot.event
    finding = view.site.catalog.finding(event.finding) if event is not None else None
    if event is None or finding is None:
        return Card(snapshot, recipe, facts, "", [], 0, "")
    named = [each for each in cited(view, event.decision, finding) if each.value] or list(
        cited(view, event.decision, finding)
    )
    limitation = event.decision.limitation or next((limit.text for limit in finding.limits), "")
    return Card(
        snapshot,
        recipe,
        facts,
        view.inline(finding.summary, finding),
        named[:_CITED],
        max(0, len(named) - _CITED),
        view.inline(limitation, finding) if limitation else "",
    )
