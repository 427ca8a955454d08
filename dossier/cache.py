"""A cache of derived bytes in one SQLite file, addressed by what they were derived from.

A cache is a convenience: whatever is wrong with its file, a command goes on as if nothing had been kept.
It is not a proof: whoever can write the file can forge an entry, so it belongs to the machine and never to a
checkout that others send.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

_APPLICATION: Final = 0x1DF055E7
_APPLICATION_AT: Final = slice(68, 72)  # https://www.sqlite.org/fileformat2.html#application_id
_BUSY_SECONDS: Final = 0.5
_FAULTS: Final = (sqlite3.Error, UnicodeDecodeError)  # SQLite may quote damaged bytes in its message
_DAMAGED: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)

_TABLE: Final = (
    "entry (namespace TEXT NOT NULL, key TEXT NOT NULL, checksum BLOB NOT NULL, value BLOB NOT NULL,"
    " PRIMARY KEY (namespace, key))"
)
_CREATE: Final = f"CREATE TABLE IF NOT EXISTS {_TABLE}"
_READ: Final = "SELECT key, checksum, value FROM entry WHERE namespace = ? AND key IN (SELECT value FROM json_each(?))"
_WRITE: Final = "INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?)"
_OLDER: Final = "DELETE FROM entry WHERE namespace > ? AND namespace < ? AND namespace <> ?"
_COUNT: Final = "SELECT count(*) FROM entry WHERE namespace = ?"
_OTHERS: Final = "DELETE FROM entry WHERE namespace = ? AND key NOT IN (SELECT value FROM json_each(?))"


class Cache:
    """Bytes by namespace and key; a context manager, used by one thread.

    A key is the SHA-256 of the content that a value was derived from. The namespace, `family/version`, says
    what derived it: the version must change with everything else the value depends on, so that nothing stale
    is found.

    With no path, or with a file that cannot be used, nothing is kept and nothing is found. A file of ours
    that is damaged or has another layout is removed, for the next run to begin anew; any other is left alone.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        if path is not None and _may_use(path):
            self._open(path)

    @property
    def folder(self) -> Path | None:
        """A folder beside the file, for what is kept as files; None where nothing is kept."""
        return None if self._path is None else self._path.with_suffix(".files")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file; from here on nothing is kept and nothing is found."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def get_many(self, namespace: str, keys: Iterable[str]) -> dict[str, bytes]:
        """The values kept for these keys, without those that no longer match their checksum."""
        if self._connection is None:
            return {}
        try:
            rows = self._connection.execute(_READ, (namespace, json.dumps(list(keys)))).fetchall()
        except _FAULTS as error:
            self._give_up(error)
            return {}
        return {key: value for key, checksum, value in rows if _is_intact(namespace, key, checksum, value)}

    def put_many(self, namespace: str, items: Mapping[str, bytes], wanted: Iterable[str] = ()) -> None:
        """Keep all of these values, or none of them where the file does not allow it.

        `wanted`, if given, are all keys of the namespace that are of use now. What is kept under others is dropped
        once it is more than that, so that going to and fro between two states finds both. What older versions of the
        family left is dropped at once.
        """
        if self._connection is None or not items:
            return
        rows = [(namespace, key, _checksum(namespace, key, value), value) for key, value in items.items()]
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany(_WRITE, rows)
            _prune(self._connection, namespace, set(wanted))
            self._connection.execute("COMMIT")
        except _FAULTS as error:
            self._give_up(error)

    def _open(self, path: Path) -> None:
        try:
            self._connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
            if not _lay_out(self._connection):
                self.close()
                _remove(path)
        except _FAULTS as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        self.close()
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)  # not UTF-8: has none
        if self._path is not None and code & 0xFF in _DAMAGED:
            _remove(self._path)


def _prune(connection: sqlite3.Connection, namespace: str, wanted: set[str]) -> None:
    family = namespace.partition("/")[0]
    connection.execute(_OLDER, (f"{family}/", f"{family}0", namespace))  # 0 comes after / in ASCII
    [(count,)] = connection.execute(_COUNT, (namespace,))
    if wanted and count > 2 * len(wanted):
        connection.execute(_OTHERS, (namespace, json.dumps(sorted(wanted))))


def _may_use(path: Path) -> bool:
    """Whether the file is ours or still to be made; its folder is made on the way."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            return True
        if not path.is_file():
            return False
        with path.open("rb") as stream:
            header = stream.read(_APPLICATION_AT.stop)
    except OSError:
        return False
    return not header or header[_APPLICATION_AT] == _APPLICATION.to_bytes(4, "big")


def _lay_out(connection: sqlite3.Connection) -> bool:
    """Make the table in a new file; False where a file has another layout than ours."""
    if not _layout(connection):
        connection.execute("PRAGMA page_size = 8192")  # a record's size: half the pages to walk
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute(_CREATE)
        connection.execute("COMMIT")
    return _layout(connection) == [f"CREATE TABLE {_TABLE}"]


def _layout(connection: sqlite3.Connection) -> list[str]:
    return [sql for (sql,) in connection.execute("SELECT sql FROM sqlite_schema WHERE sql NOT NULL")]


def _remove(path: Path) -> None:
    for name in (path, path.with_name(f"{path.name}-journal")):
        with suppress(OSError):
            name.unlink()


def _checksum(namespace: str, key: str, value: bytes) -> bytes:
    """Over the whole of an entry: SQLite itself does not notice a changed byte in a text or value."""
    return hashlib.sha256(f"{namespace}\0{key}\0".encode() + value).digest()


def _is_intact(namespace: str, key: object, checksum: object, value: object) -> bool:
    """Whether an entry is what was put; damage can even change the type of a column."""
    return isinstance(key, str) and isinstance(value, bytes) and checksum == _checksum(namespace, key, value)
