"""The page that says where programs find the records, and shows a program that reads them."""

from __future__ import annotations

from dossier.model.json_schema import KINDS
from dossier.pages.context import Site
from dossier.pages.exports import api
from dossier.pages.places import Page
from dossier.pages.shell import SearchEntry

PATH = "data/"
_WORDS = "Every record as JSON at an address that stays, with its schema and digest; feeds; the digest of every file."


def data_page(site: Site) -> Page:
    """The page; it hangs on the package alone."""
    schemas = [(kind, type_.FOLDER, api.schema_path(kind)) for kind, type_ in sorted(KINDS.items())]
    body = site.view(PATH).render("data.html.j2", words=_WORDS, schemas=schemas, index=api.INDEX, openapi=api.OPENAPI)
    return Page(PATH, "Home", "Data", _WORDS, body, (SearchEntry(PATH, "Data", _WORDS),))
