"""`dossier new`: a new record that is valid at once, with comments that say what each field wants."""

from __future__ import annotations

import mimetypes
import shutil
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import click

from dossier.catalog import Catalog, load_catalog
from dossier.cli.project import find_evidence, open_cache
from dossier.digest import file_digest
from dossier.errors import StorageError, UsageError
from dossier.files import write_text
from dossier.model.finding import Finding
from dossier.model.parse import FOLDERS, parse_record
from dossier.model.vocabulary import Kind, Provenance
from dossier.scaffold import record_text, scalar, slug
from dossier.source import read_document

_UNKNOWN = "Not written down yet."
_CORRECTIONS = {"erratum": Kind.ERRATUM, "addendum": Kind.ADDENDUM, "withdrawal": Kind.WITHDRAWAL}
_KINDS = [kind.value for kind in Kind if kind not in _CORRECTIONS.values()]
_PROVENANCES = [
    p.value for p in (Provenance.TRANSCRIBED, Provenance.RETAINED, Provenance.REPORTED, Provenance.EXTERNAL_PRIOR)
]

_evidence = click.option("--evidence", default="evidence", show_default=True, help="The evidence folder.")
_title = click.option("--title", help="A few words for a reader.")
_id = click.option("--id", "id_", help="The record's id and file name; made from the title otherwise.")
_date = click.option("--date", "day", metavar="YYYY-MM-DD", help="The day of the finding, UTC; today otherwise.")
_summary = click.option("--summary", help="One or two sentences: what was done and what came out.")
_model = click.option("--model", help="The id of a model.")


@click.group()
def new() -> None:
    """Write a new record, valid at once: asks on a terminal, takes options elsewhere."""


def _ask(given: str | None, option: str, question: str, default: str = "", choices: Sequence[str] = ()) -> str:
    """The option; else what a person answers; else the default. UsageError where none of the three is there."""
    if given is None and sys.stdin.isatty():
        kind = click.Choice(list(choices)) if choices else None
        given = str(click.prompt(question, default=default or None, type=kind))
    found = (given if given is not None else default).strip()
    if not found:
        raise UsageError(f"{question} is needed: give {option}")
    if choices and found not in choices:
        raise UsageError(f"{option} {found!r}: there are {', '.join(choices)}")
    return found


def _catalog(evidence: str) -> Catalog:
    found = find_evidence((evidence,))
    with open_cache(found.root) as cache:
        return load_catalog(found.root, cache, found.shown)


def _one_of(given: str | None, folder: str, catalog: Catalog) -> str:
    """The id of a record of a folder: the one that is named, or the only one, or the one that a person picks."""
    kind = FOLDERS[folder].SCHEMA.split("/")[1]
    ids = catalog.ids(folder)
    if not ids:
        raise UsageError(f"there is no {kind} yet; run `dossier new {kind}` first")
    return _ask(given, f"--{kind}", kind.capitalize(), ids[0] if len(ids) == 1 else "", ids)


def _day(given: str | None, least: date | None = None) -> date:
    try:
        day = date.fromisoformat(given) if given else datetime.now(UTC).date()
    except ValueError as error:
        raise UsageError(f"--date {given!r} is not a date; write YYYY-MM-DD") from error
    return day if least is None or given else max(day, least)


def _write(catalog: Catalog, folder: str, id_: str, template: str, answers: dict[str, str]) -> None:
    """Write a record from its template, if it is valid; never over another."""
    file, shown = catalog.evidence / folder / f"{id_}.yaml", f"{catalog.shown}/{folder}/{id_}.yaml"
    text = record_text(template, {"id": id_, **answers})
    document, problems = read_document(text, shown)
    if document is not None:
        problems = problems + parse_record(document, shown)[1]
    if problems:
        raise UsageError("nothing was written: " + "; ".join(problem.message for problem in problems))
    if catalog.exists(folder, id_) or file.exists():
        raise UsageError(f"{shown} is there already; choose another --id or --title")
    write_text(file, text)
    click.echo(shown)
    click.echo("Open it, fill in what you know, then run `dossier check`.", err=True)


def _named(id_: str | None, title: str, day: date | None = None) -> str:
    """The id: as given, or made of the day and the title."""
    found = id_ or slug(title)
    if not found:
        raise UsageError(f"no id can be made of {title!r}; give --id")
    return found if day is None or found.startswith(f"{day}-") else f"{day}-{found}"


