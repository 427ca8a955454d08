"""Privacy: what is published with evidence must not hold secrets, or say whose machine it was.

Records are looked at as they lie in their files, comments and all, and so is every text among the artifacts. A
digest is never taken for a secret: no rule looks for bare hexadecimal numbers. No message repeats what was found.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache, partial

from dossier.catalog import Catalog
from dossier.checks.registry import Wrong, record_rule
from dossier.model.base import Record
from dossier.model.finding import Finding
from dossier.redact import Leak, find
from dossier.source import Mark

_SHOWN = 10
"""So many leaks of one kind are told for one file; a log may hold thousands."""


@dataclass(frozen=True, slots=True)
class _File:
    """A file by its content, so that seven rules read it once."""

    sha256: str
    read: Callable[[], bytes] = field(compare=False)


@lru_cache(maxsize=64)
def _leaks(file: _File) -> tuple[tuple[Leak, Mark], ...]:
    """Every leak with its place; what only shows without escapes keeps its line, not its column."""
    text = _text(file.read())
    if text is None:
        return ()
    found = [(leak, _mark(text, leak.start)) for leak in (*find(text), *_streamed(text))]
    plain = _unescaped(text)
    if plain != text:
        seen = {(leak.rule, mark.line) for leak, mark in found}
        again = ((leak, _mark(plain, leak.start)) for leak in find(plain))
        found += [(leak, mark) for leak, mark in again if (leak.rule, mark.line) not in seen]
    return tuple(found)


def _text(data: bytes) -> str | None:
    """The file as text; None for pictures and other binary files."""
    encoding = "utf-16" if data[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8"
    if encoding == "utf-8" and b"\0" in data:
        return None
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return data.decode("latin-1") if b"\0" not in data else None


def _mark(text: str, offset: int) -> Mark:
    line = text.count("\n", 0, offset)
    return Mark(line + 1, offset - (text.rfind("\n", 0, offset) + 1) + 1)


_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u00([0-9A-Fa-f]{2})|(/))")


def _unescaped(text: str) -> str:
    """Characters written as escapes of JSON or YAML, in clear."""
    return _ESCAPE.sub(lambda m: m[3] or chr(int(m[1] or m[2], 16)), text)


_DELTA = re.compile(r'"(?:content|reasoning_content|reasoning|text|arguments|delta)"\s*:\s*"((?:[^"\\]|\\.)*)"')


def _streamed(text: str) -> Iterator[Leak]:
    """Secrets that a stream has cut: the pieces of its deltas put together, told at the place of the first."""
    pieces = [match.span(1) for match in _DELTA.finditer(text)]
    if len(pieces) < 2:
        return
    starts, at = [], 0
    for start, end in pieces:
        starts.append(at)
        at += end - start
    for leak in find("".join(text[start:end] for start, end in pieces)):
        first, last = (bisect_right(starts, offset) - 1 for offset in (leak.start, leak.end - 1))
        if first != last and leak.rule in {"secret", "private key"}:
            place = pieces[first][0] + leak.start - starts[first]
            yield Leak(leak.rule, place, place + 1, f"{leak.what}, cut up by a stream")


def _record_leaks(rule: str, record: Record, catalog: Catalog) -> Iterator[Wrong]:
    key = (record.FOLDER, record.id)
    found = _leaks(_File(catalog.entries[key].sha256, lambda: catalog.source(key)))
    for leak, mark in _of(rule, found):
        yield Wrong((), f"{leak.what}; {_ADVICE[rule]}", mark=mark)


def _kept_bytes(catalog: Catalog, path: str) -> bytes:
    return catalog.kept_bytes(path) or b""


def _artifact_leaks(rule: str, finding: Finding, catalog: Catalog) -> Iterator[Wrong]:
    listed = {f"{finding.id}/{a.path}": index for index, a in enumerate(finding.artifacts) if a.path is not None}
    for path in catalog.artifacts_of.get(finding.id, ()):
        kept = catalog.kept(path)
        if path not in listed or kept is None:
            continue
        found = _leaks(_File(kept[0], partial(_kept_bytes, catalog, path)))
        for leak, mark in _of(rule, found):
            told = f"line {mark.line} of {catalog.shown}/artifacts/{path[:200]}: {leak.what}"
            yield Wrong(("artifacts", listed[path], "path"), f"{told}; {_ADVICE[rule]}")


def _of(rule: str, found: Iterable[tuple[Leak, Mark]]) -> list[tuple[Leak, Mark]]:
    return [(leak, mark) for leak, mark in found if leak.rule == rule][:_SHOWN]


_ADVICE = {
    "secret": "revoke it, whoever could read this file has it, and take it out",
    "private key": "replace the key pair, whoever could read this file has it, and take it out",
    "url credentials": "take the part before `@`, or the signature, out of the address and revoke it",
    "home path": "write `~`, or a path that names nobody",
    "private address": "write 127.0.0.1, or what the machine is for, such as `the model host`",
    "private host": "write what the machine is for, such as `the model host`",
    "e-mail address": "name the person or the role without it",
}
_WHY = {
    "secret": "A secret in a published file is public, and stays so in the history of the repository.",
    "private key": "A private key in a published file lets everybody pose as its owner.",
    "url credentials": "An address that carries a name and password, or a signature, lets every reader in.",
    "home path": "A path below somebody's home says who ran it, and means nothing on another machine.",
    "private address": "An address inside somebody's network maps it for others, and leads readers nowhere.",
    "private host": "A name inside somebody's network maps it for others, and leads readers nowhere.",
    "e-mail address": "A published address is collected; who decided is told by name or role.",
}


def _register(rule: str) -> None:
    def check(record: Record, catalog: Catalog) -> Iterator[Wrong]:
        yield from _record_leaks(rule, record, catalog)
        if isinstance(record, Finding):
            yield from _artifact_leaks(rule, record, catalog)

    check.__doc__ = _WHY[rule]
    record_rule(f"privacy/{rule.replace(' ', '-')}", Record)(check)


for _rule in _WHY:
    _register(_rule)
