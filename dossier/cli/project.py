"""Where the evidence of a command is, and where its cache."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from dossier.cache import Cache
from dossier.catalog import Catalog
from dossier.errors import Problem, UsageError
from dossier.model.parse import FOLDERS


@dataclass(frozen=True, slots=True)
class Evidence:
    """An evidence folder, and the paths below it that a command was asked about (all of it when empty)."""

    root: Path
    shown: str
    only: tuple[str, ...]

    def concerns(self, problem: Problem) -> bool:
        """Was the command asked about the file of this problem?"""
        return self.covers(problem.path)

    def covers(self, path: str) -> bool:
        """Was the command asked about this file?"""
        return not self.only or any(path == p or path.startswith(f"{p}/") for p in self.only)


def find_evidence(paths: Sequence[str]) -> Evidence:
    """The evidence folder of some paths: itself, one of its folders, or files in them."""
    roots: dict[Path, str] = {}
    only: list[str] = []
    for path in paths or ["evidence"]:
        given = Path(path)
        if not given.exists():
            hint = "; run this in the project's folder, or name the evidence folder" if not paths else ""
            raise UsageError(f"{path}: no such file or folder{hint}")
        root = _root_of(given)
        roots.setdefault(root.resolve(), root.as_posix())
        if root != given:
            only.append(given.as_posix())
        elif paths:
            only.append(root.as_posix())
    if len(roots) > 1:
        raise UsageError(f"{', '.join(roots.values())}: several evidence folders; check one at a time")
    root, shown = next(iter(roots.items()))
    return Evidence(root, shown, () if shown in only else tuple(only))


def _root_of(given: Path) -> Path:
    """The folder above the folder of records that a path is, or is in; a folder that is neither is the root."""
    folder = given if given.is_dir() else given.parent
    if folder.resolve().name in FOLDERS and not _holds_records(folder):
        return folder.parent
    if not given.is_dir():
        raise UsageError(f"{given}: not in a folder of records ({', '.join(sorted(FOLDERS))})")
    return given


def _holds_records(folder: Path) -> bool:
    return any((folder / name).is_dir() for name in FOLDERS)


def key_of(record_id: str, catalog: Catalog) -> tuple[str, str]:
    """The record that `ID` or `folder/ID` names; UsageError where it is none, or several."""
    folder, _, id_ = record_id.rpartition("/")
    folders = [folder] if folder else list(FOLDERS)
    keys = [(f, id_) for f in folders if catalog.exists(f, id_)]
    if len(keys) == 1:
        return keys[0]
    if keys:
        raise UsageError(f"{record_id} names {', '.join('/'.join(key) for key in keys)}; write one of them")
    near = sorted(f"{f}/{i}" for f, i in catalog.entries if id_ in i)[:5]
    raise UsageError(f"{record_id}: no such record{'; there is ' + ', '.join(near) if near else ''}")


def open_cache(root: Path, *, use: bool = True) -> Cache:
    """The cache of an evidence folder, in the user's own cache folder: no pull request can fill it."""
    if not use or os.environ.get("DOSSIER_CACHE") == "off":
        return Cache(None)
    folder = Path(os.environ.get("DOSSIER_CACHE") or platformdirs.user_cache_dir("dossier"))
    name = hashlib.sha256(str(root).encode()).hexdigest()[:16]
    return Cache(folder / f"{name}.sqlite")


def require_project(evidence: str) -> Path:
    """The project in the current folder; UsageError where it is none."""
    project = Path.cwd()
    for name, what in (("mkdocs.yml", "the site's settings"), (evidence, "the evidence folder")):
        if not (project / name).exists():
            raise UsageError(f"{name}: {what} is not here; run this in the folder of a dossier project")
    return project