@new.command()
@_title
@_summary
@_model
@_date
@click.option("--kind", help=f"One of: {', '.join(_KINDS)}.")
@click.option("--provenance", help=f"One of: {', '.join(_PROVENANCES)}.")
@click.option("--recipe", help="The id of the recipe that was measured.")
@click.option("--artifact", "artifacts", multiple=True, type=click.Path(path_type=Path, exists=True, dir_okay=False),
              help="A raw file to keep beside the finding; may be given several times.")  # fmt: skip
@_id
@_evidence
def finding(
    *, title: str | None, summary: str | None, model: str | None, day: str | None, evidence: str, id_: str | None,
    artifacts: tuple[Path, ...], **options: str | None,
) -> None:  # fmt: skip
    """Write a new finding, still open, with every section as a comment to be taken in."""
    catalog = _catalog(evidence)
    subject = _one_of(model, "models", catalog)
    title = _ask(title, "--title", "Title")
    when = _day(day)
    name = _named(id_, title, when)
    kind = Kind(_ask(options["kind"], "--kind", "Kind", Kind.QUALIFICATION, _KINDS))
    usual = Provenance.RETAINED if artifacts else Provenance.TRANSCRIBED
    provenance = Provenance(_ask(options["provenance"], "--provenance", "Provenance", usual, _PROVENANCES))
    if provenance is Provenance.RETAINED and not artifacts:
        artifacts = (_existing(_ask(None, "--artifact", "A raw file that the figures come from")),)
    summary = _ask(summary, "--summary", "Summary", f"{title.rstrip('.')}.")
    recipe = options["recipe"]
    if recipe is not None and not catalog.exists("recipes", recipe):
        raise UsageError(f"--recipe {recipe!r}: there is no such recipe; `dossier new recipe` writes one")
    sections = _kept(catalog, name, artifacts)
    arms = f"arms:\n  candidate: {{recipe: {recipe or _likely(catalog)}}}"
    if recipe is None:
        arms = "\n".join(f"# {line}" for line in arms.split("\n"))
    lanes = catalog.subject(subject)
    answers = {
        "title": scalar(title), "summary": scalar(summary), "model": subject, "date": when.isoformat(),
        "kind": kind.value, "kind_meaning": kind.meaning, "provenance": provenance.value,
        "provenance_meaning": provenance.meaning, "sections": "\n".join(sections),
        "lane": lanes.lanes[0].id if lanes is not None else "text", "recipe": recipe or _likely(catalog),
        "arms": f"## What was measured: `dossier new recipe` writes the recipe that an arm names.\n{arms}\n#",
    }  # fmt: skip
    _write(catalog, Finding.FOLDER, name, "finding", answers)
    _copy(catalog, name, artifacts)


def _likely(catalog: Catalog) -> str:
    """The recipe for the examples: the only one that there is."""
    ids = catalog.ids("recipes")
    return ids[0] if len(ids) == 1 else "the-recipe"


def _existing(path: str) -> Path:
    if not Path(path).is_file():
        raise UsageError(f"{path}: no such file")
    return Path(path)


def _kept(catalog: Catalog, finding_id: str, artifacts: Sequence[Path]) -> list[str]:
    """The `artifacts` section of a finding that keeps these files."""
    names = [path.name for path in artifacts]
    if len({name.casefold() for name in names}) < len(names):
        raise UsageError("two artifacts have one name; rename one")
    rows = []
    for path in artifacts:
        digest, size = file_digest(path)
        media = mimetypes.guess_type(path.name)[0]
        told = f", media_type: {media}" if media else ""
        id_ = slug(path.stem) or "artifact"
        rows.append(f"  - {{id: {id_}, path: {scalar(path.name)}, bytes: {size}, sha256: {digest}{told}}}")
    if (catalog.evidence / "artifacts" / finding_id).exists() and rows:
        raise UsageError(f"{catalog.shown}/artifacts/{finding_id} is there already; choose another --id")
    return ["\n".join(["artifacts:", *rows])] if rows else []


