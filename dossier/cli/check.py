"""`dossier check`."""

from __future__ import annotations

import sys

import click

from dossier.catalog import load_catalog
from dossier.checks.run import check_catalog
from dossier.cli.project import find_evidence, open_cache
from dossier.errors import Problem, Severity


@click.command()
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("--no-cache", is_flag=True, help="Read and check every file anew.")
def check(paths: tuple[str, ...], *, no_cache: bool) -> None:
    """Check the evidence in PATHS (default: `evidence`) and say all problems at once.

    Each problem is a line `path:line:column: rule: message`. Exit status: 0 clean (warnings allowed),
    1 problems, 2 usage or I/O.
    """
    evidence = find_evidence(paths)
    with open_cache(evidence.root, use=not no_cache) as cache:
        catalog = load_catalog(evidence.root, cache, evidence.shown)
        problems = [p for p in check_catalog(catalog, cache) if evidence.concerns(p)]
    show_problems(problems, len(catalog.entries) + len(catalog.broken))
    sys.exit(any(p.severity is Severity.ERROR for p in problems))


def show_problems(problems: list[Problem], records: int) -> None:
    """Problems one a line on standard output, and a last line that counts them on standard error."""
    for problem in problems:
        click.echo(str(problem))
    errors = sum(p.severity is Severity.ERROR for p in problems)
    warnings = len(problems) - errors
    parts = [_many(errors, "problem"), *([_many(warnings, "warning")] if warnings else [])]
    click.echo(f"{', '.join(parts)} in {_many(records, 'record')}", err=True)


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
