"""The catalog: every record by key, loaded whole only when asked for."""

from __future__ import annotations

import marshal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from dossier.catalog.files import Found
from dossier.catalog.summary import Summaries, Summary
from dossier.digest import digest_of, file_digest, sha256_hex
from dossier.errors import Problem
from dossier.files import read_bytes
from dossier.fold import Event, Folded, History, LaneState, day_of
from dossier.model.base import Record
from dossier.model.finding import Finding
from dossier.model.hardware import Hardware
from dossier.model.identity import Identity
from dossier.model.metrics import METRICS, Metric, MetricRecord
from dossier.model.parse import parse_record
from dossier.model.recipe import Recipe
from dossier.model.subject import Subject
from dossier.source import Document, read_document

Key = tuple[str, str]
"""(folder, id)"""

R = TypeVar("R", bound=Record)
_HELD = 300
"""Findings held whole at once, about 20 MB: reading one again costs a quarter of a millisecond."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A record file that could be read and validated; `sha256` is of its bytes."""

    key: Key
    found: Found
    sha256: str
    refs: tuple[Key, ...]


@dataclass
class Catalog:
    """Records by key; the summaries of findings in date order; problems met on loading.

    `broken` holds keys of files that are there and could not be validated, so that what refers to them is not
    reported a second time. `digests` are those that are known so far.
    """

    evidence: Path
    shown: str
    entries: dict[Key, Entry] = field(default_factory=dict)
    summaries: Summaries = field(default_factory=Summaries)
    broken: set[Key] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)
    artifacts: Mapping[str, Path] = field(default_factory=dict)
    digests: dict[Key, str] = field(default_factory=dict)
    _held: dict[Key, Record] = field(default_factory=dict)
    _held_findings: dict[Key, Record] = field(default_factory=dict)
    _kept: dict[str, tuple[str, int]] = field(default_factory=dict)
    _read: dict[Key, bytes] = field(default_factory=dict)
    _dependencies: dict[Key, str] = field(default_factory=dict)
    _histories: dict[frozenset[str], History] = field(default_factory=dict)

    def exists(self, folder: str, id_: str) -> bool:
        """Is there a file for this record, valid or not?"""
        return (folder, id_) in self.entries or (folder, id_) in self.broken

    def record(self, folder: str, id_: str) -> Record | None:
        """The record, read anew where it is not held; None where there is no valid one."""
        key = (folder, id_)
        held = self._held_findings if folder == Finding.FOLDER else self._held
        if key in held:
            return held[key]
        entry = self.entries.get(key)
        if entry is None:
            return None
        record, _ = parse_record(Document(self._data(key), ""), entry.found.shown)
        if record is not None:
            self.hold(key, record)
        return record

    def _data(self, key: Key) -> dict[str, Any]:
        """What the file says; what this run has read is not read from YAML again, at twenty times the cost."""
        if key not in self._read:
            return self.document(key).data
        data: dict[str, Any] = marshal.loads(self._read[key])  # noqa: S302  (`keep` wrote it)
        return data

    def keep(self, key: Key, data: dict[str, Any]) -> None:
        """Remember what a file says, small, for when its record is asked for again."""
        self._read[key] = marshal.dumps(data)

    def hold(self, key: Key, record: Record) -> None:
        """Keep a record at hand. Where there are too many findings the newest goes.

        They are asked for in rounds, in order: to let the oldest go would find none of them again. Other records are
        few and small, and finding after finding asks for them.
        """
        if key[0] != Finding.FOLDER:
            self._held[key] = record
            return
        if len(self._held_findings) >= _HELD:
            self._held_findings.popitem()
        self._held_findings[key] = record

    def document(self, key: Key) -> Document:
        """The source of a record, for positions."""
        found = self.entries[key].found
        document, _ = read_document(read_bytes(found.file), found.shown)
        return document if document is not None else Document({}, "")

    def dependency(self, key: Key) -> str:
        """A digest of a record's bytes, of those of every record it names, and that those name in turn.

        Recipes are followed to their end: a recipe may be derived from another.
        """
        if key not in self._dependencies:
            reached = dict(self._metric_files)
            pending = [(key, 0)]
            for at, depth in pending:  # it grows on the way
                if at in reached and depth:
                    continue
                entry = self.entries.get(at)
                reached[at] = entry.sha256 if entry is not None else "broken" if at in self.broken else "absent"
                if entry is not None and (depth < 2 or at[0] == Recipe.FOLDER):
                    pending += [(ref, depth + 1) for ref in entry.refs]
            told = sorted([f"{folder}/{id_} {sha}" for (folder, id_), sha in reached.items()])
            self._dependencies[key] = sha256_hex("\n".join(told).encode())
        return self._dependencies[key]

    def stamp(self, folder: str) -> str:
        """A digest of all records of a folder: of findings as their summaries have them, else of their bytes."""
        if folder == Finding.FOLDER:
            return self.summaries.stamp()
        files = [f"{id_} {entry.sha256}" for (f, id_), entry in self.entries.items() if f == folder]
        return sha256_hex("\n".join(sorted(files)).encode())

    @cached_property
    def _metric_files(self) -> dict[Key, str]:
        return {key: entry.sha256 for key, entry in self.entries.items() if key[0] == MetricRecord.FOLDER}

    def source(self, key: Key) -> bytes:
        """The file of a record as it lies there, comments and all."""
        return read_bytes(self.entries[key].found.file)

    @cached_property
    def artifacts_of(self) -> dict[str, list[str]]:
        """Finding id -> the paths below `artifacts/` in its folder; files outside any folder are under ''."""
        found: dict[str, list[str]] = {}
        for path in self.artifacts:
            folder, slash, _ = path.partition("/")
            found.setdefault(folder if slash else "", []).append(path)
        return found

    def kept(self, path: str) -> tuple[str, int] | None:
        """SHA-256 and size of a file below `artifacts/`; None where there is none."""
        if path not in self._kept and path in self.artifacts:
            self._kept[path] = file_digest(self.artifacts[path])
        return self._kept.get(path)

    def kept_bytes(self, path: str) -> bytes | None:
        """What a file below `artifacts/` holds; None where there is none."""
        return read_bytes(self.artifacts[path]) if path in self.artifacts else None

    def _of(self, kind: type[R], id_: str) -> R | None:
        record = self.record(kind.FOLDER, id_)
        return record if isinstance(record, kind) else None

    def finding(self, id_: str) -> Finding | None:
        """A finding by id."""
        return self._of(Finding, id_)

    def digest(self, key: Key) -> str:
        """The digest by which others name a record that is there; taken when it is first asked for."""
        if key not in self.digests:
            record = self.record(*key)
            assert record is not None  # noqa: S101  (its entry is there)
            self.digests[key] = digest_of_record(record)
        return self.digests[key]

    def day(self, id_: str) -> date | None:
        """The date of a finding by id."""
        found = self.summaries.get(id_) or self.finding(id_)
        return found.date if found is not None else None

    def recipe(self, id_: str) -> Recipe | None:
        """A recipe by id."""
        return self._of(Recipe, id_)

    def identity(self, id_: str) -> Identity | None:
        """An identity by id."""
        return self._of(Identity, id_)

    def hardware(self, id_: str) -> Hardware | None:
        """A piece of hardware by id."""
        return self._of(Hardware, id_)

    def subject(self, id_: str) -> Subject | None:
        """A model by id."""
        return self._of(Subject, id_)

    def ids(self, folder: str) -> list[str]:
        """Ids of the valid records of a folder, in order."""
        return sorted(id_ for f, id_ in self.entries if f == folder)

    def metric(self, id_: str) -> Metric | None:
        """A metric of the dictionary, or one that this evidence adds."""
        if id_ in METRICS:
            return METRICS[id_]
        record = self._of(MetricRecord, id_)
        return record.as_metric() if record is not None else None

    @cached_property
    def dated(self) -> list[Summary]:
        """Findings in order: by date, within a day what follows comes after, then by id."""
        return sorted(self.summaries.values(), key=lambda s: (s.date, self._depth(s.id, s.date), s.id))

    def _depth(self, id_: str, day: date, seen: frozenset[str] = frozenset()) -> int:
        summary = self.summaries.get(id_)
        if summary is None or summary.date != day or id_ in seen:
            return 0
        seen = seen | {id_}
        return max((1 + self._depth(b, day, seen) for b in self.before(id_) if self._same_day(b, day)), default=0)

    def _same_day(self, id_: str, day: date) -> bool:
        other = self.summaries.get(id_)
        return other is not None and other.date == day

    def before(self, id_: str) -> list[str]:
        """The findings that a finding says it comes after."""
        links = self.summaries[id_].links
        one = (links.addendum_to, links.erratum_for, links.withdraws)
        return [*links.follows, *links.supersedes, *(target for target in one if target is not None)]

    def is_after(self, id_: str, other: str) -> bool:
        """Is it plain that a finding comes after another: by its date, or within a day by its links?"""
        day = self.summaries[id_].date
        if not self._same_day(other, day):
            return day > self.summaries[other].date
        reached, pending = {id_}, [id_]
        while pending:
            fresh = [b for b in self.before(pending.pop()) if b not in reached and self._same_day(b, day)]
            reached.update(fresh)
            pending += fresh
        return id_ != other and other in reached

    @cached_property
    def withdrawn(self) -> dict[str, Summary]:
        """Withdrawn findings, each with the finding that withdrew it."""
        return {s.withdraws: s for s in self.dated if s.withdraws is not None}

    @cached_property
    def waived(self) -> dict[str, tuple[str, str]]:
        """`finding#gate` of every waived gate, with the finding and decision that waived it."""
        return {
            d.gate if "#" in d.gate else f"{s.id}#{d.gate}": (s.id, d.id)
            for s in self.dated
            if s.id not in self.withdrawn
            for d in s.decisions
            if d.gate is not None
        }

    def events(self, until: date | None = None) -> Iterator[Event]:
        """Decision events in the order in which they hold, without those of findings withdrawn by then."""
        return self._events(self._gone(until))

    def _events(self, gone: frozenset[str]) -> Iterator[Event]:
        events = [e for s in self.dated if s.id not in gone for e in _events_of(s)]
        rank = {s.id: n for n, s in enumerate(self.dated)}
        return iter(sorted(events, key=lambda e: (e.day, rank[e.finding], e.index)))

    def _gone(self, until: date | None) -> frozenset[str]:
        return frozenset(id_ for id_, by in self.withdrawn.items() if until is None or by.date <= until)

    def folded(self, until: date | None = None) -> Folded:
        """The state of every lane at the end of a day, or now."""
        gone = self._gone(until)
        if gone not in self._histories:
            self._histories[gone] = History(self._events(gone))
        return self._histories[gone].at(until)

    @cached_property
    def now(self) -> Folded:
        """The state of every lane after every event."""
        return self.folded()

    def lane(self, model: str, lane: str, until: date | None = None) -> LaneState:
        """One lane's state; an empty one where nothing was decided."""
        folded = self.now if until is None else self.folded(until)
        return folded.lanes.get((model, lane), LaneState(model, lane))


def digest_of_record(record: Record) -> str:
    """SHA-256 over the canonical JSON of the validated record.

    Defaults are left out, so that a new optional field does not change old digests.
    """
    return digest_of(record.model_dump(mode="json", by_alias=True, exclude_defaults=True))


def _events_of(summary: Summary) -> Iterator[Event]:
    for index, decision in enumerate(summary.decisions):
        model = decision.model or summary.models[0]
        day = day_of(decision.at) if decision.at is not None else summary.date
        for lane in decision.lanes:
            if decision.recipe or decision.subject:
                yield Event(model, lane, day, summary.id, index, summary.provenance, decision)
