"""The page on which a reader puts two records side by side; the script reads both as JSON."""

from __future__ import annotations

from dossier.pages.context import Site
from dossier.pages.difference import pairs
from dossier.pages.places import Page
from dossier.pages.shell import SearchEntry

PATH = "compare/"
_WORDS = "Two recipes, findings or arms side by side: what differs, which populations match, and which do not and why."
_MOST = 200
"""Pairs that have a page of their own and are listed, the newest."""


def compare_page(site: Site) -> Page:
    """The page: a place for the script, and without it the pairs that have pages of their own."""
    made = list(pairs(site))
    view = site.view(PATH)
    body = view.render("compare.html.j2", words=_WORDS, pairs=made[::-1][:_MOST], total=len(made))
    return Page(PATH, "Home", "Compare", _WORDS, body, (SearchEntry(PATH, "Compare", _WORDS),))
