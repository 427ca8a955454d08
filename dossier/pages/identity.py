"""The page of an identity: every pin of what was served; and the list of identities."""

from __future__ import annotations

from markupsafe import Markup

from dossier.errors import RenderError
from dossier.model.identity import Artifact, Identity, Patch, PinnedFile, Runtime
from dossier.pages.context import Site
from dossier.pages.fields import Pairs, Writer, rest
from dossier.pages.markup import html, joined
from dossier.pages.places import Page, page_of
from dossier.pages.records import record_facts, record_head, record_search
from dossier.pages.tables import Labels, grid

_FILE: Labels = {"bytes": "Size", "sha256": ("SHA-256", "wide")}


def identity_page(site: Site, id_: str) -> Page:
    """The whole page. Raises RenderError where there is no such valid identity."""
    identity = site.catalog.identity(id_)
    if identity is None:
        raise RenderError(f"identities/{id_}: there is no such record")
    path = page_of("identities", id_)
    view = site.view(path)
    writer = Writer(view)
    runtime = identity.runtime if isinstance(identity.runtime, Runtime) else None
    body = view.render(
        "identity.html.j2", r=identity, w=writer,
        artifacts=[_artifact(writer, artifact) for artifact in identity.artifacts],
        runtime=_runtime(writer, identity),
        patches=grid(
            writer, runtime.patches if runtime is not None else (), rest(Patch, "what"),
            head=("Patch", lambda patch: patch.what),
        ),
        served=writer.facts(identity, ("served_name", "aliases", "template_sha256")),
        quantization=writer.facts(identity.quantization) if identity.quantization is not None else [],
        recipes=site.recipes_on("identities", id_), record=record_facts(writer, identity),
    )  # fmt: skip
    told = f"Identity {identity.title}: revisions, digests, runtime and licenses of what was served."
    return Page(path, "Identities", identity.title, told, body, record_search(view, path, identity))


def _artifact(writer: Writer, artifact: Artifact) -> tuple[Artifact, Pairs, object]:
    """An artifact, its facts, and the table of its files."""
    files = grid(
        writer, artifact.files, ("bytes", "sha256", *rest(PinnedFile, "path", "bytes", "sha256")),
        head=("Path", lambda file: html("<code>%s</code>", file.path)), labels=_FILE,
    )  # fmt: skip
    return artifact, writer.facts(artifact, but=("role", "name", "files")), files


def _runtime(writer: Writer, identity: Identity) -> Pairs:
    runtime = identity.runtime
    if not isinstance(runtime, Runtime):
        shown = writer.value(runtime)
        return [("Runtime", shown)] if shown is not None else []
    facts = writer.facts(runtime, but=("image", "patches"))
    image = runtime.image
    if image is not None:
        facts += [(f"Image {label.lower()}", value) for label, value in writer.facts(image)]
    return facts


def identity_index(site: Site) -> Page:
    """Every identity in one table."""
    view = site.view("identities/")
    writer = Writer(view)
    identities = [found for id_ in site.catalog.ids("identities") if (found := site.catalog.identity(id_)) is not None]

    def revisions(identity: Identity) -> Markup:
        return joined("<br>", [_short(writer, artifact) for artifact in identity.artifacts])

    def image(identity: Identity) -> object:
        runtime = identity.runtime
        found = runtime.image.digest if isinstance(runtime, Runtime) and runtime.image is not None else None
        return writer.parts.digest(found) if isinstance(found, str) else found

    table = grid(
        writer, identities, ("revisions", "engine", "image", "served_name", "recipes"),
        head=record_head(view, "identities", "Identity"),
        cells={
            "revisions": revisions,
            "image": image,
            "engine": lambda i: i.runtime.engine if isinstance(i.runtime, Runtime) else i.runtime,
            "recipes": lambda i: len(site.recipes_on("identities", i.id)),
        },
        labels={"revisions": ("Artifacts", "mid"), "engine": ("Engine", "mid"), "image": ("Image", "mid"),
                "served_name": ("Served name", "mid"), "recipes": ("Recipes", "num")},
    )  # fmt: skip
    lede = "Every pin of what was served: weights, runtime, patches. Tags are notes, never pins."
    body = view.render(
        "records.html.j2", title="Identities", lede=lede, table=table, noun=("identity", "identities")
    )  # fmt: skip
    return Page("identities/", "Identities", "Identities", lede, body)


def _short(writer: Writer, artifact: Artifact) -> Markup:
    """`target git a5fee929cf48`, or why the revision is not known."""
    revision = artifact.revision
    shown = writer.parts.digest(revision, "git") if isinstance(revision, str) else writer.value(revision) or ""
    return html("%s %s", artifact.role, shown)
