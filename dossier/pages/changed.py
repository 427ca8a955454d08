"""Which pages two states of the evidence make differently, and which figures appear on them or go.

Only pages whose keys differ are made, both of them, and only those whose text or figures then differ are told: an
index that lists what did not change is the same page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin

from dossier.cache import Cache
from dossier.catalog import Catalog
from dossier.pages.context import Site
from dossier.pages.environment import environment
from dossier.pages.places import Page
from dossier.pages.plan import Keys, Planned, plan, stamp

_FIGURE = "dx-fig"
_INLINE = frozenset({"a", "abbr", "b", "bdi", "button", "code", "data", "em", "i", "small", "span", "strong", "sub",
                     "sup", "time", "wbr"})  # fmt: skip
"""Tags that do not end a line of text."""


@dataclass(frozen=True, slots=True)
class Changed:
    """A page that is new, gone, or says something else. `before` and `after` say whether it is there.

    `come` and `gone` are the figures, as shown, that only one of the two pages has; a figure that stands at another
    item is another figure. `lines` counts lines of text that are added and removed.
    """

    path: str
    before: bool
    after: bool
    come: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    lines: tuple[int, int] = (0, 0)


def changed_pages(project: Path, before: Catalog, after: Catalog, cache: Cache) -> list[Changed]:
    """Every page of the site that differs, in order of paths. Both catalogs passed their checks.

    Templates and code are today's on both sides, so that only the evidence makes a difference.
    """
    old, new = _planned(project, before, cache), _planned(project, after, cache)
    return list(_changed(old, new))


def _planned(project: Path, catalog: Catalog, cache: Cache) -> dict[str, Planned]:
    site = Site(catalog, environment(project, cache.folder))
    return {page.path: page for page in plan(site, Keys(site, stamp(project)), cache)}


def _changed(old: Mapping[str, Planned], new: Mapping[str, Planned]) -> Iterator[Changed]:
    for path in sorted({*old, *new}):
        was, becomes = old.get(path), new.get(path)
        if was is None or becomes is None:
            yield Changed(path, was is not None, becomes is not None)
        elif was.key != becomes.key and (found := compared(was.make(), becomes.make())) is not None:
            yield found


def compared(was: Page, becomes: Page) -> Changed | None:
    """How a page differs; None where a reader sees no difference."""
    if was.body == becomes.body:
        return None
    one, other = _Reader(was), _Reader(becomes)
    come, gone = other.figures - one.figures, one.figures - other.figures
    lines = (other.lines - one.lines).total(), (one.lines - other.lines).total()
    if not (come or gone or any(lines)):
        return None
    return Changed(was.path, before=True, after=True, come=_shown(come), gone=_shown(gone), lines=lines)


def _shown(figures: Counter[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for _, text in figures))


@dataclass
class _Reader(HTMLParser):
    """The lines of text of a page and its figures, each with the item that it leads to."""

    page: Page
    lines: Counter[str] = field(default_factory=Counter)
    figures: Counter[tuple[str, str]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._line: list[str] = []
        self._href = ""
        self._figure: list[str] = []
        self._inside: list[str] = []
        self.feed(self.page.body)
        self.close()
        self._end_line()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag not in _INLINE:
            self._end_line()
        if self._inside:
            self._inside += [tag] if tag == self._inside[0] else []
        elif _FIGURE in (given.get("class") or "").split():
            self._href, self._figure, self._inside = urljoin(f"/{self.page.path}", given.get("href")), [], [tag]

    def handle_endtag(self, tag: str) -> None:
        if tag not in _INLINE:
            self._end_line()
        if self._inside and tag == self._inside[0]:
            self._inside.pop()
            if not self._inside:
                self.figures[self._href, " ".join("".join(self._figure).split())] += 1

    def handle_data(self, data: str) -> None:
        self._line.append(data)
        if self._inside:
            self._figure.append(data)

    def _end_line(self) -> None:
        text = " ".join("".join(self._line).split())
        self._line = []
        if text:
            self.lines[text] += 1
