"""The dossier of a model, put together from the fold, from summaries, and from one set of fragments a finding."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date

from markupsafe import Markup

from dossier.catalog.summary import Summary
from dossier.fold import Standing
from dossier.model.decision import Decision, StatedRole
from dossier.model.hardware import Hardware
from dossier.model.identity import Identity
from dossier.model.recipe import Recipe
from dossier.model.subject import Subject
from dossier.model.vocabulary import MeasurementClass, Outcome, Role
from dossier.pages.context import LaneRole, Site, View
from dossier.pages.fields import Pairs, Writer
from dossier.pages.fragments import UNCLASSED, dossier_fragments
from dossier.pages.lanes import Snapshot, as_of, decided, in_short, lane_title, show, snapshots
from dossier.pages.pictures.curves import pictures
from dossier.pages.pictures.lanelines import timeline
from dossier.pages.places import Page, page_of
from dossier.pages.runrows import run_table, runs
from dossier.pages.shell import SearchEntry

__all__ = ["dossier_fragments", "model_page", "models_index"]

INDEX = "models/"
_ORDER = {role: place for place, role in enumerate(Role)}
_OPEN = 2
"""Findings of each class whose evidence stands open; the older ones open at a click."""
_WHOLE = 40
"""Findings that a dossier shows whole; the older ones are rows of its run history. Else it would grow without end."""

Fragments = Callable[[str], Mapping[str, str]]
"""Finding id -> its fragments."""


@dataclass(frozen=True, slots=True)
class LaneView:
    """A lane's snapshot with what the deciding finding says of it, and the other recipes that have a role."""

    snapshot: Snapshot
    recipe: Recipe | None
    facts: str
    body: Markup
    limits: Markup
    others: list[tuple[str, Standing]]
    waivers: list[tuple[Summary, Decision]]


@dataclass(frozen=True, slots=True)
class RecipeRow:
    """A recipe, or what has no record, with its roles and the settings by which it is told from others."""

    name: str
    recipe: Recipe | None
    roles: list[LaneRole]
    settings: tuple[Markup | str, ...]


@dataclass(frozen=True, slots=True)
class Pinned:
    """An identity with every pin, and the recipes that serve it."""

    identity: Identity
    pairs: Pairs
    recipes: list[RecipeRow]


@dataclass(frozen=True, slots=True)
class Machine:
    """A piece of hardware, and what ran or stood on it."""

    hardware: Hardware
    pairs: Pairs
    recipes: list[str]
    findings: int


@dataclass(frozen=True, slots=True)
class RoleSaid:
    """A role that a source states and that the decisions up to its date do not give."""

    summary: Summary
    said: StatedRole
    lane: str
    role: Role | None


def models_index(site: Site) -> Page:
    """Every model with what is current in its lanes."""
    words = "Every model that has a dossier, with what is current in each of its lanes."
    entries = [(subject, snapshots(site, subject), len(_summaries(site, subject.id))) for subject in site.subjects]
    body = site.view(INDEX).render("models_index.html.j2", entries=entries, words=words)
    return Page(INDEX, "Models", "Models", words, body, (SearchEntry(INDEX, "Models", words),))


def model_page(site: Site, model_id: str, fragments: Fragments) -> Page:
    """A model's dossier. `fragments` gives what `dossier_fragments` made of a finding, from wherever it is kept."""
    path = page_of("models", model_id)
    view = site.view(path)
    subject = next(each for each in site.subjects if each.id == model_id)
    summaries, shown = _summaries(site, model_id), shown_whole(site, model_id)
    pieces = {s.id: {name: _trusted(text) for name, text in fragments(s.id).items()} for s in shown}
    recipes, found = recipe_rows(view, subject, summaries), runs(site, summaries)
    words = f"{subject.name}: what is current in each lane, its evidence, limits, history and every pin."
    body = view.render(
        "model.html.j2",
        subject=subject,
        words=words,
        head=Writer(view).facts(
            subject, but=("id", "schema_", "name", "scope", "lanes", "license", "notes", "sources")
        ),
        writer=Writer(view),
        lanes=[lane_view(view, snapshot, pieces) for snapshot in snapshots(site, subject)],
        summaries=summaries,
        shown=shown,
        piece=lambda id_, name: pieces.get(id_, {}).get(name, Markup()),
        said=list(_roles_said(site, subject, summaries)),
        recipes=recipes,
        pinned=_pinned(view, recipes),
        machines=_machines(view, recipes, summaries),
        classes=_classes(pieces, shown),
        decided=decided(site, model_id),
        as_of=as_of(site, subject),
        marks={run.summary.id: run.marks for run in found},
        history=run_table(view, found, "Dated findings", but="Models", ids="run-"),
        open=_OPEN,
        timeline=timeline(view, subject),
        curves=_curves(view, pieces),
    )
    return Page(path, "Models", subject.name, words, body, tuple(_search(site, path, subject)))


