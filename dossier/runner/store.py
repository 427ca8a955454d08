"""Recorded files go to the evidence folder: each in one step, the finding last, and nothing published is changed."""

from __future__ import annotations

from pathlib import Path

from dossier.errors import UsageError
from dossier.files import read_bytes, write_bytes
from dossier.runner.record import Recorded


def store(recorded: Recorded, evidence: Path) -> list[Path]:
    """Write what is not there yet; gives every file of the finding, written or there.

    Raises UsageError where a file of that name holds something else, and then nothing is written.
    """
    wanted = {evidence / name: content for name, content in recorded.files.items()}
    for path, content in wanted.items():
        if path.exists() and read_bytes(path) != content:
            raise UsageError(
                f"{path} is there and holds something else; a record is never changed: remove an unpublished "
                "one first, or give the plan another id"
            )
    first = {evidence / name: content for name, content in recorded.first.items()}
    models = {path: content for path, content in first.items() if not path.exists()}
    last = evidence / recorded.path
    for path, content in sorted({**models, **wanted}.items(), key=lambda item: (item[0] == last, item[0])):
        if not path.exists():
            write_bytes(path, content)
    return [*models, *wanted]
