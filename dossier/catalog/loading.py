"""evidence/ -> Catalog. What has not changed comes from the cache, by the digest of its bytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from dossier.cache import Cache
from dossier.catalog.catalog import Catalog, Entry, Key
from dossier.catalog.files import Found, find_artifacts, find_records
from dossier.catalog.summary import dump, summarize
from dossier.derive.walk import pointers
from dossier.digest import sha256_hex
from dossier.errors import Problem
from dossier.files import read_bytes
from dossier.model.base import Record
from dossier.model.finding import Finding
from dossier.model.parse import FOLDERS, parse_record
from dossier.source import read_document
from dossier.stamp import code_stamp

_READ = f"read/{code_stamp()}"
_SUMMARY = f"summary/{code_stamp()}"

Visit = Callable[[Catalog, Key], None]
"""What is done with each record that was read and not restored, while it is at hand and all that it names is known."""


def load_catalog(
    evidence: Path,
    cache: Cache,
    shown: str = "evidence",
    visit: Visit = lambda _catalog, _key: None,
    *,
    digests: bool = False,
) -> Catalog:
    """Read every record. Problems are collected in the catalog; only an unreadable folder raises StorageError.

    With `digests` that of every record is taken and kept: it costs least while the record is at hand.
    """
    catalog = Catalog(evidence, shown)
    found, problems = find_records(evidence, shown)
    catalog.artifacts, more = find_artifacts(evidence, shown)
    catalog.problems += problems + more
    made = _enter(found, catalog, cache, visit, digests=digests)
    _summarize(catalog, made, cache)
    return catalog


def _enter(found: list[Found], catalog: Catalog, cache: Cache, visit: Visit, *, digests: bool) -> dict[str, bytes]:
    """Read or restore every record; gives the summaries of findings that were read, where all they name is known."""
    last = sorted(found, key=lambda item: item.folder == Finding.FOLDER)  # findings, which rest on all others
    # Read twice where it must be parsed: thousands of files are not held at once.
    stamps = [(item, sha256_hex(read_bytes(item.file))) for item in last]
    known = cache.get_many(_READ, [sha for _, sha in stamps])
    fresh: list[Entry] = []
    made: dict[str, bytes] = {}
    unread = {item.key for item in found}
    for item, sha in stamps:
        restored = _restored(item, sha, known.get(sha), catalog)
        entry = restored or _read(item, catalog)
        if entry is None:
            catalog.broken.add(item.key)
            continue
        catalog.entries[item.key] = entry
        wanted = digests and item.key not in catalog.digests
        if wanted:
            catalog.digest(item.key)
        if restored is None or wanted:
            fresh.append(entry)
        if unread.isdisjoint(entry.refs):
            unread.remove(item.key)
            if restored is None:  # it is at hand now, and may not be later
                if item.folder == Finding.FOLDER:
                    made[catalog.dependency(item.key)] = _summary(entry, catalog)
                visit(catalog, item.key)
    catalog.entries = {item.key: catalog.entries[item.key] for item in found if item.key in catalog.entries}
    cache.put_many(_READ, {entry.sha256: _kept(entry, catalog) for entry in fresh}, [sha for _, sha in stamps])
    return made


def _kept(entry: Entry, catalog: Catalog) -> bytes:
    """An entry as the cache keeps it, with its digest if it was asked for."""
    return json.dumps([*entry.key, catalog.digests.get(entry.key), entry.refs]).encode()


def _restored(item: Found, sha: str, cached: bytes | None, catalog: Catalog) -> Entry | None:
    if cached is None:
        return None
    folder, stem, digest, refs = json.loads(cached)
    if (folder, stem) != item.key:
        return None
    if digest is not None:
        catalog.digests[item.key] = digest
    return Entry(item.key, item, sha, tuple((f, i) for f, i in refs))


def _read(item: Found, catalog: Catalog) -> Entry | None:
    data = read_bytes(item.file)
    document, problems = read_document(data, item.shown)
    catalog.problems += problems
    if document is None:
        return None
    record, problems = parse_record(document, item.shown)
    if record is not None:
        if not isinstance(record, FOLDERS[item.folder]):
            told = f"a {record.SCHEMA} record belongs in {record.FOLDER}/"
            mark = document.locate(("schema",))
            problems = [Problem(item.shown, mark.line, mark.column, "schema/folder", told)]
        elif record.id != item.stem:
            told = f"id is {record.id!r} but the file is named {item.stem!r}; make them equal"
            mark = document.locate(("id",))
            problems = [Problem(item.shown, mark.line, mark.column, "schema/file-name", told)]
    catalog.problems += problems
    if record is None or problems:
        return None
    catalog.hold(item.key, record)
    catalog.keep(item.key, document.data)
    return Entry(item.key, item, sha256_hex(data), tuple(_refs(record)))


def _refs(record: Record) -> Iterable[Key]:
    named = [(p.folder, p.record) for p in pointers(record) if p.record]
    if isinstance(record, Finding):
        named += [(folder, id_) for folder, _, id_ in (name.partition("/") for name in record.pins)]
    return dict.fromkeys(key for key in named if key != (record.FOLDER, record.id))


def _summarize(catalog: Catalog, made: dict[str, bytes], cache: Cache) -> None:
    """Restore or make the summaries that are not made yet, and keep all of them."""
    keys = {key: catalog.dependency(key) for key in catalog.entries if key[0] == Finding.FOLDER}
    left = {key: dependency for key, dependency in keys.items() if key[1] not in catalog.summaries}
    known = cache.get_many(_SUMMARY, left.values())
    fresh = dict(made)
    for key, dependency in left.items():
        if dependency in known:
            catalog.summaries.put(key[1], known[dependency])
        else:
            fresh[dependency] = _summary(catalog.entries[key], catalog)
    cache.put_many(_SUMMARY, fresh, keys.values())


def _summary(entry: Entry, catalog: Catalog) -> bytes:
    """Make the summary of a finding, and enter it; gives it as the cache keeps it."""
    finding = catalog.finding(entry.key[1])
    assert finding is not None  # noqa: S101  (its entry is there)
    hardware_of = partial(_hardware_of, catalog)
    data = dump(summarize(finding, entry.found.shown, catalog.finding, catalog.metric, hardware_of))
    # Not the summary itself: scattered among what was read, it would hold on to its memory.
    catalog.summaries.put(finding.id, data)
    return data


def _hardware_of(catalog: Catalog, recipe_id: str) -> str | None:
    recipe = catalog.recipe(recipe_id)
    return recipe.hardware if recipe is not None and isinstance(recipe.hardware, str) else None