def shown_whole(site: Site, model_id: str) -> list[Summary]:
    """The findings that a dossier shows whole, newest first: the newest ones, and those that decided what holds now."""
    states = (state for (model, _), state in site.catalog.now.lanes.items() if model == model_id)
    events = (e for state in states for e in (state.promoted, state.confirmed, state.rolled))
    deciding = {event.finding for event in events if event is not None}
    return [s for n, s in enumerate(_summaries(site, model_id)) if n < _WHOLE or s.id in deciding]


def _trusted(text: str) -> Markup:
    """A fragment is markup that a template made."""
    return Markup(text)  # noqa: S704


def _summaries(site: Site, model_id: str) -> list[Summary]:
    """The findings of a model, newest first."""
    return [s for s in reversed(site.catalog.dated) if model_id in s.models]


def _search(site: Site, path: str, subject: Subject) -> Iterator[SearchEntry]:
    yield SearchEntry(path, f"{subject.name} dossier", site.view(path).plain(subject.scope))
    for snapshot in snapshots(site, subject):
        current = site.titles.get(("recipes", snapshot.state.current or ""), "nothing")
        yield SearchEntry(
            f"{path}#lane-{snapshot.lane.id}", f"{subject.name}: {snapshot.lane.title}", f"Current: {current}"
        )


def _curves(view: View, pieces: Mapping[str, Mapping[str, Markup]]) -> Markup:
    """The pictures of the figures of the findings that are shown whole, newest finding first."""
    points = [point for found in pieces.values() if "points" in found for point in json.loads(str(found["points"]))]
    return pictures(view, points, dict.fromkeys(view.site.catalog.withdrawn, "withdrawn"))


def lane_view(view: View, snapshot: Snapshot, pieces: Mapping[str, Mapping[str, Markup]]) -> LaneView:
    """A lane in full."""
    state, event = snapshot.state, snapshot.event
    recipe = view.site.catalog.recipe(state.current) if state.current is not None else None
    deciding = pieces.get(event.finding, {}) if event is not None else {}
    held = {state.current, state.rollback}
    others = sorted(
        ((name, standing) for name, standing in state.standings.items() if name not in held),
        key=lambda pair: (_ORDER[pair[1].role], -pair[1].since.toordinal(), pair[0]),
    )
    return LaneView(
        snapshot,
        recipe,
        " · ".join(in_short(view, recipe)) if recipe is not None else "",
        deciding.get(f"decision:{event.decision.id}", Markup()) if event is not None else Markup(),
        deciding.get("limits", Markup()),
        others,
        list(_waivers(view.site, snapshot)),
    )


def _waivers(site: Site, snapshot: Snapshot) -> Iterator[tuple[Summary, Decision]]:
    """Gates that a human set aside for this lane, in findings about its current recipe."""
    for summary in site.catalog.dated:
        if snapshot.state.current not in summary.recipes or summary.id in site.catalog.withdrawn:
            continue
        for decision in summary.decisions:
            if decision.outcome is Outcome.WAIVE and snapshot.lane.id in (decision.lanes or (snapshot.lane.id,)):
                yield summary, decision


