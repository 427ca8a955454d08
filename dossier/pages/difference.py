"""A page for each record that takes the place of another, or is changed from it: how the two differ in meaning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from dossier.derive.difference import Change, differences
from dossier.errors import RenderError
from dossier.model.base import Record
from dossier.model.finding import Finding
from dossier.model.recipe import Recipe
from dossier.pages.context import Site, View
from dossier.pages.markup import html
from dossier.pages.places import Page, difference_path
from dossier.pages.shell import SearchEntry

_SECTIONS = {Finding.FOLDER: "Findings", Recipe.FOLDER: "Recipes"}
_ITSELF = frozenset({"id", "pins", "derived_from"})
"""Fields that differ because the two are two records."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two records of one folder, the later of which says that it replaces the other or is changed from it."""

    folder: str
    before: str
    after: str


def pairs(site: Site) -> Iterator[Pair]:
    """Every finding with each that it supersedes, and every recipe with the one that it is derived from."""
    for summary in site.catalog.dated:
        for before in summary.links.supersedes:
            if before in site.catalog.summaries:
                yield Pair(Finding.FOLDER, before, summary.id)
    for id_ in site.catalog.ids(Recipe.FOLDER):
        recipe = site.catalog.recipe(id_)
        if recipe is not None and recipe.derived_from is not None and site.catalog.recipe(recipe.derived_from):
            yield Pair(Recipe.FOLDER, recipe.derived_from, id_)


def difference_page(site: Site, pair: Pair) -> Page:
    """The whole page. Raises RenderError where one of the two is no valid record."""
    before, after = (site.catalog.record(pair.folder, id_) for id_ in (pair.before, pair.after))
    if before is None or after is None:
        raise RenderError(f"{pair.folder}/{pair.before} and {pair.after}: both have to be valid records")
    path = difference_path(pair.folder, pair.before, pair.after)
    view = site.view(path)
    old, new = (site.titles[pair.folder, record.id] for record in (before, after))
    changes = [change for change in differences(before, after) if change.place[0] not in _ITSELF]
    body = view.render(
        "difference.html.j2", pair=pair, old=old, new=new, section=_SECTIONS[pair.folder],
        groups=list(_groups(view, changes, before, after)), count=len(changes),
    )  # fmt: skip
    told = f"How {new} differs from {old}, field by field."
    return Page(path, _SECTIONS[pair.folder], f"{old} → {new}", told, body, (SearchEntry(path, told, ""),))


Row = tuple[str, Markup, Markup, str]
"""Field, what stood there, what stands there, and the computed difference of two figures."""


def _groups(view: View, changes: list[Change], before: Record, after: Record) -> Iterator[tuple[str, list[Row]]]:
    """The plain fields of the record in one table, then each field that holds items, in the order of the fields."""
    sections = {change: _words(change.place[0]) if len(change.place) > 1 else "record" for change in changes}
    for name in dict.fromkeys(sorted(sections.values(), key="record".__ne__)):
        found = [c for c in changes if sections[c] == name]
        rows = [(_place(c), _shown(view, c.before, before), _shown(view, c.after, after), c.difference) for c in found]
        yield name, rows


def _place(change: Change) -> str:
    return ": ".join(map(_words, change.place[1:])) or _words(change.place[0])


def _words(name: str) -> str:
    return name.replace("_", " ")


def _shown(view: View, value: str | None, record: Record) -> Markup:
    """A value as text; a reference in it as what it refers to."""
    if value is None:
        return html('<span class="dx-quiet" title="%s">—</span>', "not there")
    here = record if isinstance(record, Finding) else None
    return html("%s", view.plain(value, here) if "[[" in value else value)
