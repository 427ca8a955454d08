"""`dossier check --fix`: writes what has one right answer, by edits that leave every other character alone.

That is: text that has to stand in quotes, a byte order mark, digests and sizes of artifacts that lie there, and pins.
The edits are made at the places that the reader marks and not by a round trip through a YAML library, which lays
out anew what it did not change: line widths, spaces in lists, and quotes.

A published file is never touched. Where it is not known what is published, only what is missing or malformed is
written; a well-formed digest that differs may be the very thing that a reviewer has to see.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from dossier.catalog import Catalog
from dossier.catalog.files import find_records
from dossier.catalog.pins import wanted_pins
from dossier.files import read_bytes, write_text
from dossier.model.finding import Finding
from dossier.source import Document, Mark, read_document

_KEPT = re.compile(r"[0-9a-f]{64}")
_PLAIN = re.compile(
    r"(?P<head>\s*(?:- +)*(?:[\w./-]+: +)?)(?P<text>[^\s\"'\[{|>#-].*?|-[^ ].*?)(?P<tail>(?:\s+#.*)?)\r?"
)
_TOKEN = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'|[^\s,{}\[\]#][^\s,{}\[\]]*")
_QUOTED = {"source/syntax", "source/tag", "source/alias", "source/anchor"}


def fix_sources(
    catalog: Catalog, wanted: Callable[[str], bool], published: set[str] | None
) -> Iterator[tuple[str, str]]:
    """Mend files that cannot be read for want of quotes; gives (path, what was done) of each that was changed."""
    for found in find_records(catalog.evidence, catalog.shown)[0]:
        if (found.folder, found.stem) not in catalog.broken or not wanted(found.shown):
            continue
        if found.folder == Finding.FOLDER and found.stem in (published or ()):
            continue
        raw = read_bytes(found.file)
        mended, done = _mend(raw, found.shown)
        if done:
            write_text(found.file, mended)
            yield found.shown, ", ".join(done)


def _mend(raw: bytes, shown: str) -> tuple[str, list[str]]:
    done = []
    if raw.startswith(b"\xef\xbb\xbf"):
        raw, done = raw.removeprefix(b"\xef\xbb\xbf"), ["byte order mark removed"]
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return "", []
    for _ in range(20):  # one line a round; a file with more such lines is better looked at
        _, problems = read_document(text, shown)
        better = _quoted(text, problems[0].line, shown) if problems and problems[0].rule in _QUOTED else None
        if better is None:
            break
        text = better
        done.append(f"line {problems[0].line} quoted")
    return text, done


def _quoted(text: str, line: int, shown: str) -> str | None:
    """The text with the value of one line in quotes; None where that does not mend the line."""
    lines = text.split("\n")
    match = _PLAIN.fullmatch(lines[line - 1])
    if match is None:
        return None
    escaped = match["text"].replace("'", "''")
    lines[line - 1] = f"{match['head']}'{escaped}'{match['tail']}"
    _, problems = read_document("\n".join(lines), shown)
    return None if problems and problems[0].line <= line else "\n".join(lines)


def fix_findings(
    catalog: Catalog, wanted: Callable[[str], bool], published: set[str] | None
) -> Iterator[tuple[str, str]]:
    """Write digests, sizes and pins into findings; `published` holds ids to leave alone, None where that is not known.

    Gives (path, what was done) of each file that was changed.
    """
    for found in find_records(catalog.evidence, catalog.shown)[0]:
        if found.folder != Finding.FOLDER or not wanted(found.shown) or found.stem in (published or ()):
            continue
        document, _ = read_document(read_bytes(found.file), found.shown)
        if document is None:
            continue
        text, done = _with_digests(document, found.stem, catalog, sure=published is not None)
        pins = _missing_pins(catalog, found.stem, sure=published is not None)
        if pins:
            text, done = with_pins(text, pins), [*done, "pins"]
        if done:
            write_text(found.file, text)
            yield found.shown, f"{', '.join(dict.fromkeys(done))} written"


def _missing_pins(catalog: Catalog, id_: str, *, sure: bool) -> dict[str, str]:
    """The pins to write; empty where they stand as they should, or where it is not sure that they may change."""
    finding = catalog.finding(id_)
    if finding is None:
        return {}
    pins = wanted_pins(finding, catalog)
    if pins == finding.pins or (finding.pins and not sure):
        return {}
    return pins


def _with_digests(document: Document, id_: str, catalog: Catalog, *, sure: bool) -> tuple[str, list[str]]:
    """The text with the digest and size of every artifact that lies in the finding's folder, and what was written."""
    lines, done = document.text.split("\n"), []
    listed = document.data.get("artifacts")
    for index, item in reversed(list(enumerate(listed if isinstance(listed, list) else ()))):
        path = item.get("path") if isinstance(item, dict) else None
        kept = catalog.kept(f"{id_}/{path}") if isinstance(path, str) else None
        if kept is None:
            continue
        for name, value in _wrong(item, kept, sure=sure):
            _write(lines, document, ("artifacts", index), name, value)
            done.append(f"{name} of {path}")
    return "\n".join(lines), done


def _wrong(item: dict[str, Any], kept: tuple[str, int], *, sure: bool) -> Iterator[tuple[str, str]]:
    for name, value in (("sha256", kept[0]), ("bytes", str(kept[1]))):
        given = item.get(name)
        malformed = not isinstance(given, str) or (name == "sha256" and not _KEPT.fullmatch(given))
        if given != value and (malformed or sure):
            yield name, value


def _write(lines: list[str], document: Document, place: tuple[str | int, ...], name: str, value: str) -> None:
    """Put `name: value` in place of the value that stands there, or right after the item's path."""
    at = document.marks.get((*place, name))
    if at is not None:
        line, start = at.line - 1, at.column - 1
        lines[line] = lines[line][:start] + value + lines[line][_end(lines, at) :]
        return
    at, key = document.marks[(*place, "path")], document.key_marks[(*place, "path")]
    line = at.line - 1
    if lines[key.line - 1][: key.column - 1].rstrip().endswith(("{", ",")):
        end = _end(lines, at)
        lines[line] = f"{lines[line][:end]}, {name}: {value}{lines[line][end:]}"
    else:
        own, newline, added = lines[line].partition("\n")
        lines[line] = f"{own}\n{' ' * (key.column - 1)}{name}: {value}{newline}{added}"


def _end(lines: list[str], at: Mark) -> int:
    """The column after the scalar that begins here."""
    match = _TOKEN.match(lines[at.line - 1], at.column - 1)
    return match.end() if match is not None else at.column - 1


def with_pins(text: str, pins: dict[str, str]) -> str:
    """The YAML text with its `pins` replaced where they stand, or added at its end; all else stays as it is."""
    newline = "\r\n" if "\r\n" in text else "\n"
    block = "".join(f"  {key}: {digest}{newline}" for key, digest in pins.items())
    block = f"pins:{newline}{block}" if pins else ""
    lines = text.splitlines(keepends=True)
    start = next((n for n, line in enumerate(lines) if line.startswith("pins:")), None)
    if start is None:
        body = text.rstrip("\r\n")
        return f"{body}{newline}{newline}{block}" if pins else f"{body}{newline}"
    end = next((n for n in range(start + 1, len(lines)) if not lines[n].startswith(" ")), len(lines))
    return "".join([*lines[:start], block, *lines[end:]])
