"""evidence/ -> Catalog. What has not changed comes from the cache, by the digest of its bytes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from dossier.cache import Cache
from dossier.catalog.catalog import Catalog, Entry, Key
from dossier.catalog.files import Found, find_artifacts, find_records
from dossier.catalog.summary import dump, restore, summarize
from dossier.derive.walk import pointers
from dossier.digest import digest_of, read_bytes, sha256_hex
from dossier.errors import Problem
from dossier.model.base import Record
from dossier.model.finding import Finding
from dossier.model.parse import FOLDERS, parse_record
from dossier.source import read_document
from dossier.stamp import code_stamp

_READ = f"read/{code_stamp()}"
_SUMMARY = f"summary/{code_stamp()}"
_BATCH = 500


def load_catalog(evidence: Path, cache: Cache, shown: str = "evidence") -> Catalog:
    """Read every record. Problems are collected in the catalog; only an unreadable folder raises StorageError."""
    catalog = Catalog(evidence, shown)
    found, problems = find_records(evidence, shown)
    catalog.artifacts, more = find_artifacts(evidence, shown)
    catalog.problems += problems + more
    # Read twice where it must be parsed: thousands of files are not held at once.
    stamps = [(item, sha256_hex(read_bytes(item.file))) for item in found]
    known = cache.get_many(_READ, [sha for _, sha in stamps])
    fresh: dict[str, bytes] = {}
    for item, sha in stamps:
        entry = _restored(item, sha, known.get(sha)) or _read(item, sha, catalog)
        if entry is None:
            catalog.broken.add((item.folder, item.stem))
        else:
            catalog.entries[entry.key] = entry
            if sha not in known:
                fresh[sha] = json.dumps([item.folder, item.stem, entry.digest, entry.refs]).encode()
    cache.put_many(_READ, fresh)
    _summarize(catalog, cache)
    return catalog


def _restored(item: Found, sha: str, cached: bytes | None) -> Entry | None:
    if cached is None:
        return None
    folder, stem, digest, refs = json.loads(cached)
    if (folder, stem) != (item.folder, item.stem):
        return None
    return Entry((folder, stem), item, sha, digest, tuple((f, i) for f, i in refs))


def _read(item: Found, sha: str, catalog: Catalog) -> Entry | None:
    document, problems = read_document(read_bytes(item.file), item.shown)
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
    key = (item.folder, item.stem)
    catalog.hold(key, record)
    catalog.keep(key, document.data)
    return Entry(key, item, sha, digest_of_record(record), tuple(_refs(record)))


def digest_of_record(record: Record) -> str:
    """SHA-256 over the canonical JSON of the validated record.

    Defaults are left out, so that a new optional field does not change old digests.
    """
    return digest_of(record.model_dump(mode="json", by_alias=True, exclude_defaults=True))


def _refs(record: Record) -> Iterable[Key]:
    named = [(p.folder, p.record) for p in pointers(record) if p.record]
    if isinstance(record, Finding):
        named += [(folder, id_) for folder, _, id_ in (name.partition("/") for name in record.pins)]
    return dict.fromkeys(key for key in named if key != (record.FOLDER, record.id))


def _summarize(catalog: Catalog, cache: Cache) -> None:
    findings = [e for e in catalog.entries.values() if e.key[0] == Finding.FOLDER]
    keys = {e.key[1]: catalog.dependency(e.key) for e in findings}
    known = cache.get_many(_SUMMARY, keys.values())
    fresh: dict[str, bytes] = {}
    for entry in reversed(findings):  # those that were read last are still at hand
        id_ = entry.key[1]
        if (cached := known.get(keys[id_])) is not None:
            catalog.summaries[id_] = restore(cached)
            continue
        finding = catalog.finding(id_)
        if finding is None:
            continue
        summary = summarize(finding, entry.found.shown, entry.digest, catalog.finding, catalog.metric,
                            lambda recipe: _hardware_of(catalog, recipe))  # fmt: skip
        catalog.summaries[id_] = summary
        fresh[keys[id_]] = dump(summary)
        if len(fresh) == _BATCH:
            cache.put_many(_SUMMARY, fresh)
            fresh = {}
    cache.put_many(_SUMMARY, fresh)


def _hardware_of(catalog: Catalog, recipe_id: str) -> str | None:
    recipe = catalog.recipe(recipe_id)
    return recipe.hardware if recipe is not None and isinstance(recipe.hardware, str) else None
