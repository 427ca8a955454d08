"""`dossier diff`."""

from __future__ import annotations

import sys

import click

from dossier.catalog import Catalog, load_catalog
from dossier.catalog.history import record_at
from dossier.cli.project import find_evidence, key_of, open_cache
from dossier.derive.difference import differences
from dossier.errors import UsageError
from dossier.model.base import Record


@click.command()
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@click.option("--evidence", default="evidence", show_default=True, help="The evidence folder.")
def diff(before: str, after: str, evidence: str) -> None:
    """Show how two records differ in meaning, one field a line.

    A and B are ids (or `folder/id`), or a record as it was at a git ref: `ID@REF`. Comments and layout do not count;
    items are matched by id; two figures are shown with their difference. Exit status: 0 equal, 1 different.
    """
    found = find_evidence((evidence,))
    with open_cache(found.root) as cache:
        catalog = load_catalog(found.root, cache, found.shown)
    sides = _record(before, catalog), _record(after, catalog)
    if sides[0].FOLDER != sides[1].FOLDER:
        raise UsageError(f"a record of {sides[0].FOLDER}/ and one of {sides[1].FOLDER}/ have nothing to compare")
    changes = differences(*sides)
    for change in changes:
        click.echo(str(change))
    click.echo(f"{len(changes)} difference{'' if len(changes) == 1 else 's'}", err=True)
    sys.exit(bool(changes))


def _record(name: str, catalog: Catalog) -> Record:
    """The record that `ID`, `folder/ID` or `ID@REF` names."""
    wanted, at, ref = name.partition("@")
    if at:
        return record_at(wanted, ref, catalog)
    folder, id_ = key_of(wanted, catalog)
    record = catalog.record(folder, id_)
    if record is None:
        raise UsageError(f"{folder}/{id_} cannot be compared until `dossier check` finds no problem in it")
    return record
