"""`dossier check`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dossier.cache import Cache
from dossier.catalog import Catalog, load_catalog
from dossier.checks.run import load_checked
from dossier.cli.project import Evidence, find_evidence, open_cache
from dossier.cli.reporters import REPORTERS
from dossier.errors import Problem, Severity
from dossier.model.finding import Finding

if TYPE_CHECKING:
    from dossier.catalog.history import Publication


@click.command()
@click.argument("paths", nargs=-1, type=click.Path())
@click.option(
    "--base", metavar="REF", help="Also refuse changes to what was published at a git ref, such as origin/main."
)
@click.option(
    "--published", type=click.Path(path_type=Path, exists=True), help="The same, against an index or a folder."
)
@click.option(
    "--fix", is_flag=True, help="First write what has one right answer: quotes, pins, digests and sizes of artifacts."
)
@click.option("--format", "style", type=click.Choice(sorted(REPORTERS)), default="text", show_default=True)
@click.option("--no-cache", is_flag=True, help="Read and check every file anew.")
def check(
    paths: tuple[str, ...], base: str | None, published: Path | None, style: str, *, fix: bool, no_cache: bool
) -> None:
    """Check the evidence in PATHS (default: `evidence`) and say all problems at once.

    Each problem is a line `path:line:column: rule: message`; `dossier explain RULE` says more. Exit status: 0 clean
    (warnings allowed), 1 problems, 2 usage or I/O.
    """
    evidence = find_evidence(paths)
    with open_cache(evidence.root, use=not no_cache) as cache:
        if fix:
            catalog = load_catalog(evidence.root, cache, evidence.shown)
            _fix(catalog, evidence, cache, publications(catalog, base, published))
        load = partial(load_catalog, evidence.root, cache, evidence.shown, digests=bool(base or published))
        catalog, found = load_checked(load, cache)
        found += _immutability(catalog, publications(catalog, base, published))
    problems = sorted(p for p in found if evidence.concerns(p))
    click.echo(REPORTERS[style](problems), nl=False)
    click.echo(tally(problems, len(catalog.entries) + len(catalog.broken)), err=True)
    sys.exit(any(p.severity is Severity.ERROR for p in problems))


def publications(catalog: Catalog, base: str | None, published: Path | None) -> list[Publication]:
    """What was published, by the options that name where to look."""
    from dossier.catalog.history import published_at, published_in  # noqa: PLC0415  (only these options pay for it)

    places = [published_at(base, catalog)] if base is not None else []
    return places + ([published_in(published)] if published is not None else [])


def _immutability(catalog: Catalog, places: Sequence[Publication]) -> list[Problem]:
    from dossier.checks.published import check_published  # noqa: PLC0415

    return [problem for place in places for problem in check_published(catalog, place)]


def _fix(catalog: Catalog, evidence: Evidence, cache: Cache, places: Sequence[Publication]) -> None:
    """Write what has one right answer into what is not published, and say what was written."""
    from dossier.cli.fixes import fix_findings, fix_sources  # noqa: PLC0415

    known = {id_ for place in places for folder, id_ in place.digests if folder == Finding.FOLDER} if places else None
    done = list(fix_sources(catalog, evidence.covers, known))
    catalog = load_catalog(evidence.root, cache, evidence.shown) if done else catalog
    for _ in range(2):  # a digest that was missing keeps the finding from being read, and so from being pinned
        fixed = list(fix_findings(catalog, evidence.covers, known))
        done += fixed
        catalog = load_catalog(evidence.root, cache, evidence.shown) if fixed else catalog
    for path, what in done:
        click.echo(f"{path}: {what}", err=True)


def show_problems(problems: Sequence[Problem], records: int) -> None:
    """Problems one a line on standard output, and a last line that counts them on standard error."""
    click.echo(REPORTERS["text"](problems), nl=False)
    click.echo(tally(problems, records), err=True)


def tally(problems: Sequence[Problem], records: int) -> str:
    """The line that counts: `2 problems, 1 warning in 40 records`."""
    errors = sum(p.severity is Severity.ERROR for p in problems)
    warnings = len(problems) - errors
    parts = [_many(errors, "problem"), *([_many(warnings, "warning")] if warnings else [])]
    return f"{', '.join(parts)} in {_many(records, 'record')}"


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
