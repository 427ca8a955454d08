"""Immutability: what was published stays what it was; corrections are records of their own."""

from __future__ import annotations

from collections.abc import Iterator

from dossier.catalog import Catalog, Key
from dossier.catalog.history import Publication, record_in
from dossier.derive.difference import Change, differences
from dossier.digest import canonical
from dossier.errors import Problem, Severity
from dossier.model.base import Record
from dossier.model.finding import Finding
from dossier.model.vocabulary import Completion
from dossier.source import Document, Mark

WHY = {
    "lineage/changed": "Others have read, cited and pinned a published record; if it could change, none of that would "
    "hold. A correction is a new record, which the pages link from both ends.",
    "lineage/open": "What is merged is published and stays as it is: what is open then is never completed in place, "
    "and its pins are never written. Its end is told by a record of its own, which its page shows.",
    "lineage/vanished": "A published record keeps its place: what cites it must find it, and what was decided on it "
    "must stay open to audit. Taking it back is a withdrawal.",
    "lineage/artifact-changed": "Published figures point into the artifact; another file under its name would let them "
    "stand on evidence that nobody had seen.",
}
_SHOWN = 3
_ALIKE = 0.7
"""A record that shares more of the fields of one that is gone was most likely made from it."""
_LOOKED_AT = 200
_START = Mark(1, 1)


def check_published(catalog: Catalog, published: Publication) -> list[Problem]:
    """What was published and is not as it was, as sorted problems."""
    return sorted([*_records(catalog, published), *_artifacts(catalog, published), *_open(catalog, published)])


def _open(catalog: Catalog, published: Publication) -> Iterator[Problem]:
    """New findings that would be published while they are open: that may be meant, so it is a warning."""
    for summary in catalog.dated:
        key = (Finding.FOLDER, summary.id)
        if summary.completion is Completion.OPEN and key not in published.digests:
            told = "open, and published as it stands: write `completion: concluded` (or `aborted`) when it is done, or"
            mark = catalog.document(key).locate(("completion",))
            how = f"end it later by `dossier new addendum --for {summary.id}`"
            path = catalog.entries[key].found.shown
            yield Problem(path, mark.line, mark.column, "lineage/open", f"{told} {how}", Severity.WARNING)


def _records(catalog: Catalog, published: Publication) -> Iterator[Problem]:
    for key, digest in published.digests.items():
        if key not in catalog.entries:
            if key not in catalog.broken:
                yield _problem(catalog, key, "lineage/vanished", _vanished(key, catalog, published))
        elif catalog.digest(key) != digest:
            yield from _changed(catalog, key, published)


def _problem(catalog: Catalog, key: Key, rule: str, message: str, mark: Mark = _START) -> Problem:
    return Problem(f"{catalog.shown}/{key[0]}/{key[1]}.yaml", mark.line, mark.column, rule, message)


def _vanished(key: Key, catalog: Catalog, published: Publication) -> str:
    told = f"published in {published.where}, and no longer here; put the file back"
    text = published.texts.get(key)
    before = record_in(text) if text is not None else None
    renamed = _renamed(before, catalog, published) if before is not None else None
    return f"{told}: it seems to be {renamed} now, and an id never changes" if renamed else f"{told}, or withdraw it"


def _renamed(before: Record, catalog: Catalog, published: Publication) -> str | None:
    """A new record that is the old one but for its id, or else the one of the new ones that is most like it."""
    new = [id_ for folder, id_ in catalog.entries if folder == before.FOLDER and (folder, id_) not in published.digests]
    fields, best = _fields(before), ""
    most = len(fields) * _ALIKE
    for id_ in new[:_LOOKED_AT]:
        record = catalog.record(before.FOLDER, id_)
        same = len(fields & _fields(record)) if record is not None else 0
        if same > most:
            best, most = id_, same
    return best or None


def _fields(record: Record) -> set[bytes]:
    """Every field that is given, but for the id and what is made anew for each record, as one text each."""
    given = record.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude={"id", "schema_"})
    return {canonical({name: value}) for name, value in given.items()}


def _changed(catalog: Catalog, key: Key, published: Publication) -> Iterator[Problem]:
    text = published.texts.get(key)
    before, after = record_in(text) if text is not None else None, catalog.record(*key)
    changes = differences(before, after) if before is not None and after is not None else []
    document = catalog.document(key)
    mark = _mark(changes[0], document) if changes else _START
    was_open = isinstance(before, Finding) and before.completion is Completion.OPEN
    shown = "; ".join(_short(str(change)) for change in changes[:_SHOWN])
    more = f" and {len(changes) - _SHOWN} more" if len(changes) > _SHOWN else ""
    what = f": {shown}{more}" if changes else ""
    yield _problem(
        catalog,
        key,
        "lineage/changed",
        f"published in {published.where}, and changed since{what}; {_advice(key, was_open=was_open)}",
        mark,
    )


def _advice(key: Key, *, was_open: bool) -> str:
    if was_open:
        return f"put it back and end it by a new record: `dossier new addendum --for {key[1]}`"
    if key[0] == Finding.FOLDER:
        return f"put it back and correct it by a new record: `dossier new erratum --for {key[1]}`"
    return "put it back and write a new record under another id"


def _short(text: str) -> str:
    return text if len(text) <= 120 else f"{text[:117]}..."


def _mark(change: Change, document: Document) -> Mark:
    """Where the changed field stands; items of a list are looked up by their id."""
    place: tuple[str | int, ...] = ()
    here: object = document.data
    for step in change.place:
        found: str | int = step
        if isinstance(here, list):
            ids = [item.get("id") if isinstance(item, dict) else None for item in here]
            if step not in ids:
                break
            found = ids.index(step)
        elif not isinstance(here, dict) or step not in here:
            break
        here = here[found]  # type: ignore[index]
        place = (*place, found)
    return document.locate(place)


def _artifacts(catalog: Catalog, published: Publication) -> Iterator[Problem]:
    for path, digest in published.artifacts.items():
        kept = catalog.kept(path)
        shown = f"{catalog.shown}/artifacts/{path}"
        if kept is None:
            told = f"published in {published.where}, and no longer here; put the file back"
            yield Problem(shown, 1, 1, "lineage/vanished", told)
        elif kept[0] != digest:
            told = f"published in {published.where} with SHA-256 {digest}, now it is {kept[0]}; put the file back"
            advice = "add what is new under another name, with an addendum"
            yield Problem(shown, 1, 1, "lineage/artifact-changed", f"{told}, {advice}")
