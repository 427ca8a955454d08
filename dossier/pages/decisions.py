"""The decision page: every decision about every model in time, and who held which lane at each date."""

from __future__ import annotations

from dossier.pages.context import Site
from dossier.pages.lanes import as_of, decided
from dossier.pages.places import Page
from dossier.pages.shell import SearchEntry

PATH = "decisions/"
_WORDS = "Every decision in time, what it did to its lanes and what became of it, and what was current at each date."


def decision_page(site: Site) -> Page:
    """The timeline over all models, and the lanes of each model as of every date of decision."""
    view = site.view(PATH)
    tables = [(subject, as_of(site, subject)) for subject in site.subjects]
    body = view.render("decisions.html.j2", entries=decided(site), tables=tables, words=_WORDS)
    return Page(PATH, "Decisions", "Decisions", _WORDS, body, (SearchEntry(PATH, "Decisions", _WORDS),))
