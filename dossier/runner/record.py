"""A journal becomes records and artifacts: a pure function, byte for byte the same on any machine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count, takewhile
from typing import Any

from pydantic import ValidationError

from dossier.digest import digest_of, sha256_hex
from dossier.model.base import Record
from dossier.model.finding import Finding
from dossier.model.parse import parse_record
from dossier.runner.boundary import flags_of
from dossier.runner.compare import Sided, compared
from dossier.runner.figure import Figure, kept
from dossier.runner.findings import finding_record
from dossier.runner.journal import Entry, JournalError, Reading, read_journal
from dossier.runner.plan import Plan, plan_of
from dossier.runner.results import results_of
from dossier.runner.state import SCHEMA
from dossier.runner.surroundings import hardware_record, identity_record, model_record, recipe_record
from dossier.runner.told import Told
from dossier.runner.yamltext import to_yaml, without_none
from dossier.source import read_document

MAX_FILE = 1 << 20
MAX_JOURNAL = 4 << 20
"""A journal is published in files of at most MAX_FILE, cut between lines. A larger one is kept private, by digest, and
its samples are published in a file a population."""
_JOURNAL = "Journal of the run, a hash chain"
_HEAD = """Written by `dossier record` from the journal of a run: do not edit, the same journal gives the same bytes.
A correction is a finding of its own, an erratum or an addendum, that links to this one."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """Files by path below the evidence folder. `first` are written only where no such file is there yet."""

    finding: Finding
    files: Mapping[str, bytes]
    first: Mapping[str, bytes]

    @property
    def path(self) -> str:
        """The finding's own file."""
        return f"findings/{self.finding.id}.yaml"


def record(data: bytes) -> Recorded:
    """Make the records of one run. Raises JournalError for what is no journal, or one without an identified server."""
    told = told_by(read_journal(data))
    records: dict[str, dict[str, Any]] = {}
    recipes = {arm: _surroundings(told, arm, records) for arm in told.seen}
    pins = {path: _digest(item) for path, item in records.items()}
    finding_id = f"{told.day}-{told.plan.id}"
    artifacts = _artifacts(told, data)
    listed = [_listed(name, content, what) for name, (content, what) in artifacts.items()]
    for name, content, entry in results_of(told):
        listed.append(entry)
        if content is not None:
            artifacts[name] = (content, entry["title"])
    if "journal.jsonl" not in artifacts:
        listed.append(_private(data[: told.reading.size]))
    finding = finding_record(told, finding_id, recipes, listed, dict(sorted(pins.items())))
    files = {f"{path}.yaml": to_yaml(item, _HEAD) for path, item in records.items()}
    files |= {f"artifacts/{finding_id}/{name}": content for name, (content, _) in artifacts.items()}
    text = to_yaml(finding, _HEAD)
    files[f"findings/{finding_id}.yaml"] = text
    model = {f"models/{told.plan.subject}.yaml": to_yaml(model_record(told.plan))}
    parsed = _parsed(text, finding_id)
    if not isinstance(parsed, Finding):
        raise TypeError("a finding was written that is none")
    return Recorded(parsed, files, model)


def _surroundings(told: Told, arm: str, records: dict[str, dict[str, Any]]) -> str:
    """Add what an arm stands on to the records by path; gives the id of its recipe."""
    plan, server = told.plan, told.server(arm)
    declared = plan.declared_of(arm)
    identity = identity_record(plan.subject, declared, server)
    hardware = hardware_record(declared, told.host(arm), local=told.local(arm))
    on = (str(identity["id"]), str(hardware["id"]))
    side = plan.sides[arm]
    context, flags = side.context_tokens, flags_of(told, arm)
    recipe = recipe_record(plan.subject, declared, server, on, context, flags, arm=side.title)
    records |= {f"identities/{on[0]}": identity, f"hardware/{on[1]}": hardware, f"recipes/{recipe['id']}": recipe}
    return str(recipe["id"])


def told_by(reading: Reading) -> Told:
    """What the entries of a journal tell. Raises JournalError where too little is there for a finding."""
    head = reading.entries[0] if reading.entries else {}
    if head.get("event") != "plan" or head.get("schema") != SCHEMA:
        raise JournalError(f"line 1 of the journal does not head a run of {SCHEMA}")
    try:
        plan: Plan = plan_of(head["plan"])
    except ValidationError as error:
        raise JournalError(f"line 1 of the journal holds no valid plan: {error.error_count()} problems") from None
    if digest_of(head["plan"]) != head["plan_digest"]:
        raise JournalError("line 1 of the journal: the plan is not the one whose digest stands beside it")
    told = Told(plan, reading, head)
    if not told.state.identities:
        raise JournalError("the journal ends before the server was identified: there is nothing to record")
    return told


def published_journal(files: Mapping[str, bytes]) -> bytes:
    """A journal again from its published files by name; empty where there is none."""
    names = iter(map(journal_part, count(1)))
    return b"".join(files[name] for name in takewhile(files.__contains__, names))


def figures_of(journal: bytes) -> bytes:
    """The artifact of figures that follows from a journal. Raises JournalError."""
    return figures_json(told_by(read_journal(journal)))


