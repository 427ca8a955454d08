"""`dossier schema`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from dossier.errors import UsageError
from dossier.files import write_text
from dossier.model.json_schema import KINDS, schema_of


@click.command()
@click.argument("kind", required=False)
@click.option("--write", "folder", type=click.Path(path_type=Path), help="Write KIND.json of every kind into a folder.")
def schema(kind: str | None, folder: Path | None) -> None:
    """Print the JSON Schema of a KIND of record, or the list of kinds.

    Editors complete and check evidence files by these schemas; `dossier init` sets that up.
    """
    if kind is not None and kind not in KINDS:
        raise UsageError(f"{kind!r} is no kind of record; there are {', '.join(sorted(KINDS))}")
    wanted = [kind] if kind is not None else sorted(KINDS)
    if folder is not None:
        write_schemas(folder, wanted)
    else:
        click.echo(schema_text(kind) if kind is not None else "\n".join(wanted), nl=kind is None)


def schema_text(kind: str) -> str:
    """The schema of a kind of record as JSON text."""
    return json.dumps(schema_of(KINDS[kind]), indent=2, ensure_ascii=False) + "\n"


def write_schemas(folder: Path, kinds: list[str]) -> None:
    """Write `<kind>.json` into a folder, which is made where there is none."""
    for kind in kinds:
        write_text(folder / f"{kind}.json", schema_text(kind))