def _copy(catalog: Catalog, finding_id: str, artifacts: Sequence[Path]) -> None:
    folder = catalog.evidence / "artifacts" / finding_id
    try:
        for path in artifacts:
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / path.name)
    except OSError as error:
        raise StorageError(f"cannot copy into {folder}: {error.strerror}") from error


@new.command()
@click.option("--title", help="The model's name, as its makers write it.")
@click.option("--scope", help="What the dossier covers, in a sentence.")
@_id
@_evidence
def model(title: str | None, scope: str | None, id_: str | None, evidence: str) -> None:
    """Write a new model, the subject of a dossier."""
    catalog = _catalog(evidence)
    title = _ask(title, "--title", "Name of the model")
    scope = _ask(scope, "--scope", "Scope", f"{title} on the hardware at hand.")
    _write(catalog, "models", _named(id_, title), "model", {"title": scalar(title), "summary": scalar(scope)})


@new.command()
@_title
@_id
@_evidence
def identity(title: str | None, id_: str | None, evidence: str) -> None:
    """Write a new identity: every pin of what is served."""
    title = _ask(title, "--title", "Title, such as model, engine and quantisation")
    answers = {"title": scalar(title), "unknown": _UNKNOWN}
    _write(_catalog(evidence), "identities", _named(id_, title), "identity", answers)


@new.command()
@_title
@click.option("--gpu", help="The name of the card.")
@click.option("--count", help="How many of them.")
@_id
@_evidence
def hardware(title: str | None, gpu: str | None, count: str | None, id_: str | None, evidence: str) -> None:
    """Write a new machine."""
    catalog = _catalog(evidence)
    title = _ask(title, "--title", "Title of the machine")
    gpu = _ask(gpu, "--gpu", "Name of its GPU")
    count = _ask(count, "--count", "How many of them", "1")
    if not (count.isascii() and count.isdigit() and not count.startswith("0")):
        raise UsageError(f"--count {count!r} is not a whole number above 0")
    answers = {"title": scalar(title), "gpu": scalar(gpu), "count": count}
    _write(catalog, "hardware", _named(id_, title), "hardware", answers)


@new.command()
@_title
@_model
@click.option("--identity", help="The id of an identity.")
@click.option("--hardware", help="The id of a machine.")
@_id
@_evidence
def recipe(title: str | None, model: str | None, evidence: str, id_: str | None, **options: str | None) -> None:
    """Write a new recipe: an identity on a machine, with its settings."""
    catalog = _catalog(evidence)
    answers = {
        "model": _one_of(model, "models", catalog),
        "identity": _one_of(options["identity"], "identities", catalog),
        "hardware": _one_of(options["hardware"], "hardware", catalog),
    }
    title = _ask(title, "--title", "Title, such as engine, quantisation and context")
    _write(catalog, "recipes", _named(id_, title), "recipe", {"title": scalar(title), **answers})


def _correction(kind: str) -> Callable[..., None]:
    """The command that writes an erratum, an addendum or a withdrawal."""

    @click.option("--for", "target", required=True, metavar="ID", help="The finding that it is about.")
    @_title
    @_summary
    @click.option("--by", help="Who takes it back; for a withdrawal.")
    @_date
    @_id
    @_evidence
    def command(target: str, title: str | None, day: str | None, evidence: str, **options: Any) -> None:
        catalog = _catalog(evidence)
        about = catalog.finding(target)
        if about is None:
            raise UsageError(f"--for {target!r}: there is no such finding")
        title = _ask(title, "--title", "Title", f"{kind.capitalize()}: {about.title}")
        when = _day(day, about.date)
        answers = {
            "title": scalar(title), "date": when.isoformat(), "model": ", ".join(about.models),
            "provenance": Provenance.TRANSCRIBED.value, "target": target,
            "summary": scalar(_ask(options["summary"], "--summary", "What was wrong, or is added")),
        }  # fmt: skip
        if kind == "withdrawal":
            answers["by"] = scalar(_ask(options["by"], "--by", "Who takes it back"))
        name = _named(options["id_"] or f"{kind}-{target[11:] or target}", title, when)
        _write(catalog, Finding.FOLDER, name, kind, answers)

    command.__doc__ = f"Write a new {kind} for a published finding, which stays as it was."
    return command


for _kind in _CORRECTIONS:
    new.command(_kind)(_correction(_kind))
