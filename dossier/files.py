"""Whole files, read and written: an error says which, and a reader never sees a file half written."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from dossier.errors import StorageError


def read_bytes(path: Path) -> bytes:
    """What a file holds; StorageError if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror}") from error


def write_bytes(path: Path, content: bytes) -> None:
    """Make or replace a file in one step, and its folders with it; the mode of one that was there is kept."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
        with tempfile.NamedTemporaryFile("wb", dir=path.parent, prefix=".new-", delete=False) as new:
            try:
                new.write(content)
                new.flush()
                os.fsync(new.fileno())
                Path(new.name).chmod(mode)
                Path(new.name).replace(path)
            except OSError:
                Path(new.name).unlink(missing_ok=True)
                raise
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror}") from error


def write_text(path: Path, text: str) -> None:
    """As `write_bytes`, for text in UTF-8 whose line ends stay as they are."""
    write_bytes(path, text.encode())
