"""Measured findings made anew from their published journals."""

from __future__ import annotations

from collections.abc import Iterator

from dossier.catalog import Catalog
from dossier.errors import DossierError, Problem
from dossier.model.finding import Finding

_FIGURES = "figures.json"


def rebuilt(catalog: Catalog) -> Iterator[tuple[str, list[Problem]]]:
    """Every finding whose journal is published, and what is wrong with it: a broken chain, or other figures.

    Needs the extra `runner`; ImportError without it.
    """
    from dossier.runner.record import figures_of, published_journal  # noqa: PLC0415  (an extra)

    for id_ in catalog.ids(Finding.FOLDER):
        finding = catalog.finding(id_)
        if finding is None:
            continue
        names = [file.path for file in finding.artifacts if file.path is not None]
        kept = {name: catalog.kept_bytes(f"{id_}/{name}") or b"" for name in names if name.startswith("journal")}
        journal = published_journal(kept)
        if not journal or _FIGURES not in names:
            continue
        shown = f"{catalog.shown}/artifacts/{id_}"
        try:
            same = figures_of(journal) == catalog.kept_bytes(f"{id_}/{_FIGURES}")
        except DossierError as error:
            yield id_, [Problem(f"{shown}/journal.jsonl", 1, 1, "artifacts/journal", str(error))]
            continue
        told = "these are not the figures that follow from the journal beside it"
        yield id_, [] if same else [Problem(f"{shown}/{_FIGURES}", 1, 1, "artifacts/journal", told)]
