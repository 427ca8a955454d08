"""Runs every rule over a catalog and gives all problems, placed and sorted."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from dossier.cache import Cache
from dossier.catalog import Catalog, Entry, Key, Visit
from dossier.checks import (  # noqa: F401  (they register)
    arithmetic,
    artifacts,
    claims,
    counted,
    decisions,
    figures,
    identity,
    lineage,
    links,
    privacy,
    prose,
    replication,
    wording,
)
from dossier.checks.registry import CATALOG_RULES, RECORD_RULES, Placed, Wrong
from dossier.digest import sha256_hex
from dossier.errors import Problem, Severity
from dossier.model.finding import Finding
from dossier.source import Document
from dossier.stamp import code_stamp

_NAMESPACE = f"problems/{code_stamp()}"
_TOGETHER = f"together/{code_stamp()}"


def load_checked(load: Callable[[Visit], Catalog], cache: Cache) -> tuple[Catalog, list[Problem]]:
    """What `load` loads, and all its problems: each record is checked as it is read, while it is at hand."""
    seen: dict[Key, list[Problem]] = {}

    def visit(catalog: Catalog, key: Key) -> None:
        problems = check_record(catalog, key)
        if not _may_suggest(problems):
            seen[key] = problems

    catalog = load(visit)
    return catalog, check_catalog(catalog, cache, seen)


def check_catalog(catalog: Catalog, cache: Cache, seen: Mapping[Key, list[Problem]] | None = None) -> list[Problem]:
    """Every problem of the catalog: those met on loading, of each record, and of records together.

    `seen` holds the problems of records that were checked before.
    """
    problems = set(catalog.problems)
    problems.update(_record_problems(catalog, cache, seen or {}))
    for rule_id, (place, wrong) in _found_together(catalog, cache):
        if isinstance(place, str):
            problems.add(Problem(place, 1, 1, rule_id, wrong.message, wrong.severity))
        else:
            problems.add(_placed(rule_id, wrong, catalog.entries[place], catalog.document(place)))
    return sorted(problems)


def _found_together(catalog: Catalog, cache: Cache) -> Iterator[tuple[str, Placed]]:
    """What the catalog rules find; anew only where something changed that a rule looks at."""
    stamps = {folder: catalog.stamp(folder) for folder in {rule.folder for rule in CATALOG_RULES.values()} - {""}}
    keys = {r.id: sha256_hex(f"{r.id} {stamps[r.folder]}".encode()) for r in CATALOG_RULES.values() if r.folder}
    known = cache.get_many(_TOGETHER, keys.values())
    fresh: dict[str, bytes] = {}
    for rule in CATALOG_RULES.values():
        key = keys.get(rule.id, "")
        found = list(map(_placed_again, json.loads(known[key]))) if key in known else list(rule.check(catalog))
        if key and key not in known:
            fresh[key] = json.dumps([(at, w.place, w.message, w.severity, w.key) for at, w in found]).encode()
        yield from ((rule.id, placed) for placed in found)
    cache.put_many(_TOGETHER, fresh, keys.values())


def _placed_again(row: list[Any]) -> Placed:
    at, place, message, severity, key = row
    return at if isinstance(at, str) else (at[0], at[1]), Wrong(tuple(place), message, Severity(severity), key)


def _may_suggest(problems: Iterable[Problem]) -> bool:
    """An error may suggest the name of a record that it does not depend on: it is found anew, and last."""
    return any(p.severity is Severity.ERROR for p in problems)


def _record_problems(catalog: Catalog, cache: Cache, seen: Mapping[Key, list[Problem]]) -> Iterator[Problem]:
    keys = {entry.key: _dependencies(catalog, entry) for entry in catalog.entries.values()}
    known = cache.get_many(_NAMESPACE, keys.values())
    fresh: dict[str, bytes] = {}
    for key, dependency in keys.items():
        if (cached := known.get(dependency)) is not None:
            yield from (_restored(catalog.entries[key], row) for row in json.loads(cached))
            continue
        problems = seen[key] if key in seen else check_record(catalog, key)
        if not _may_suggest(problems):
            rows = [(p.line, p.column, p.rule, p.message, p.severity) for p in problems]
            fresh[dependency] = json.dumps(rows).encode()
        yield from problems
    cache.put_many(_NAMESPACE, fresh, keys.values())


def _dependencies(catalog: Catalog, entry: Entry) -> str:
    """What the problems of a record follow from: records, and the artifacts of a finding."""
    folder, id_ = entry.key
    kept = [(p, catalog.kept(p)) for p in catalog.artifacts_of.get(id_, ())] if folder == Finding.FOLDER else []
    named = catalog.dependency(entry.key)
    return sha256_hex(json.dumps([named, kept]).encode()) if kept else named


def _restored(entry: Entry, row: list[Any]) -> Problem:
    line, column, rule, message, severity = row
    return Problem(entry.found.shown, line, column, rule, message, Severity(severity))


def check_record(catalog: Catalog, key: Key) -> list[Problem]:
    """The problems of one record."""
    record = catalog.record(*key)
    if record is None:
        return []
    wrongs = [
        (rule.id, wrong)
        for rule in RECORD_RULES.values()
        if isinstance(record, rule.kind)
        for wrong in rule.check(record, catalog)
    ]
    if not wrongs:
        return []
    document = catalog.document(key)
    return [_placed(rule_id, wrong, catalog.entries[key], document) for rule_id, wrong in wrongs]


def _placed(rule: str, wrong: Wrong, entry: Entry, document: Document) -> Problem:
    mark = wrong.mark or document.locate(wrong.place, key=wrong.key)
    return Problem(entry.found.shown, mark.line, mark.column, rule, wrong.message, wrong.severity)