def recipe_rows(view: View, subject: Subject, summaries: list[Summary]) -> list[RecipeRow]:
    """Every recipe of a model and every subject of a decision, the current ones first, then by role and age."""
    site = view.site
    ids = [id_ for id_ in site.catalog.ids("recipes") if _is_of(site, id_, subject.id)]
    named = [name for lane in subject.lanes for name in site.catalog.lane(subject.id, lane.id).standings]
    rows = [_recipe_row(view, subject, name) for name in dict.fromkeys([*ids, *named])]
    age = {recipe: -s.date.toordinal() for s in reversed(summaries) for recipe in s.recipes}
    return sorted(rows, key=lambda row: (_best(row), age.get(row.name, 0), row.name))


def _is_of(site: Site, recipe_id: str, model: str) -> bool:
    recipe = site.catalog.recipe(recipe_id)
    return recipe is not None and model in recipe.models


def _best(row: RecipeRow) -> int:
    return min((_ORDER[role.standing.role] for role in row.roles), default=len(_ORDER))


_SETTINGS = ("context_tokens", "output_tokens", "concurrency", "kv_dtype", "speculation", "prefix_cache")


def _recipe_row(view: View, subject: Subject, name: str) -> RecipeRow:
    recipe = view.site.catalog.recipe(name)
    roles = [role for role in view.site.roles(name) if role.model == subject.id]
    if recipe is None:
        return RecipeRow(name, None, roles, ("",) * len(_SETTINGS))
    found = {key: getattr(recipe, key) for key in _SETTINGS}
    if (method := getattr(recipe.speculation, "method", None)) is not None:
        depth = show(view, getattr(recipe.speculation, "depth", None))
        found["speculation"] = Markup("{} {}").format(show(view, method), depth) if depth else method
    return RecipeRow(name, recipe, roles, tuple(show(view, value) for value in found.values()))


def _pinned(view: View, recipes: list[RecipeRow]) -> list[Pinned]:
    """Every identity that the recipes serve, in the order of the recipes."""
    users: dict[str, list[RecipeRow]] = {}
    for row in recipes:
        if row.recipe is not None and isinstance(row.recipe.identity, str):
            users.setdefault(row.recipe.identity, []).append(row)
    writer = Writer(view)
    return [
        Pinned(identity, writer.facts(identity, but=("id", "schema_", "title", "artifacts", "sources")), rows)
        for id_, rows in users.items()
        if (identity := view.site.catalog.identity(id_)) is not None
    ]


def _machines(view: View, recipes: list[RecipeRow], summaries: list[Summary]) -> list[Machine]:
    """Every piece of hardware of the recipes and findings."""
    users: dict[str, list[str]] = {}
    for row in recipes:
        if row.recipe is not None and isinstance(row.recipe.hardware, str):
            users.setdefault(row.recipe.hardware, []).append(row.name)
    for summary in summaries:
        for id_ in summary.hardware:
            users.setdefault(id_, [])
    writer = Writer(view)
    return [
        Machine(hardware, writer.facts(hardware, but=("id", "schema_", "title", "sources")), names, count)
        for id_, names in users.items()
        if (hardware := view.site.catalog.hardware(id_)) is not None
        for count in (sum(id_ in s.hardware for s in summaries),)
    ]


def _classes(pieces: Mapping[str, Mapping[str, str]], summaries: list[Summary]) -> list[tuple[str, str, list[Summary]]]:
    """(class, what it means, findings with evidence of it, newest first), in the vocabulary's order."""
    meanings = {str(word): word.meaning for word in MeasurementClass} | {UNCLASSED: "no class is stated"}
    found = (
        (word, meaning, [s for s in summaries if f"evidence:{word}" in pieces[s.id]])
        for word, meaning in meanings.items()
    )
    return [entry for entry in found if entry[2]]


def _roles_said(site: Site, subject: Subject, summaries: list[Summary]) -> Iterator[RoleSaid]:
    for summary in summaries:
        for said in summary.stated_roles:
            role = _role_on(site, subject, said, summary.date)
            if role is not said.role:
                yield RoleSaid(summary, said, lane_title(site, subject.id, said.lane), role)


def _role_on(site: Site, subject: Subject, said: StatedRole, day: date) -> Role | None:
    state = site.folded(day).lanes.get((subject.id, said.lane))
    return state.role(said.recipe) if state is not None else None
