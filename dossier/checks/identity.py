"""Identity: what was served is pinned by digests and full revisions; what can move is never a pin."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dossier.catalog import Catalog
from dossier.catalog.pins import wanted_pins
from dossier.checks.registry import Placed, Wrong, catalog_rule, record_rule
from dossier.errors import nearest
from dossier.model.base import Record
from dossier.model.finding import Finding
from dossier.model.identity import Artifact, Identity, Runtime
from dossier.model.vocabulary import Completion

_MOVING = re.compile(
    r"/(?:blob|tree|raw|resolve|src|commits?|archive)/(?:refs/heads/)?(?:main|master|head|trunk|dev|develop)(?:[/.?#]|$)"
    r"|/(?:latest|nightly)(?:[/?#]|$)|:(?:latest|nightly)$|[?&]ref=(?:main|master)\b",
    re.IGNORECASE,
)
_NAMES_THAT_MOVE = {"main", "master", "head", "trunk", "dev", "develop", "latest", "nightly", "stable"}


@record_rule("identity/tag", Identity)
def tag_in_repository(identity: Identity, _: Catalog) -> Iterator[Wrong]:
    """A tag can be pointed elsewhere tomorrow: a repository is named without it, and pinned by digest or revision."""
    for index, artifact in enumerate(identity.artifacts):
        if isinstance(artifact.repo, str) and _tagged(artifact.repo):
            yield Wrong(("artifacts", index, "repo"), _untag(artifact.repo, "revision"))
    image = identity.runtime.image if isinstance(identity.runtime, Runtime) else None
    if image is not None and isinstance(image.repo, str) and _tagged(image.repo):
        yield Wrong(("runtime", "image", "repo"), _untag(image.repo, "digest"))


def _tagged(repo: str) -> bool:
    return "@" in repo or ":" in repo.rpartition("/")[2]


def _untag(repo: str, pin: str) -> str:
    return (
        f"{repo[:90]!r} carries a tag or revision; name the repository alone, pin it by `{pin}`, note tags in `labels`"
    )


@record_rule("identity/unpinned", Identity)
def nothing_pins_it(identity: Identity, _: Catalog) -> Iterator[Wrong]:
    """What no digest or revision pins could have been anything; a pin that is not known says why it is not."""
    for index, artifact in enumerate(identity.artifacts):
        if artifact.revision is None and not any(file.sha256 is not None for file in artifact.files):
            told = "nothing pins this artifact; write `revision`, or `files` with sha256, or revision: {unknown: why}"
            yield Wrong(("artifacts", index), told)
    runtime = identity.runtime
    if isinstance(runtime, Runtime) and runtime.image is None and runtime.commit is None:
        told = "nothing pins the runtime; write `image` with its digest, or `commit`, or commit: {unknown: why}"
        yield Wrong(("runtime",), told)


@record_rule("identity/file", Identity)
def file_listed_twice(identity: Identity, _: Catalog) -> Iterator[Wrong]:
    """A file of an artifact has one digest; listed twice, the two entries may come to disagree."""
    for number, artifact in enumerate(identity.artifacts):
        seen: set[str] = set()
        for index, file in enumerate(artifact.files):
            if file.path in seen:
                yield Wrong(
                    ("artifacts", number, "files", index, "path"), f"{file.path[:90]} is listed twice; keep one"
                )
            seen.add(file.path)


@catalog_rule("identity/size", folder=Identity.FOLDER)
def sizes_agree(catalog: Catalog) -> Iterator[Placed]:
    """Files of equal SHA-256 are equal, so their sizes are: another size means that one of the two is mistyped."""
    seen: dict[str, tuple[int, str]] = {}
    for id_ in catalog.ids(Identity.FOLDER):
        identity = catalog.identity(id_)
        for number, artifact in enumerate(identity.artifacts if identity else ()):
            for index, digest, size in _sized(artifact):
                known, where = seen.setdefault(digest, (size, id_))
                if known != size:
                    told = f"{size} bytes here, but {known} in identities/{where} for the same SHA-256; correct one"
                    yield (Identity.FOLDER, id_), Wrong(("artifacts", number, "files", index, "bytes"), told)


def _sized(artifact: Artifact) -> Iterator[tuple[int, str, int]]:
    for index, file in enumerate(artifact.files):
        if isinstance(file.sha256, str) and isinstance(file.bytes, int):
            yield index, file.sha256, file.bytes


@record_rule("identity/moving-source", Record)
def moving_revision(record: Record, _: Catalog) -> Iterator[Wrong]:
    """A branch or a tag such as `latest` is not a revision: what it names today is not what was read."""
    for index, source in enumerate(record.sources):
        if source.revision is not None and source.revision.strip().lower() in _NAMES_THAT_MOVE:
            told = f"{source.revision!r} moves; write the full revision that was read, or leave the key out"
            yield Wrong(("sources", index, "revision"), told)


@record_rule("identity/moving-artifact", Finding)
def moving_artifact(finding: Finding, _: Catalog) -> Iterator[Wrong]:
    """Evidence that lies elsewhere has to be there unchanged: its address names a revision, never a branch."""
    for index, artifact in enumerate(finding.artifacts):
        if artifact.url is not None and _MOVING.search(artifact.url):
            told = "the address follows a branch or tag; write the one that holds the full revision"
            yield Wrong(("artifacts", index, "url"), told)


@record_rule("identity/pin", Finding)
def pins_are_current(finding: Finding, catalog: Catalog) -> Iterator[Wrong]:
    """A finding names what it measured by digest, so that it can never be edited under it."""
    wanted = wanted_pins(finding, catalog)
    command = f"`dossier pin {catalog.shown}/findings/{finding.id}.yaml` writes it"
    if not finding.pins:
        if wanted and finding.completion is not Completion.OPEN:
            told = f"no `pins`, but it rests on {len(wanted)} records"
            yield Wrong(("pins",), f"{told}; {command.removesuffix('it')}them")
        return
    for name, digest in wanted.items():
        if name not in finding.pins:
            yield Wrong(("pins",), f"{name} is not pinned: {digest}; {command}", key=True)
    for name, digest in finding.pins.items():
        yield from _pin_is_right(name, digest, catalog, command)


def _pin_is_right(name: str, digest: str, catalog: Catalog, command: str) -> Iterator[Wrong]:
    folder, _, id_ = name.partition("/")
    if (folder, id_) in catalog.entries:
        if (right := catalog.digest((folder, id_))) != digest:
            yield Wrong(("pins", name), f"the digest of {name} is {right}; {command}")
    elif not catalog.exists(folder, id_):
        meant = nearest(name, (f"{f}/{i}" for f, i in catalog.entries))
        yield Wrong(("pins", name), f"there is no record {name[:90]!r}{meant}", key=True)
