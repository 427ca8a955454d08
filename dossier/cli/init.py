"""`dossier init`: a new evidence repository."""

from __future__ import annotations

from pathlib import Path

import click

from dossier import __version__
from dossier.cli.schema import schema_text
from dossier.errors import UsageError
from dossier.files import write_text
from dossier.model.json_schema import KINDS
from dossier.model.parse import FOLDERS
from dossier.scaffold import project_files, scalar

_NEXT = """Next, in {folder}:

    git init && git add . && git commit -m "Begin"
    dossier new model
    dossier new finding
    dossier check
"""


@click.command()
@click.argument("folder", default=".", type=click.Path(path_type=Path, file_okay=False))
@click.option("--name", help="The name of the site; the folder's own name otherwise.")
def init(folder: Path, name: str | None) -> None:
    """Begin an evidence repository in FOLDER: settings, folders, schemas, workflow, hooks and editor settings.

    Nothing that is there already is overwritten.
    """
    answers = {"name": scalar(name or folder.resolve().name), "version": __version__}
    files = dict(project_files(answers))
    files |= {f"schemas/{kind}.json": schema_text(kind) for kind in KINDS}
    files |= {f"evidence/{records}/.gitkeep": "" for records in (*FOLDERS, "artifacts")}
    taken = [path for path in sorted(files) if (folder / path).exists()]
    if taken:
        raise UsageError(
            f"{', '.join(taken[:5])}{' ...' if len(taken) > 5 else ''}: already here; choose another folder"
        )
    for path, text in files.items():
        write_text(folder / path, text)
    click.echo(f"{len(files)} files written in {folder}")
    click.echo(_NEXT.format(folder=folder), err=True)
