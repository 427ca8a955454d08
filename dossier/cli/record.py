"""`dossier record`: the finding of a journal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from dossier.catalog import load_catalog
from dossier.checks.run import load_checked
from dossier.cli.check import show_problems
from dossier.cli.project import find_evidence, open_cache
from dossier.errors import Severity
from dossier.files import read_bytes
from dossier.runner.record import Recorded
from dossier.runner.record import record as make
from dossier.runner.store import store


@click.command()
@click.argument("journal", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option(
    "--evidence",
    default="evidence",
    show_default=True,
    type=click.Path(path_type=Path),
    help="Where the records go; made where it is not.",
)
def record(journal: tuple[Path, ...], evidence: Path) -> None:
    """Make the finding of the run in JOURNAL, with its artifacts and the records that it rests on.

    A journal that was published in several files is given as all of them, in their order.
    The same journal gives the same bytes, anywhere and without a network. What is there already is never changed.
    Exit status: 0 where `dossier check` finds nothing, 1 where it does.
    """
    recorded, problems = keep(journal, evidence)
    click.echo(f"{evidence / recorded.path}", err=True)
    sys.exit(problems)


def keep(journal: Sequence[Path], evidence: Path) -> tuple[Recorded, bool]:
    """Record a journal and check what was written; says the problems, and whether there are any."""
    recorded = make(b"".join(map(read_bytes, journal)))
    written = store(recorded, evidence)
    found = find_evidence([str(path) for path in written if path.suffix == ".yaml"])
    with open_cache(found.root) as cache:
        catalog, every = load_checked(partial(load_catalog, found.root, cache, found.shown), cache)
        problems = [problem for problem in every if found.concerns(problem)]
    if problems:
        show_problems(sorted(problems), len(catalog.entries) + len(catalog.broken))
    return recorded, any(problem.severity is Severity.ERROR for problem in problems)
