"""The run catalogue: every finding as a row, the newest on one page and every year on its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dossier.catalog.summary import Summary
from dossier.pages.context import Site
from dossier.pages.places import Page
from dossier.pages.runrows import run_table, runs
from dossier.pages.shell import SearchEntry

PATH = "findings/"
NEWEST = 500
"""Rows of the first page. Older ones stand on the pages of their years, from which its filters fetch them."""


@dataclass(frozen=True, slots=True)
class Year:
    """A year with its page and how many findings it has."""

    name: str
    path: str
    count: int


def years(site: Site) -> list[Year]:
    """Every year that has findings, newest first."""
    counts: dict[str, int] = {}
    for summary in reversed(site.catalog.dated):
        name = f"{summary.date.year:04d}"
        counts[name] = counts.get(name, 0) + 1
    return [Year(name, year_path(name), count) for name, count in counts.items()]


def year_path(name: str) -> str:
    """The page of a year. No finding has such an id: they begin with a whole date."""
    return f"{PATH}{name}/"


def of_year(site: Site, name: str) -> list[Summary]:
    """The findings of a year, oldest first."""
    return [s for s in site.catalog.dated if f"{s.date.year:04d}" == name]


def catalogue(site: Site) -> Page:
    """The newest findings in one table, which the script of the page filters together with those of all years."""
    every = site.catalog.dated
    words = (
        f"{len(every):,} dated findings, newest first: kind, classes, provenance, outcome, gates, recipes, hardware."
    )
    return _page(site, PATH, "Run catalogue", words, every[-NEWEST:])


def year_page(site: Site, name: str) -> Page:
    """All findings of one year."""
    found = of_year(site, name)
    noun = "finding" if len(found) == 1 else "findings"
    return _page(site, year_path(name), f"Findings of {name}", f"{len(found):,} {noun} of {name}, newest first.", found)


def _page(site: Site, path: str, title: str, words: str, found: Sequence[Summary]) -> Page:
    view = site.view(path)
    partial = path == PATH and len(found) < len(site.catalog.dated)
    table = run_table(view, runs(site, reversed(found)), "Newest findings" if partial else "Dated findings")
    every = years(site)
    body = view.render(
        "catalogue.html.j2", title=title, words=words, table=table, years=every, path=path, top=path == PATH,
        total=len(site.catalog.dated), shown=len(found),
        more=[year.path.removeprefix(PATH) for year in every] if partial else [],
    )  # fmt: skip
    search = (SearchEntry(path, title, words),) if path == PATH else ()
    return Page(path, "Findings", title, words, body, search)
