"""Canonical JSON (RFC 8785) and SHA-256.

A record's digest is taken over the canonical form of its validated data, never over the YAML text: comments,
order of keys and layout are free, a changed character of a note is not.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Final

import rfc8785

from dossier.errors import StorageError

_MAX_INTEGER: Final = 2**53 - 1

_compact = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode


def canonical(data: object) -> bytes:
    """The one byte form of JSON data: text, booleans, None, numbers, lists and dicts with text as keys.

    Decimals and dates must already be text. Raises ValueError for what has no canonical form: NaN, an
    infinity, an integer beyond 2^53 - 1, a lone surrogate, a key that is not text, any other type.
    """
    try:
        if _is_plain(data):
            return _compact(data).encode()
    except (TypeError, UnicodeEncodeError):  # a key that is not text, a lone surrogate: let the library name it
        pass
    return rfc8785.dumps(data)  # type: ignore[arg-type]  # it refuses what it cannot write


def sha256_hex(data: bytes) -> str:
    """SHA-256 of some bytes, 64 lower-case hex digits."""
    return hashlib.sha256(data).hexdigest()


def digest_of(data: object) -> str:
    """The digest by which records name each other: `sha256:` and 64 hex digits over the canonical form."""
    return f"sha256:{sha256_hex(canonical(data))}"


def file_digest(path: Path) -> tuple[str, int]:
    """SHA-256 (64 hex digits) and size in bytes of a file; StorageError if it cannot be read."""
    try:
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
            return digest, stream.tell()
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror}") from error


def _is_plain(data: object) -> bool:
    """Whether the standard encoder, several times faster, writes this exactly as RFC 8785 asks.

    It does unless numbers need ECMAScript's form, or keys might sort differently by UTF-16 unit than by
    code point.
    """
    pending = [data]
    for item in pending:  # it grows on the way, which takes less time than recursion
        if isinstance(item, str) or item is None or item is True or item is False:
            continue
        if isinstance(item, dict):
            if not all(map(str.isascii, item)):
                return False
            pending += item.values()
        elif isinstance(item, list | tuple):
            pending += item
        elif type(item) is not int or not -_MAX_INTEGER <= item <= _MAX_INTEGER:
            return False
    return True
