"""Where every page of the site is: permalinks made of ids, never of titles or positions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from dossier.pages.shell import SearchEntry

SECTION_OF = {
    "models": "Models",
    "findings": "Findings",
    "recipes": "Recipes",
    "identities": "Identities",
    "hardware": "Hardware",
    "metrics": "Methodology",
}


@dataclass(frozen=True, slots=True)
class Page:
    """A derived page before it is put into its shell. `body` is finished HTML; the rest is plain text."""

    path: str
    section: str
    title: str
    description: str
    body: str
    search: tuple[SearchEntry, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Derived:
    """A file of the site that is no page: to be made, or to be left as it is."""

    path: str
    key: str
    make: Callable[[], bytes]


def page_of(folder: str, id_: str) -> str:
    """The path of a record's page from the site root: `findings/2026-09-09-x/`."""
    return f"methodology/#metric-{id_}" if folder == "metrics" else f"{folder}/{id_}/"


def difference_path(folder: str, before: str, after: str) -> str:
    """`recipes/a--b/`, where the page that compares two records is: no id holds two hyphens in a row."""
    return f"{folder}/{before}--{after}/"


def anchor(item_id: str) -> str:
    """The fragment of an item on its finding's page; the prefix keeps it apart from section ids."""
    return f"i-{item_id}"


def root_of(path: str) -> str:
    """The way from a page back to the site root: `findings/x/` gives `../../`, the home page `./`."""
    return "../" * path.count("/") or "./"
