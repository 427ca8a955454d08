"""`dossier pin`: write into findings the digests of what they rest on."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import click

from dossier.catalog import Catalog, load_catalog
from dossier.catalog.pins import wanted_pins
from dossier.cli.project import find_evidence, open_cache
from dossier.errors import StorageError, UsageError
from dossier.model.finding import Finding


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
        shown = summary.path
        if evidence.only and not any(shown == p or shown.startswith(f"{p}/") for p in evidence.only):
            continue
        if _pin_one(catalog, summary.id):
            changed += 1
            click.echo(f"{shown}: pins written")
    if catalog.problems:
        count = len(catalog.broken)
        raise UsageError(f"{count} files could not be read; run `dossier check {evidence.shown}`, then pin again")
    click.echo(f"{changed} changed", err=True)
    sys.exit(0)


def _pin_one(catalog: Catalog, id_: str) -> bool:
    finding = catalog.finding(id_)
    if finding is None:
        return False
    pins = wanted_pins(finding, catalog)
    if pins == finding.pins:
        return False
    file = catalog.entries[Finding.FOLDER, id_].found.file
    write_text(file, with_pins(file.read_text("utf-8"), pins))
    return True


def with_pins(text: str, pins: dict[str, str]) -> str:
    """The YAML text with its `pins` replaced; comments, order and layout of the rest stay."""
    lines = text.splitlines(keepends=True)
    start = next((n for n, line in enumerate(lines) if line.startswith("pins:")), None)
    if start is not None:
        end = next((n for n in range(start + 1, len(lines)) if not lines[n].startswith((" ", "\n", "#"))), len(lines))
        del lines[start:end]
    block = "".join(f"  {key}: {digest}\n" for key, digest in pins.items())
    body = "".join(lines).rstrip("\n")
    return f"{body}\n\npins:\n{block}" if pins else f"{body}\n"


def write_text(file: Path, text: str) -> None:
    """Replace a file in one step: a reader sees the old text or the new one."""
    try:
        with tempfile.NamedTemporaryFile("w", dir=file.parent, prefix=".pin-", delete=False, encoding="utf-8") as new:
            new.write(text)
        Path(new.name).chmod(file.stat().st_mode & 0o777)
        os.replace(new.name, file)  # noqa: PTH105  (atomic on every system)
    except OSError as error:
        raise StorageError(f"cannot write {file}: {error.strerror}") from error
