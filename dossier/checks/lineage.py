"""Lineage: corrections are records of their own, and the links between findings lead back in time."""

from __future__ import annotations

from collections.abc import Iterator

from dossier.catalog import Catalog
from dossier.catalog.summary import Summary
from dossier.checks.registry import Placed, Wrong, catalog_rule, record_rule
from dossier.derive.items import items_of
from dossier.derive.walk import Place, pointers
from dossier.fold import day_of
from dossier.model.base import Record
from dossier.model.finding import PART_LISTS, Finding, Links
from dossier.model.recipe import Recipe
from dossier.model.subject import Subject
from dossier.model.vocabulary import Kind


def _targets(links: Links) -> Iterator[tuple[Place, str]]:
    for name in ("follows", "supersedes", "see"):
        yield from ((("links", name, index), target) for index, target in enumerate(getattr(links, name)))
    for name in ("erratum_for", "addendum_to", "withdraws"):
        if (target := getattr(links, name)) is not None:
            yield ("links", name), target


@record_rule("lineage/self", Record)
def links_to_itself(record: Record, _: Catalog) -> Iterator[Wrong]:
    """A record cannot come before itself."""
    if isinstance(record, Finding):
        for place, target in _targets(record.links):
            if target == record.id:
                yield Wrong(place, "a finding links to itself; name the other finding, or leave the link out")
    elif isinstance(record, Recipe) and record.derived_from == record.id:
        yield Wrong(("derived_from",), "a recipe is derived from itself; name the other recipe, or leave the key out")


@record_rule("lineage/date", Finding)
def links_lead_back(finding: Finding, catalog: Catalog) -> Iterator[Wrong]:
    """A published finding is never edited: what it follows, corrects, compares with or rests on was there before it."""
    for pointer in pointers(finding):
        day = catalog.day(pointer.record) if pointer.folder == Finding.FOLDER and not pointer.in_prose else None
        if day is not None and day > finding.date:
            told = f"{pointer.record} is dated {day}, later than {finding.date}; put the link into the later finding"
            yield Wrong(pointer.place, told)


@record_rule("lineage/id-date", Finding)
def id_begins_with_the_date(finding: Finding, _: Catalog) -> Iterator[Wrong]:
    """Ids are permalinks and sort by date: an id that tells another day misleads everybody who cites it."""
    if not finding.id.startswith(f"{finding.date}-"):
        told = f"the id of a finding is its date and a few words: {finding.date}-..., and so is the file's name"
        yield Wrong(("id",), told)
    if finding.observed is not None and day_of(finding.observed) > finding.date:
        yield Wrong(("observed",), f"observed after the finding's date {finding.date}; correct one of the two")


_NEEDS = {Kind.ERRATUM: "erratum_for", Kind.ADDENDUM: "addendum_to", Kind.WITHDRAWAL: "withdraws"}


@record_rule("lineage/kind", Finding)
def correction_names_its_target(finding: Finding, _: Catalog) -> Iterator[Wrong]:
    """A correction that names no finding corrects nothing, and one that is not called so is not seen as one."""
    needed = _NEEDS.get(finding.kind)
    if needed is not None and getattr(finding.links, needed) is None:
        yield Wrong(("kind",), f"a finding of kind {finding.kind} names the one that it is about in links.{needed}")
    for kind in (Kind.ERRATUM, Kind.WITHDRAWAL):
        if getattr(finding.links, _NEEDS[kind]) is not None and finding.kind is not kind:
            yield Wrong(("links", _NEEDS[kind]), f"links.{_NEEDS[kind]} goes with kind: {kind}", key=True)


@record_rule("lineage/withdrawal", Finding)
def withdrawal_says_why(finding: Finding, catalog: Catalog) -> Iterator[Wrong]:
    """A finding is taken back in the open: who did, and why, stands beside the link."""
    withdraws, block = finding.links.withdraws, finding.withdrawal
    if withdraws is not None and block is None:
        yield Wrong(("links", "withdraws"), "say why in `withdrawal: {reason: ..., by: ...}`", key=True)
    if withdraws is None and block is not None and finding.kind is not Kind.WITHDRAWAL:
        yield Wrong(("withdrawal",), "nothing is withdrawn; name the finding in links.withdraws", key=True)
    if block is not None and withdraws is not None and block.replacement == withdraws:
        yield Wrong(("withdrawal", "replacement"), "a withdrawn finding cannot replace itself; name another")
    other = catalog.finding(withdraws) if withdraws is not None else None
    if other is not None and other.links.withdraws is not None:
        yield Wrong(("links", "withdraws"), "a withdrawal stands; publish what holds as a new finding instead")


@catalog_rule("lineage/withdrawn-twice", folder=Finding.FOLDER)
def withdrawn_once(catalog: Catalog) -> Iterator[Placed]:
    """One withdrawal says why; a second would leave open which reason holds."""
    first: dict[str, Summary] = {}
    for summary in catalog.dated:
        if summary.withdraws is not None and first.setdefault(summary.withdraws, summary) is not summary:
            told = (
                f"{summary.withdraws} was already withdrawn by {first[summary.withdraws].id}; add to that one instead"
            )
            yield (Finding.FOLDER, summary.id), Wrong(("links", "withdraws"), told)


@catalog_rule("lineage/cycle", folder=Finding.FOLDER)
def comes_before_itself(catalog: Catalog) -> Iterator[Placed]:
    """Of two findings that each claim to come after the other, one is wrong."""
    for summary in catalog.dated:
        for place, target in _targets(summary.links):
            other = catalog.summaries.get(target)
            if other is None or other.date != summary.date or target not in catalog.before(summary.id):
                continue
            if catalog.is_after(target, summary.id):
                told = f"{target} already comes after this finding; take one of the two links out"
                yield (Finding.FOLDER, summary.id), Wrong(place, told)


@record_rule("lineage/derivation", Recipe)
def derived_in_a_circle(recipe: Recipe, catalog: Catalog) -> Iterator[Wrong]:
    """A recipe is changed from an earlier one; a circle has no first."""
    seen, here = {recipe.id}, recipe.derived_from
    while here is not None and here not in seen:
        seen.add(here)
        other = catalog.recipe(here)
        here = other.derived_from if other is not None else None
    if here == recipe.id and recipe.derived_from != recipe.id:
        yield Wrong(("derived_from",), f"{recipe.derived_from} is itself derived from this recipe; correct one")


@record_rule("lineage/duplicate-item", Record)
def ids_are_unique(record: Record, _: Catalog) -> Iterator[Wrong]:
    """Figures are cited by id: two items of one id could each be the one that is meant."""
    if isinstance(record, Finding):
        if len(record.parts) == sum([len(getattr(record, name)) for name in PART_LISTS]):
            return
        places = [((*place, "id"), item.id) for place, item in items_of(record)]
    elif isinstance(record, Subject):
        places = [(("lanes", index, "id"), lane.id) for index, lane in enumerate(record.lanes)]
    else:
        return
    seen: set[str] = set()
    for place, id_ in places:
        if id_ in seen:
            yield Wrong(place, f"the id {id_!r} is taken by another item of this record; choose another")
        seen.add(id_)
