"""`dossier decide`: a human's decision, into the finding that it rests on or into one that follows it."""

from __future__ import annotations

import sys
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import Any

import click

from dossier.catalog import Catalog, load_catalog
from dossier.catalog.pins import wanted_pins
from dossier.checks.run import load_checked
from dossier.cli.check import publications, show_problems
from dossier.cli.decision_text import decision_yaml, followed_by, with_decision
from dossier.cli.fixes import with_pins
from dossier.cli.project import Evidence, find_evidence, open_cache
from dossier.errors import Problem, Severity, UsageError
from dossier.files import read_bytes, write_bytes, write_text
from dossier.model.finding import Finding
from dossier.model.vocabulary import Outcome
from dossier.source import read_document


@click.command()
@click.argument("finding", metavar="ID")
@click.option("--outcome", required=True, type=click.Choice([outcome.value for outcome in Outcome]))
@click.option("--by", required=True, help="Who decides: a role or a name as it may be published.")
@click.option("--approval", is_flag=True, help="A human has approved this; a promotion and a waiver need it.")
@click.option("--recipe", help="The recipe that it is about; not for a waiver.")
@click.option("--rollback", help="With promote: the recipe to go back to at once.")
@click.option("--lane", "lanes", multiple=True, help="May be given several times; the model's only lane otherwise.")
@click.option("--model", help="Which model, where the finding has several.")
@click.option("--gate", help="With waive: the gate that is set aside.")
@click.option("--reason", help="Why; a waiver needs it.")
@click.option("--id", "id_", help="The decision's id; made from the outcome otherwise.")
@click.option("--date", "day", metavar="YYYY-MM-DD", help="The day of the decision, UTC; today otherwise.")
@click.option(
    "--base", metavar="REF", help="What was published: the evidence at a git ref. HEAD where neither this nor the next."
)
@click.option("--published", type=click.Path(path_type=Path, exists=True), help="The same: an index or a folder.")
@click.option("--evidence", default="evidence", show_default=True, help="The evidence folder.")
def decide(
    *, finding: str, day: str | None, base: str | None, published: Path | None, evidence: str, id_: str | None,
    **given: Any,
) -> None:  # fmt: skip
    """Write a decision on the finding ID, and check it.

    It goes into the finding itself while that is not published and the decision is of its day. Else a new dated
    finding, which follows it, holds the decision. Nothing is written that `dossier check` refuses.
    Exit status: 0 written, 1 refused by the checks, 2 usage or I/O.
    """
    place = find_evidence((evidence,))
    catalog, before = _checked(place)
    about = catalog.finding(finding)
    if about is None:
        raise UsageError(f"{finding}: there is no such finding that can be read; run `dossier check {place.shown}`")
    when = _day(day)
    if when < about.date:
        raise UsageError(f"--date {when} is before the finding of {about.date} that it rests on")
    follow = when > about.date or _published(catalog, about.id, base, published)
    decision = _decision(about, catalog, {**given, "id": id_}, follow=follow)
    if follow:
        name = f"{when}-{decision['id']}-{about.id[11:]}"
        file = catalog.evidence / Finding.FOLDER / f"{name}.yaml"
        if file.exists():
            raise UsageError(f"{place.shown}/findings/{name}.yaml is there already; give another --id")
        text = followed_by(about, decision, name, when)
    else:
        file = catalog.entries[Finding.FOLDER, about.id].found.file
        text = _edited(file, decision)
    sys.exit(_keep(place, file, text, before))


def _day(given: str | None) -> date:
    try:
        return date.fromisoformat(given) if given else datetime.now(UTC).date()
    except ValueError as error:
        raise UsageError(f"--date {given!r} is not a date; write YYYY-MM-DD") from error


def _checked(place: Evidence) -> tuple[Catalog, list[Problem]]:
    with open_cache(place.root) as cache:
        return load_checked(partial(load_catalog, place.root, cache, place.shown, digests=True), cache)


def _published(catalog: Catalog, id_: str, base: str | None, published: Path | None) -> bool:
    """Is the finding published? By the options; else what is committed is."""
    if base is None and published is None:
        base = "HEAD" if _under_git(catalog.evidence) else None
    return any((Finding.FOLDER, id_) in place.digests for place in publications(catalog, base, published))


def _under_git(folder: Path) -> bool:
    return any((parent / ".git").exists() for parent in (folder.resolve(), *folder.resolve().parents))


