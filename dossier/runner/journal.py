"""The journal of a run: append-only JSON Lines, each line naming the SHA-256 of the one before it.

    {"n": 1, "prev": "000...", "event": "plan", ...}

A line is complete once its newline is there; what a crash left of a last line is torn, not tampered with, and is
cut off when the run goes on. A line is handed to the system at once, so killing the process loses none; it is
forced to the disk at `sync`, so losing power loses what came after the last one. The chain shows a later change
of any line but the last; that one is covered by the digest of the whole file in the finding.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dossier.digest import sha256_hex
from dossier.errors import StorageError, UsageError
from dossier.files import read_bytes
from dossier.runner.scrub import Scrub

try:
    import fcntl
except ImportError:  # Windows has no such lock: there two writers are only told apart by the broken chain
    fcntl = None  # type: ignore[assignment]

START = "0" * 64
Entry = Mapping[str, Any]


class JournalError(UsageError):
    """The file is no journal, or not the one that was written; the message names the line."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The whole lines of a journal. `torn` counts the bytes of an unfinished last line; `head` is the last digest."""

    entries: tuple[Entry, ...]
    size: int
    torn: int
    head: str

    def of(self, event: str) -> list[Entry]:
        """The entries of one kind, in order."""
        return [entry for entry in self.entries if entry["event"] == event]


def read_journal(data: bytes) -> Reading:
    """Read and verify. Raises JournalError naming the first line that is altered, missing or out of order."""
    whole = data.rfind(b"\n") + 1
    lines = data[:whole].split(b"\n")[:-1]
    entries = [_parsed(number, line) for number, line in enumerate(lines, 1)]
    digests = [START, *(sha256_hex(line) for line in lines)]
    for number, entry in enumerate(entries, 1):
        _verify(number, entry, entries, digests)
    return Reading(tuple(entries), whole, len(data) - whole, digests[-1])


def _parsed(number: int, line: bytes) -> Entry:
    try:
        entry: Entry = json.loads(line)
    except (ValueError, RecursionError):
        raise JournalError(f"line {number} of the journal was altered: it is not JSON") from None
    shape = isinstance(entry, dict) and isinstance(entry.get("event"), str) and isinstance(entry.get("prev"), str)
    if not shape or not isinstance(entry.get("n"), int):
        raise JournalError(f"line {number} of the journal was altered: it has no number, predecessor or event")
    return entry


def _verify(number: int, entry: Entry, entries: Sequence[Entry], digests: Sequence[str]) -> None:
    if entry["n"] != number:
        following = entries[number]["n"] if number < len(entries) else None
        what = "is out of order" if following == number or entry["n"] < number else "is missing"
        raise JournalError(f"line {number} of the journal {what}: line {entry['n']} stands in its place")
    if entry["prev"] != digests[number - 1]:
        # Either this line or the one before was changed; the line after this one vouches for this one.
        vouched = number >= len(entries) or entries[number]["prev"] == digests[number]
        altered = number - 1 if vouched and number > 1 else number
        raise JournalError(f"line {altered} of the journal was altered")


@dataclass(slots=True)
class Journal:
    """The one writer of a journal; use as a context manager."""

    path: Path
    scrub: Scrub
    _fd: int
    _count: int = 0
    _head: str = START
    _size: int = 0
    _dirty: bool = field(default=False)

    @classmethod
    def create(cls, path: Path, scrub: Scrub) -> Journal:
        """Begin a journal. Raises UsageError where a file is already there, StorageError where none can be."""
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        except FileExistsError:
            raise UsageError(f"{path} is there already; --resume goes on with it, another name begins anew") from None
        except OSError as error:
            raise StorageError(f"cannot write {path}: {error.strerror}") from error
        try:
            _lock(fd, path)
        except BaseException:
            os.close(fd)
            raise
        return cls(path, scrub, fd)

    @classmethod
    def reopen(cls, path: Path, scrub: Scrub) -> tuple[Journal, Reading]:
        """Go on with a journal: verified, locked, and a torn last line cut off."""
        try:
            fd = os.open(path, os.O_RDWR | os.O_APPEND)
        except OSError as error:
            raise StorageError(f"cannot open {path}: {error.strerror}") from error
        try:
            _lock(fd, path)
            reading = read_journal(read_bytes(path))
            if reading.torn:
                os.ftruncate(fd, reading.size)
        except BaseException:
            os.close(fd)
            raise
        return cls(path, scrub, fd, len(reading.entries), reading.head, reading.size), reading

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.sync()
        finally:
            os.close(self._fd)

    def append(self, event: str, **fields: Any) -> Entry:
        """Write one line; it is with the system when this returns. Raises StorageError (a full disk, say)."""
        entry = {"n": self._count + 1, "prev": self._head, "event": event, **self.scrub.data(fields)}
        line = json.dumps(entry, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
        self._write(line + b"\n")
        self._count += 1
        self._head = sha256_hex(line)
        self._size += len(line) + 1
        self._dirty = True
        return entry

    def sync(self) -> None:
        """Force what was written to the disk."""
        if self._dirty:
            self._dirty = False
            try:
                os.fsync(self._fd)
            except OSError as error:
                raise StorageError(f"cannot write {self.path}: {error.strerror}") from error

    def _write(self, data: bytes) -> None:
        rest = data
        try:
            while rest:
                rest = rest[os.write(self._fd, rest) :]
        except OSError as error:
            if len(rest) < len(data):
                os.ftruncate(self._fd, self._size)
            told = f"cannot write {self.path}: {error.strerror}; the run stops, and --resume goes on with it"
            raise StorageError(told) from error


def _lock(fd: int, path: Path) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise UsageError(f"another run is writing {path}") from None
