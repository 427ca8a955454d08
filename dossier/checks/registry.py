"""Rules: one small function each, that yields what is wrong and where; nothing is printed, nothing raised.

A record rule looks at one record and at those it names; its results are cached until one of them changes. A
catalog rule looks at all summaries at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from dossier.catalog import Catalog, Key
from dossier.derive.walk import Place
from dossier.errors import Severity
from dossier.model.base import Record
from dossier.source import Mark

R = TypeVar("R", bound=Record)


@dataclass(frozen=True, slots=True)
class Wrong:
    """One thing that is wrong at a place of a record; `key` points at the key rather than its value.

    `mark` is given where the text of the file is wrong and not a value in it, such as a comment.
    """

    place: Place
    message: str
    severity: Severity = Severity.ERROR
    key: bool = False
    mark: Mark | None = None


Placed = tuple[Key | str, Wrong]
CatalogCheck = Callable[[Catalog], Iterable[Placed]]


@dataclass(frozen=True, slots=True)
class RecordRule(Generic[R]):
    """A rule over one record of a kind."""

    id: str
    kind: type[R]
    why: str
    check: Callable[[R, Catalog], Iterable[Wrong]]


@dataclass(frozen=True, slots=True)
class CatalogRule:
    """A rule over the catalog; it says in which record each problem stands, or in which other file by its path.

    What it finds follows from the records of one folder alone, where one is named: from findings, as summaries have
    them.
    """

    id: str
    why: str
    check: CatalogCheck
    folder: str = ""


RECORD_RULES: dict[str, RecordRule[Record]] = {}
CATALOG_RULES: dict[str, CatalogRule] = {}


def record_rule(
    rule_id: str, kind: type[R]
) -> Callable[[Callable[[R, Catalog], Iterable[Wrong]]], Callable[[R, Catalog], Iterable[Wrong]]]:
    """Register a function as a rule over one kind of record; its docstring says why."""

    def register(check: Callable[[R, Catalog], Iterable[Wrong]]) -> Callable[[R, Catalog], Iterable[Wrong]]:
        RECORD_RULES[rule_id] = RecordRule(rule_id, kind, check.__doc__ or "", check)  # type: ignore[arg-type]
        return check

    return register


def catalog_rule(rule_id: str, why: str = "", folder: str = "") -> Callable[[CatalogCheck], CatalogCheck]:
    """Register a function as a rule over the whole catalog; its docstring, or `why`, says why."""

    def register(check: CatalogCheck) -> CatalogCheck:
        CATALOG_RULES[rule_id] = CatalogRule(rule_id, why or check.__doc__ or "", check, folder)
        return check

    return register