def figures_json(told: Told) -> bytes:
    """Every computed figure by population and metric, with enough digits to see the rounding of the finding."""
    cells: dict[str, dict[str, dict[str, Any]]] = {}
    for spec, figures in told.figures:
        for figure in figures:
            cells.setdefault(spec.id, {}).setdefault(figure.key, {})[figure.statistic] = _figure(figure)
    found = {"plan_digest": told.head["plan_digest"], "journal_head": told.reading.head, "cells": cells}
    sided = [compared(told, planned) for planned in told.plan.comparisons or ()]
    if sided:
        found["comparisons"] = {one.planned.id: _sided(one) for one in sided}
    return _json(found)


def _figure(figure: Figure) -> dict[str, Any]:
    entry: dict[str, Any] = {"value": kept(figure.value), "unit": figure.unit, "n": figure.n}
    if figure.low is not None and figure.high is not None:
        entry["interval_95"] = [kept(figure.low), kept(figure.high)]
    if figure.over is not None:
        entry["over_starts"] = figure.over
    return entry


def _sided(one: Sided) -> dict[str, Any]:
    sides = {"candidate": one.candidate, "baseline": one.baseline}
    found: dict[str, Any] = {name: _figure(figure) for name, figure in sides.items() if figure is not None}
    if one.low is not None and one.high is not None:
        found["interval"] = [kept(one.low), kept(one.high)]
    return {**found, "unit": one.unit, "level": float(one.planned.level), "n": one.n, "method": one.method or None}


def _artifacts(told: Told, data: bytes) -> dict[str, tuple[bytes, str]]:
    whole = data[: told.reading.size]
    found = {"figures.json": (figures_json(told), "Figures computed from the samples")}
    if len(whole) <= MAX_JOURNAL and (parts := _in_parts(whole)):
        many = len(parts)
        return {
            journal_part(number): (part, _JOURNAL + (f", part {number} of {many}" if many > 1 else ""))
            for number, part in enumerate(parts, 1)
        } | found
    for spec in (each.published for each in told.instances):
        found |= _sample_files(spec.id, [_bare(entry) for entry in told.samples(spec.id)])
    return found


def _in_parts(journal: bytes) -> list[bytes]:
    """A journal in files that may be published, which make it again end to end; none where a line is too long."""
    parts, start, end = [], 0, 0
    for line in journal.splitlines(keepends=True):
        if len(line) > MAX_FILE:
            return []
        if end + len(line) - start > MAX_FILE:
            parts.append(journal[start:end])
            start = end
        end += len(line)
    return [*parts, journal[start:end]]


def journal_part(number: int) -> str:
    """The name of a file of a published journal: `journal.jsonl`, then `journal-2.jsonl` and so on."""
    return "journal.jsonl" if number == 1 else f"journal-{number}.jsonl"


def _sample_files(population: str, samples: list[dict[str, Any]]) -> dict[str, tuple[bytes, str]]:
    """The samples in one file; where that is too large without gaps between chunks, and then in several files."""
    whole = _json({"population": population, "samples": samples})
    if len(whole) <= MAX_FILE:
        return {f"samples-{population}.json": (whole, f"Samples of {population}")}
    short = [_without_gaps(entry) for entry in samples]
    for many in range(1, len(short) + 1):
        step = -(-len(short) // many)
        slices = [short[at : at + step] for at in range(0, len(short), step)]
        parts = [_json({"population": population, "samples": part}) for part in slices]
        if max(map(len, parts)) <= MAX_FILE:
            break
    title = f"Samples of {population}, without the gaps between chunks"
    return {
        f"samples-{population}{f'-{number}' if len(parts) > 1 else ''}.json": (content, title)
        for number, content in enumerate(parts, 1)
    }


def _bare(entry: Entry) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key not in {"n", "prev", "event", "population", "phase"}}


def _without_gaps(entry: Mapping[str, Any]) -> dict[str, Any]:
    timing = {key: value for key, value in entry.get("timing", {}).items() if key != "gaps_us"}
    return {**entry, "timing": timing} if timing else dict(entry)


def _listed(name: str, content: bytes, title: str) -> dict[str, Any]:
    kind = "application/jsonl" if name.endswith(".jsonl") else "application/json"
    stem = name.rpartition(".")[0]
    return {
        "id": f"file-{stem}",
        "title": title,
        "path": name,
        "bytes": len(content),
        "sha256": sha256_hex(content),
        "media_type": kind,
    }


def _private(data: bytes) -> dict[str, Any]:
    why = "Too large to publish; the operator keeps it, and the samples are published by population."
    listed = _listed("journal.jsonl", data, _JOURNAL)
    return {key: value for key, value in listed.items() if key != "path"} | {"private": why}


def _digest(item: Mapping[str, Any]) -> str:
    parsed = _parsed(to_yaml(item), str(item["id"]))
    return digest_of(parsed.model_dump(mode="json", by_alias=True, exclude_defaults=True))


def _parsed(text: bytes, name: str) -> Record:
    """Read back what was written: a record that the checks would refuse must not leave here."""
    document, problems = read_document(text, name)
    parsed = None
    if document is not None:
        parsed, problems = parse_record(document, name)
    if parsed is None:
        raise JournalError(f"the journal does not make a valid record: {'; '.join(map(str, problems[:3]))}")
    return parsed


def _json(data: Any) -> bytes:
    return (json.dumps(without_none(data), ensure_ascii=False, indent=1, sort_keys=False) + "\n").encode()
