"""YAML text to plain data with positions; YAML never types a scalar here.

Every leaf is text: a plain scalar keeps exactly what stands in the file (`0012345`, `5e10`, `97.60`, `no`),
a quoted or block scalar what its escapes and folding say. What a reader could misjudge is refused, with a
place and with what to write instead: anchors, aliases, tags, duplicate and merge keys, empty values, deep or
huge files, odd bytes.

Only parser events are used, so nothing is constructed, expanded or resolved.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeAlias

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from dossier.errors import Problem

Path: TypeAlias = tuple[str | int, ...]
"""Keys and indices from the root to a value: `("arms", "candidate", "recipe")`."""

MAX_BYTES: Final = 1 << 20
"""The largest file that is read, in bytes."""

MAX_SCALAR: Final = 1 << 16
"""The longest scalar that is kept, in characters."""

MAX_DEPTH: Final = 32
"""How many mappings and lists may stand inside each other, the root being the first."""

MAX_PROBLEMS: Final = 200
"""After so many problems the rest of a file is not looked at."""

_Event: TypeAlias = Any  # an event of yaml.events; its stubs allow a missing mark, which parsers never give
_LOADER: Final[Any] = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # PyYAML may be built without libyaml
_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
_NO_KEYS: Final = frozenset({"", "<<"})

# YAML counts U+0085, U+2028, U+2029 and a lone CR as line ends, editors do not: positions would differ.
_CONTROLS: Final = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufeff\ufffe\uffff"
_FORBIDDEN: Final = re.compile(rf"[{_CONTROLS}\u2028\u2029]|\r(?!\n)")
_HARMLESS: Final = bytes(range(0x20, 0x7F)) + b"\t\n"
_CONTROL: Final = re.compile(rf"[{_CONTROLS}]")


@dataclass(frozen=True, slots=True)
class Mark:
    """A position in a file; line and column count from 1, the column in characters."""

    line: int
    column: int


_START: Final = Mark(1, 1)


@dataclass(frozen=True)
class Document:
    """One YAML file as dicts, lists and text, and the way back from a path to its place in the file.

    `text` is what was read. Positions are found by reading it again when the first one is asked for: most
    files have no problem to place, and a document restored from a cache is its data and its text.
    """

    data: dict[str, Any]
    text: str

    @property
    def marks(self) -> Mapping[Path, Mark]:
        """Where each value begins."""
        return self._places[0]

    @property
    def key_marks(self) -> Mapping[Path, Mark]:
        """Where the key of each mapping member begins."""
        return self._places[1]

    def locate(self, path: Path, *, key: bool = False) -> Mark:
        """The place of a value or of its key; of the nearest known ancestor of a path that does not exist."""
        if key and path in self.key_marks:
            return self.key_marks[path]
        while path and path not in self.marks:
            path = path[:-1]
        return self.marks.get(path, _START)

    @cached_property
    def _places(self) -> tuple[dict[Path, Mark], dict[Path, Mark]]:
        return _Surveyor(self.text).places()


def read_document(text: bytes | str, path: str) -> tuple[Document | None, list[Problem]]:
    """Read one YAML mapping; `path` is only what problems are reported against.

    Gives a document exactly when there is no problem. Problems come in file order, as many as one pass
    can find: only an odd byte, a syntax error, too great a depth, a second document or 200 problems end it.
    """
    raw = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    decoded, problem = _decode(raw, path)
    if problem is not None:
        return None, [problem]
    reader = _Reader(decoded, path)
    data = reader.root()
    if reader.problems:
        return None, sorted(reader.problems)
    return Document(data, decoded), []


def _decode(raw: bytes, path: str) -> tuple[str, Problem | None]:
    """The text of a file, or the problem that keeps it from being text."""
    if len(raw) > MAX_BYTES:
        message = f"{len(raw)} bytes, at most {MAX_BYTES} are read; keep raw output in an artifact"
        return "", Problem(path, 1, 1, "source/size", message)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        mark = _mark_at(raw[: error.start].decode("utf-8"), None)
        message = f"byte 0x{raw[error.start]:02x} is not UTF-8; save the file as UTF-8"
        return "", Problem(path, mark.line, mark.column, "source/encoding", message)
    unusual = raw.translate(None, _HARMLESS).decode("utf-8")  # what is left is short, and soon searched
    found = _FORBIDDEN.search(text) if _FORBIDDEN.search(unusual) else None
    if found is None:
        return text, None
    mark = _mark_at(text, found.start())
    return "", Problem(path, mark.line, mark.column, "source/encoding", _forbidden(found[0], found.start()))


def _mark_at(text: str, index: int | None) -> Mark:
    before = text[:index]
    return Mark(before.count("\n") + 1, len(before) - before.rfind("\n"))


def _forbidden(character: str, index: int) -> str:
    if character == "\ufeff" and index == 0:
        return "the file begins with a byte order mark; save it as UTF-8 without BOM"
    if character == "\r":
        return "a carriage return without a line feed; end lines with LF or CRLF"
    return f"character U+{ord(character):04X} cannot be seen in an editor; remove it"


class _Stop(Exception):  # noqa: N818  (not an error: the problem is already noted)
    """Reading on would add nothing."""


class _Reader:
    """Turns parser events into data and notes each problem on the way."""

    def __init__(self, text: str, path: str) -> None:
        self.problems: list[Problem] = []
        self._path = path
        self._text = text
        self._next = _LOADER(text).get_event
        # Without these signs no scalar can be odd, and most files are without: asking each costs a fifth of reading.
        self._careful = len(text) > MAX_SCALAR or any(sign in text for sign in "&!\\")

    def root(self) -> dict[str, Any]:
        """The one mapping of the file; what there is of it where problems were noted."""
        try:
            return self._root()
        except _Stop:
            return {}
        except (yaml.YAMLError, ValueError, OverflowError) as error:  # the latter two: PyYAML without libyaml
            self.problems.append(_syntax_problem(error, self._text, self._path))
            return {}

    def _root(self) -> dict[str, Any]:
        self._next()  # the start of the stream
        if not isinstance(self._next(), DocumentStartEvent):
            self._stop(_START, "root", "the file is empty; write a record, beginning with `schema:`")
        event = self._next()
        if not isinstance(event, MappingStartEvent):
            self._stop(_mark(event), "root", "a record is a mapping; begin with `schema: dossier/...`")
        self._refuse_properties(event)
        data = self._mapping(1)
        self._next()  # the end of the document
        event = self._next()
        if isinstance(event, DocumentStartEvent):
            self._stop(_mark(event), "several-documents", "a second document; write one record a file")
        return data

    def _collection(self, event: _Event, depth: int) -> object:
        kind = type(event)
        if kind is AliasEvent:
            self._note(event, "alias", f"`*{_short(event.anchor)}` repeats a value; write the value itself")
            return ""
        if event.anchor is not None or event.tag is not None:
            self._refuse_properties(event)
        if depth == MAX_DEPTH:
            self._stop(_mark(event), "depth", _TOO_DEEP)
        return self._mapping(depth + 1) if kind is MappingStartEvent else self._sequence(depth + 1)

    def _mapping(self, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        next_event, careful = self._next, self._careful
        while True:
            event = next_event()
            if type(event) is ScalarEvent:
                key = event.value
                if careful or key in result or key in _NO_KEYS:
                    self._refuse_odd_key(event, result)
            elif type(event) is MappingEndEvent:
                return result
            else:
                key = self._refuse_key(event, depth)
            event = next_event()
            if type(event) is ScalarEvent:
                result[key] = event.value
                if careful or event.value in _NULLS:
                    self._refuse_odd_value(event)
            else:
                result[key] = self._collection(event, depth)

    def _sequence(self, depth: int) -> list[Any]:
        result: list[Any] = []
        next_event, careful = self._next, self._careful
        while True:
            event = next_event()
            if type(event) is ScalarEvent:
                result.append(event.value)
                if careful or event.value in _NULLS:
                    self._refuse_odd_value(event)
            elif type(event) is SequenceEndEvent:
                return result
            else:
                result.append(self._collection(event, depth))

    def _refuse_odd_value(self, event: _Event) -> None:
        if event.value in _NULLS and event.implicit[0]:
            self._note(event, "empty", _empty(event))
        self._refuse_odd(event, event.value)

    def _refuse_odd_key(self, event: _Event, siblings: Mapping[str, Any]) -> None:
        key: str = event.value
        if not key:
            self._note(event, "key", "an empty key; write its name")
        elif key == "<<":
            self._note(event, "key", "merge keys are not read; write the members themselves")
        elif key in siblings:
            self._note(event, "duplicate-key", f"the key `{_short(key)}` stands here twice; keep one")
        self._refuse_odd(event, key)

    def _refuse_key(self, event: _Event, depth: int) -> str:
        if type(event) is not AliasEvent:
            self._note(event, "key", "a list or mapping cannot be a key; write text, quoted if need be")
        self._collection(event, depth)
        return ""

    def _refuse_odd(self, event: _Event, value: str) -> None:
        if event.anchor is not None or event.tag is not None:
            self._refuse_properties(event)
        if len(value) > MAX_SCALAR:
            message = f"{len(value)} characters, at most {MAX_SCALAR}; keep long output in an artifact"
            self._note(event, "size", message)
        if event.style == '"' and (found := _CONTROL.search(value)):
            message = f"the text holds the control character U+{ord(found[0]):04X}; describe it in words"
            self._note(event, "encoding", message)

    def _refuse_properties(self, event: _Event) -> None:
        if event.anchor is not None:
            self._note(event, "anchor", f"remove `&{_short(event.anchor)}`, or quote text that begins with &")
        if event.tag is not None:
            self._note(event, "tag", "remove the tag, or quote text that begins with !")

    def _note(self, event: _Event, rule: str, message: str) -> None:
        mark = _mark(event)
        self.problems.append(Problem(self._path, mark.line, mark.column, f"source/{rule}", message))
        if len(self.problems) == MAX_PROBLEMS:
            raise _Stop

    def _stop(self, mark: Mark, rule: str, message: str) -> None:
        self.problems.append(Problem(self._path, mark.line, mark.column, f"source/{rule}", message))
        raise _Stop


class _Surveyor:
    """Finds where each value and key of a faultless text stands; an empty text has none."""

    def __init__(self, text: str) -> None:
        self._next = _LOADER(text).get_event
        self._values: dict[Path, Mark] = {}
        self._keys: dict[Path, Mark] = {}

    def places(self) -> tuple[dict[Path, Mark], dict[Path, Mark]]:
        """Positions of the values and of the keys, by path."""
        self._next()  # the start of the stream
        if isinstance(self._next(), DocumentStartEvent):
            self._visit(self._next(), ())
        return self._values, self._keys

    def _visit(self, event: _Event, path: Path) -> None:
        self._values[path] = _mark(event)
        if type(event) is MappingStartEvent:
            while type(event := self._next()) is not MappingEndEvent:
                member = (*path, event.value)
                self._keys[member] = _mark(event)
                self._visit(self._next(), member)
        elif type(event) is SequenceStartEvent:
            index = 0
            while type(event := self._next()) is not SequenceEndEvent:
                self._visit(event, (*path, index))
                index += 1


def _mark(event: _Event) -> Mark:
    return Mark(event.start_mark.line + 1, event.start_mark.column + 1)


def _short(text: str) -> str:
    shown = repr(text[:60])[1:-1]  # an escape sequence must not reach a terminal
    return shown if len(text) <= 60 else f"{shown}..."


def _empty(event: _Event) -> str:
    written = f"`{event.value}` is no value" if event.value else "no value stands here"
    return f"{written}; write one, or `{{unknown: why}}`, or leave the key out"


_OPENERS: Final = ("while scanning an alias", "while scanning an anchor", "while scanning a tag")
_TOO_DEEP: Final = f"more than {MAX_DEPTH} levels; write a flatter record"

# A sign in what the parser says (libyaml's words or PyYAML's own), and what the writer can do about it.
_ADVICE: Final = (
    ("mapping values are not allowed", "a `: ` where no key can stand; quote the text, or align the key"),
    ("entries are not allowed", "a list cannot begin beside its key; give each `- ` a line of its own"),
    ("cannot start any token", "plain text cannot begin with `{at}`; put the text in quotes"),
    ("unexpected end of stream", "the quote that opens here is never closed; write the closing quote"),
    ("unexpected document", "`---` or `...` inside quotes; close the quote above, or indent the line"),
    ("escape c", "not an escape of YAML; write two backslashes, or use single quotes"),
    ("hexdecimal number", "not an escape of YAML; write two backslashes, or use single quotes"),
    ("',' or ']'", "the [ of line {line} is not closed; write `,` or `]`, or quote the text"),
    ("',' or '}'", "the {{ of line {line} is not closed; write `,` or `}}`, or quote the text"),
    ("expected ':'", "neither a key nor more of the text above; write `key: value`, or indent the text"),
    ("comment or line break", "text after | or > begins on the next line, indented"),
    ("chomping", "text after | or > begins on the next line, indented"),
    ("block scalar", "the lines after | or > are not evenly indented; use the same spaces for all"),
    ("block collection", "not part of the list of line {line}; write `- ` in the column of the others"),
    ("block mapping", "not part of the mapping of line {line}; align the key, or quote the whole value"),
    ("node content", "a value is missing; write one, or quote a text that begins with a comma or bracket"),
    ("directive", "directives are not read; remove the line that begins with %"),
    ("incompatible YAML", "directives are not read; remove the line that begins with %"),
)


def _syntax_problem(error: Exception, text: str, path: str) -> Problem:
    """The parser's complaint, in words that say what to write."""
    said = f"{getattr(error, 'context', None) or ''}: {getattr(error, 'problem', None) or error}"
    at: Any = getattr(error, "problem_mark", None)
    opened: Any = getattr(error, "context_mark", None) or at
    if said.startswith(_OPENERS) or "unexpected end of stream" in said:
        at = opened  # where it begins says more than where it breaks off
    if at is None:
        return Problem(path, 1, 1, "source/syntax", f"not readable as YAML: {said.lstrip(': ')}")
    rule, message = _reworded(said, _character(text, at.line, at.column), opened.line + 1)
    return Problem(path, at.line + 1, at.column + 1, rule, message)


def _reworded(said: str, at: str, line: int) -> tuple[str, str]:
    if at == "\t" or "tab character" in said:
        return "source/tab", "a tab in the indentation; indent with spaces"
    if "nesting depth" in said:
        return "source/depth", _TOO_DEEP
    for kind, sign in (("alias", "*"), ("anchor", "&"), ("tag", "!")):
        if f" {kind}" in said:
            return f"source/{kind}", f"text that begins with `{sign}` must stand in quotes"
    for sign, advice in _ADVICE:
        if sign in said:
            return "source/syntax", advice.format(at=at, line=line)
    return "source/syntax", f"not readable as YAML: {said.lstrip(': ')}"


def _character(text: str, line: int, column: int) -> str:
    lines = text.split("\n", line + 1)
    return lines[line][column : column + 1] if line < len(lines) else ""