def _decision(about: Finding, catalog: Catalog, given: dict[str, Any], *, follow: bool) -> dict[str, Any]:
    """The decision as the record has it; UsageError where an option lacks, or goes with another outcome."""
    outcome = Outcome(given["outcome"])
    waives = outcome is Outcome.WAIVE
    for name, needed in (("recipe", not waives), ("gate", waives), ("reason", waives)):
        if needed and not given[name]:
            raise UsageError(f"{outcome} needs --{name}{_choices(about, name)}")
    unfit = ("recipe", "lanes", "rollback", "model") if waives else ("gate",)
    for name in (name for name in unfit if given[name]):
        raise UsageError(f"--{name.rstrip('s')} does not go with {outcome}")
    if outcome in {Outcome.PROMOTE, Outcome.WAIVE} and not given["approval"]:
        raise UsageError(f"{outcome} is a human's: give --approval if one has approved it")
    whole = {
        "id": given["id"] or _free(f"waive-{given['gate'].rpartition('#')[2]}" if waives else outcome.value, about),
        "outcome": outcome.value,
        "lanes": [] if waives else list(given["lanes"]) or _lane(about, catalog, given["model"]),
        "model": given["model"],
        "recipe": given["recipe"],
        "rollback": given["rollback"],
        "gate": _gate(about, given["gate"], follow=follow) if waives else None,
        "human_approval": True if given["approval"] else None,
        "by": given["by"],
        "reason": given["reason"],
        "evidence": [about.id] if follow and not waives else [],
    }
    return {name: value for name, value in whole.items() if value not in (None, [])}


def _choices(about: Finding, name: str) -> str:
    found: list[str] = []
    if name == "recipe":
        found = [f"{arm.recipe} (arm {key})" for key, arm in about.arms.items() if isinstance(arm.recipe, str)]
    elif name == "gate":
        found = [gate.id for gate in about.gates]
    return f", one of: {', '.join(found)}" if found else ""


def _free(wanted: str, about: Finding) -> str:
    taken, number, name = set(about.parts), 1, wanted
    while name in taken:
        number += 1
        name = f"{wanted}-{number}"
    return name


def _lane(about: Finding, catalog: Catalog, model: str | None) -> list[str]:
    subject = catalog.subject(model or about.models[0])
    lanes = [lane.id for lane in subject.lanes] if subject is not None else []
    if len(lanes) != 1:
        raise UsageError(f"give --lane, one or several of: {', '.join(lanes) or 'the lanes of the model'}")
    return lanes


def _gate(about: Finding, gate: str, *, follow: bool) -> str:
    finding, _, name = gate.rpartition("#")
    if finding not in {"", about.id} or name not in {one.id for one in about.gates}:
        raise UsageError(f"--gate {gate!r}: {about.id} has no such gate{_choices(about, 'gate')}")
    return f"{about.id}#{name}" if follow else name


def _edited(file: Path, decision: dict[str, Any]) -> str:
    before = read_bytes(file).decode("utf-8")
    after = with_decision(before, decision)
    data, wanted = (read_document(text, file.name)[0] for text in (after or before, before))
    listed = [*((wanted.data.get("decisions") or []) if wanted else []), _as_read(decision)]
    if data is None or wanted is None or data.data != {**wanted.data, "decisions": listed}:
        raise UsageError(
            f"{file.name}: `decisions` cannot be edited safely in the form it is written in; write there yourself:\n"
            f"{decision_yaml(decision)}"
        )
    return after or before


def _as_read(decision: dict[str, Any]) -> Any:
    document, _ = read_document(f"decisions:\n{decision_yaml(decision)}", "")
    return document.data["decisions"][0] if document is not None else None


def _keep(place: Evidence, file: Path, text: str, before: list[Problem]) -> bool:
    """Write and check; where the checks refuse it, all is again as it was. True where it was refused."""
    old = read_bytes(file) if file.exists() else None
    kept = False
    write_text(file, text)
    try:
        catalog, found = _checked(place)
        finding = catalog.finding(file.stem)
        pins = wanted_pins(finding, catalog) if finding is not None else {}
        if finding is not None and pins != finding.pins and pins.items() >= finding.pins.items():
            write_text(file, with_pins(text, pins))
            catalog, found = _checked(place)
        known = {(p.path, p.rule, p.message) for p in before}
        new = sorted(p for p in found if (p.path, p.rule, p.message) not in known)
        kept = not any(problem.severity is Severity.ERROR for problem in new)
    finally:
        if not kept and old is not None:
            write_bytes(file, old)
        elif not kept:
            file.unlink(missing_ok=True)
    if new:
        show_problems(new, len(catalog.entries) + len(catalog.broken))
    shown = f"{place.shown}/{Finding.FOLDER}/{file.name}"
    click.echo(shown if kept else f"{shown}: not written, the checks refuse it", err=not kept)
    return not kept
