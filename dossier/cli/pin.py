"""`dossier pin`: write into findings the digests of what they rest on."""

from __future__ import annotations

from typing import Any

import click

from dossier.catalog import Catalog, load_catalog
from dossier.catalog.pins import wanted_pins
from dossier.cli.fixes import with_pins
from dossier.cli.project import find_evidence, open_cache
from dossier.errors import UsageError
from dossier.files import read_bytes, write_text
from dossier.model.finding import Finding
from dossier.source import read_document


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path())
def pin(paths: tuple[str, ...]) -> None:
    """Write `pins` into the findings in PATHS: the digest of every recipe, identity and hardware they use.

    Only for findings that are not published yet: a published one keeps the pins it has.
    """
    evidence = find_evidence(paths)
    with open_cache(evidence.root) as cache:
        catalog = load_catalog(evidence.root, cache, evidence.shown)
    changed = 0
    for summary in catalog.dated:
        if evidence.covers(summary.path) and _pin_one(catalog, summary.id):
            changed += 1
            click.echo(f"{summary.path}: pins written")
    if catalog.broken:
        count = len(catalog.broken)
        raise UsageError(f"{count} files could not be read; run `dossier check {evidence.shown}`, then pin again")
    click.echo(f"{changed} changed", err=True)


def _pin_one(catalog: Catalog, id_: str) -> bool:
    finding = catalog.finding(id_)
    if finding is None:
        return False
    pins = wanted_pins(finding, catalog)
    if pins == finding.pins:
        return False
    file = catalog.entries[Finding.FOLDER, id_].found.file
    before = read_bytes(file).decode("utf-8")
    after = with_pins(before, pins)
    if _data(after) != {**(_data(before) or {}), "pins": pins}:
        told = "".join(f"\n  {key}: {digest}" for key, digest in pins.items())
        raise UsageError(
            f"{file.name}: cannot be edited safely in the form it is written in; write there yourself:\npins:{told}"
        )
    write_text(file, after)
    return True


def _data(text: str) -> dict[str, Any] | None:
    document, _ = read_document(text, "")
    return document.data if document is not None else None
