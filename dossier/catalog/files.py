"""Finds the files of an evidence folder, and refuses those that have no business there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dossier.errors import Problem, StorageError
from dossier.model.parse import FOLDERS

_STEM = re.compile(r"[a-z0-9]+(?:[._-][a-z0-9]+)*")
_HINT = "write one record a file as <folder>/<id>.yaml"
ARTIFACTS = "artifacts"


@dataclass(frozen=True, slots=True)
class Found:
    """One file below the evidence folder; `shown` is its path for a reader."""

    folder: str
    stem: str
    file: Path
    shown: str

    @property
    def key(self) -> tuple[str, str]:
        """Folder and id."""
        return self.folder, self.stem


def find_records(evidence: Path, shown: str) -> tuple[list[Found], list[Problem]]:
    """Every record file in name order, whatever order the disk gives, and problems of placement."""
    found: list[Found] = []
    problems: list[Problem] = []
    for entry in _listing(evidence):
        place = f"{shown}/{entry.name}"
        if entry.name.startswith("."):
            continue
        if entry.is_symlink():
            problems.append(_problem(place, "source/symlink", "a link; copy the file or folder here instead"))
        elif not entry.is_dir():
            if entry.name.endswith((".yaml", ".yml")):
                problems.append(_problem(place, "source/place", f"no record belongs here; {_HINT}"))
        elif entry.name in FOLDERS:
            problems.extend(_folder(Path(entry.path), entry.name, place, found))
        elif entry.name != ARTIFACTS:
            known = ", ".join([*sorted(FOLDERS), ARTIFACTS])
            problems.append(_problem(place, "source/place", f"not a folder of records; there are {known}"))
    return found, problems


def _folder(path: Path, folder: str, shown: str, found: list[Found]) -> Iterator[Problem]:
    seen: dict[str, str] = {}
    for entry in _listing(path):
        place = f"{shown}/{entry.name}"
        stem, dot, suffix = entry.name.rpartition(".")
        if entry.name.startswith("."):
            continue
        if entry.is_symlink():
            yield _problem(place, "source/symlink", "a link; copy the file here instead")
        elif not entry.is_file(follow_symlinks=False):
            yield _problem(place, "source/place", f"a folder inside a folder of records; {_HINT}")
        elif not dot or suffix != "yaml":
            yield _problem(place, "source/place", f"not a .yaml file; {_HINT}")
        elif (twin := seen.setdefault(stem.casefold(), entry.name)) != entry.name:
            yield _problem(place, "source/collision", f"differs from {twin} only by case; rename one")
        elif not _STEM.fullmatch(stem):
            yield _problem(
                place,
                "source/name",
                f"{stem!r} is not an id: lower-case letters, digits, single '-', '_' or '.' inside",
            )
        else:
            found.append(Found(folder, stem, Path(entry.path), place))


def find_artifacts(evidence: Path, shown: str) -> tuple[dict[str, Path], list[Problem]]:
    """Every file below `artifacts/` by its path there (`<finding-id>/...`), and problems such as links."""
    files: dict[str, Path] = {}
    seen: dict[str, str] = {}
    problems: list[Problem] = []
    root = evidence / ARTIFACTS
    if root.is_symlink():
        return files, [_problem(f"{shown}/{ARTIFACTS}", "source/symlink", "a link; copy the folder here instead")]
    pending = [root] if root.is_dir() else []
    while pending:
        for entry in _listing(pending.pop()):
            inside = Path(entry.path).relative_to(root).as_posix()
            place = f"{shown}/{ARTIFACTS}/{inside}"
            if entry.is_symlink():
                problems.append(_problem(place, "source/symlink", "a link; copy the file here instead"))
            elif entry.is_dir():
                pending.append(Path(entry.path))
            elif not entry.is_file(follow_symlinks=False):
                problems.append(_problem(place, "source/place", "not a plain file; remove it"))
            elif (twin := seen.setdefault(inside.casefold(), inside)) != inside:
                told = f"differs from {twin} only by case; rename one"
                problems.append(_problem(place, "source/collision", told))
            elif not entry.name.startswith("."):
                files[inside] = Path(entry.path)
    return dict(sorted(files.items())), problems


def _listing(path: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(path) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        raise StorageError(f"cannot read the folder {path}: {error.strerror}") from error


def _problem(path: str, rule: str, message: str) -> Problem:
    return Problem(path.encode("utf-8", "backslashreplace").decode(), 1, 1, rule, message)
