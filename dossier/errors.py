"""The error tree and the `Problem` value.

DossierError
├── UsageError      the command was asked for something that cannot be (exit 2)
├── StorageError    a file could not be read or written (exit 2)
└── RenderError     a page could not be built from valid records (exit 1)

A problem in somebody's evidence is a *value*, collected and shown with all others; an exception is for a stop.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class DossierError(Exception):
    """Base of every error that this package raises on purpose; its text is meant for a person."""


class UsageError(DossierError):
    """The command line, or a project setting, asks for something that cannot be done."""


class StorageError(DossierError):
    """A file or folder could not be read or written."""


class RenderError(DossierError):
    """A page could not be made from records that passed every check."""


class Severity(StrEnum):
    """How much a problem weighs: an error keeps a finding from being published, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing that is wrong in one file, and what to write instead.

    `path` is relative to the project root, POSIX style; `line` and `column` count from 1.
    """

    path: str
    line: int
    column: int
    rule: str
    message: str
    severity: Severity = Severity.ERROR

    def __str__(self) -> str:
        note = "" if self.severity is Severity.ERROR else "warning: "
        path = self.path if self.path.isprintable() else repr(self.path)[1:-1]  # a file's name may hold a line end
        return f"{path}:{self.line}:{self.column}: {self.rule}: {note}{self.message}"


def nearest(word: str, words: Iterable[str]) -> str:
    """`; did you mean 'demo-a'?` where one of the words is much like the given one, to end a message with; else ''."""
    close = difflib.get_close_matches(word, sorted(words), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
