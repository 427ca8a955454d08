"""The finished files of a site, kept between builds, and what each was made from."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from dossier.digest import sha256_hex

Stamp = list[object]
"""[key, size, mtime_ns, SHA-256] of a file: one that somebody touched is made again."""
_PARTS = 4
"""Parts of a stamp; one that an older dossier wrote has fewer and does not count."""


class Tree:
    """The files below a work folder. `open_tree` finds what an earlier build left; `keep` says that all is finished.

    Until then nothing that a broken-off build leaves is taken for finished: its stamps do not match.
    """

    def __init__(self, root: Path, old: dict[str, Stamp]) -> None:
        self.root = root
        self._old = old
        self._stamps: dict[str, Stamp] = {}
        self._folders: set[str] = set()

    def stands(self, name: str, key: str) -> bool:
        """Is the file still the one that was made from this key? Then it is kept."""
        known = self._old.get(name)
        if known is None or known[0] != key or len(known) != _PARTS:
            return False
        try:
            found = os.lstat(f"{self.root}/{name}")
        except OSError:
            return False
        if known[1:3] != [found.st_size, found.st_mtime_ns]:
            return False
        self._stamps[name] = known
        return True

    def write(self, name: str, key: str, data: bytes) -> None:
        """Write a file; one that is there is replaced in one step, for the published site may share it."""
        file = f"{self.root}/{name}"
        _make_folder(file, self._folders)
        try:
            with open(file, "xb") as stream:  # noqa: PTH123  (a thousand times over, twice as fast as by Path)
                self._stamps[name] = [key, *_put(stream, data), sha256_hex(data)]
        except FileExistsError:
            fresh = f"{file}.new"
            with open(fresh, "wb") as stream:  # noqa: PTH123
                self._stamps[name] = [key, *_put(stream, data), sha256_hex(data)]
            Path(fresh).replace(file)

    def digests(self) -> dict[str, str]:
        """SHA-256 of every file so far, by its path."""
        return {name: str(stamp[-1]) for name, stamp in sorted(self._stamps.items())}

    def sweep(self) -> int:
        """Remove what nothing makes any more; returns the bytes of all that stays."""
        start = len(f"{self.root}/")
        for folder, _, names in os.walk(self.root, topdown=False):
            for name in names:
                file = f"{folder}/{name}"
                if file[start:] not in self._stamps:
                    Path(file).unlink()
            if len(folder) > start:
                with suppress(OSError):  # it is not empty
                    Path(folder).rmdir()
        return sum(size for _, size, *_ in self._stamps.values() if isinstance(size, int))

    def copy_to(self, target: Path) -> None:
        """Put all files below another folder too, as hard links where the file system allows."""
        made: set[str] = set()
        for name in self._stamps:
            file = f"{target}/{name}"
            _make_folder(file, made)
            try:
                os.link(f"{self.root}/{name}", file, follow_symlinks=False)
            except OSError:
                shutil.copyfile(f"{self.root}/{name}", file)

    def keep(self, state: Path) -> None:
        """Note what every file was made from, for the next build."""
        fresh = state.with_name(".state.new")
        fresh.write_text(json.dumps(self._stamps), "utf-8")
        fresh.replace(state)


def open_tree(root: Path, state: Path) -> Tree:
    """The tree below a folder, with what `keep` noted of it."""
    root.mkdir(parents=True, exist_ok=True)
    try:
        old = json.loads(state.read_text("utf-8"))
    except (OSError, ValueError):
        old = {}
    return Tree(root, old if isinstance(old, dict) else {})


def _make_folder(file: str, made: set[str]) -> None:
    folder = file.rpartition("/")[0]
    if folder in made:
        return
    try:
        os.mkdir(folder)  # noqa: PTH102
    except FileExistsError:
        if not os.path.isdir(folder):  # noqa: PTH112
            raise
    except FileNotFoundError:
        os.makedirs(folder)  # noqa: PTH103
    made.add(folder)


def _put(stream: BinaryIO, data: bytes) -> tuple[int, int]:
    """Write all; gives size and time of the file."""
    stream.write(data)
    stream.flush()
    found = os.fstat(stream.fileno())
    return found.st_size, found.st_mtime_ns
