"""What the pages of recipes, identities and hardware have in common."""

from __future__ import annotations

import re
from collections.abc import Sequence

from markupsafe import Markup

from dossier.catalog.summary import Summary
from dossier.model.base import Record
from dossier.pages.context import View
from dossier.pages.fields import Pairs, Writer
from dossier.pages.markup import html, joined, moment
from dossier.pages.shell import SearchEntry
from dossier.pages.tables import Cell, Grid, grid

_PIN = re.compile(r"\b(?:[0-9a-f]{64}|[0-9a-f]{40})\b")


def record_facts(writer: Writer, record: Record) -> Pairs:
    """Id, digest and notes of a record."""
    digest = writer.view.site.catalog.digest((record.FOLDER, record.id))
    facts: Pairs = [("Id", html("<code>%s</code>", record.id)), ("Digest", writer.pin(digest))]
    return [*facts, *writer.facts(record, ("notes",))]


def record_search(view: View, path: str, record: Record) -> tuple[SearchEntry, ...]:
    """How the search finds a record: by title, id, notes, its own digest, and every revision and digest it pins."""
    notes = view.plain(record.notes) if record.notes else ""
    pinned = dict.fromkeys(_PIN.findall(record.model_dump_json(exclude_defaults=True)))
    digest = view.site.catalog.digest((record.FOLDER, record.id)).removeprefix("sha256:")
    text = " ".join(filter(None, (record.id, notes, digest, *pinned)))
    return (SearchEntry(path, str(getattr(record, "title", record.id)), text),)


def record_head(view: View, folder: str, label: str) -> tuple[str, Cell]:
    """The head of an index's rows: a record's title, linked, and its id."""

    def head(record: Record) -> Markup:
        link = html('<a href="%s">%s</a>', view.href(folder, record.id), getattr(record, "title", record.id))
        return html('%s<br><span class="dx-unit">%s</span>', link, record.id)

    return label, head


def finding_list(writer: Writer, summaries: Sequence[Summary]) -> Grid:
    """Findings in date order, newest first."""
    return grid(
        writer, summaries[::-1], ("date", "finding", "kind", "provenance", "classes"), ids=[""] * len(summaries),
        cells={
            "date": lambda s: moment(s.date),
            "finding": lambda s: writer.view.link("findings", s.id),
            "classes": lambda s: joined(" ", [writer.word(c) for c in s.classes]),
        },
        labels={"finding": ("Finding", "wide"), "classes": ("Classes", "wide")},
    )  # fmt: skip
