"""Put a finished site in the place of the old one, in one step.

A reader, or a server that serves the folder, sees the old tree or the new one, never half of each.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
from pathlib import Path

from dossier.errors import StorageError, UsageError

MARKER = ".dossier-site"
"""A file at the top of every site that dossier made; a folder with other content is never replaced."""

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def swap(finished: Path, target: Path) -> None:
    """Move the finished tree to the target; what stood there is removed.

    Raises `UsageError` when the target holds files but was not made by dossier, `StorageError` when the file
    system refuses; the old site then still stands.
    """
    _refuse_foreign(target)
    stage = target.with_name(f".{target.name}.swap-{os.getpid()}")
    try:
        (finished / MARKER).write_text("Made by dossier; replaced as a whole at the next build.\n", "utf-8")
        target.parent.mkdir(parents=True, exist_ok=True)
        _move(finished, stage)
        _replace(stage, target)
    except OSError as error:
        raise StorageError(f"{target}: the new site could not be put in place: {error.strerror}") from error
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _refuse_foreign(target: Path) -> None:
    if not target.exists() or (target / MARKER).is_file():
        return
    if not target.is_dir() or any(target.iterdir()):
        raise UsageError(f"{target}: not a site that dossier made; choose an empty folder or remove it first")


def _move(source: Path, destination: Path) -> None:
    """Rename, or copy where the two lie on different file systems."""
    try:
        source.rename(destination)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        shutil.copytree(source, destination)
        shutil.rmtree(source)


def _replace(stage: Path, target: Path) -> None:
    if not target.exists():
        stage.rename(target)
    elif not _exchange(stage, target):
        _exchange_by_renames(stage, target)


def _exchange(one: Path, other: Path) -> bool:
    """Let two folders change places atomically; False where the system cannot."""
    renameat2 = getattr(ctypes.CDLL(None), "renameat2", None)
    if renameat2 is None:
        return False
    names = (os.fsencode(one), os.fsencode(other))
    return bool(renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0)


def _exchange_by_renames(stage: Path, target: Path) -> None:
    """Two renames: between them the target is missing for an instant, and comes back if the second fails."""
    old = stage.with_name(stage.name + "-old")
    target.rename(old)
    try:
        stage.rename(target)
    except OSError:
        old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)
