"""The artifact index: every raw file behind the figures, and every pinned file of an identity."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

from dossier.catalog.summary import Summary
from dossier.model.finding import KeptFile
from dossier.model.identity import Artifact, Identity, PinnedFile
from dossier.pages.context import Site
from dossier.pages.places import Page
from dossier.pages.shell import SearchEntry

PATH = "artifacts/"
_WORDS = "Every raw file that figures point into, with its size and digest, and every pinned file of what was served."


@dataclass(frozen=True, slots=True)
class Cited:
    """An artifact and the finding that cites it. `download` is its place on the site, for a published file."""

    summary: Summary
    file: KeptFile
    download: str


@dataclass(frozen=True, slots=True)
class Pinned:
    """A pinned file, or a pinned repository where no file is listed."""

    identity: Identity
    artifact: Artifact
    file: PinnedFile | None


def artifact_index(site: Site) -> Page:
    """The page. Findings without artifacts are counted by provenance, so that a gap is seen as one."""
    cited = list(_cited(site))
    without = [s for s in reversed(site.catalog.dated) if not s.artifacts]
    body = site.view(PATH).render(
        "artifacts.html.j2", words=_WORDS, cited=cited, without=without, pinned=list(_pinned(site))
    )
    found = " ".join(f"{c.file.path or c.file.url or c.file.id} {c.file.sha256}" for c in cited)
    return Page(PATH, "Artifacts", "Artifacts", _WORDS, body, (SearchEntry(PATH, "Artifacts", f"{_WORDS} {found}"),))


def _cited(site: Site) -> Iterator[Cited]:
    for summary in reversed(site.catalog.dated):
        for file in summary.artifacts:
            place = quote(f"{PATH}files/{summary.id}/{file.path}") if file.path else ""
            yield Cited(summary, file, place)


def _pinned(site: Site) -> Iterator[Pinned]:
    for id_ in site.catalog.ids("identities"):
        identity = site.catalog.identity(id_)
        if identity is None:
            continue
        for artifact in identity.artifacts:
            for file in artifact.files or (None,):
                yield Pinned(identity, artifact, file)
