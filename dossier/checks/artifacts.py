"""Artifacts: the raw evidence is there, unchanged, and the figures point into it and agree with it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dossier.catalog import Catalog
from dossier.checks.registry import Placed, Wrong, catalog_rule, record_rule
from dossier.derive.kept import PointerError, numbers_at, read_json, says_the_same
from dossier.model.base import Quantity
from dossier.model.finding import Finding, KeptFile
from dossier.model.measurement import Measurement
from dossier.model.vocabulary import Provenance

MAX_FILE = 1 << 20
"""The largest artifact that is published, in bytes."""
MAX_FINDING = 5 << 20
"""The most that the artifacts of one finding may take together, in bytes."""

_KEPT = {Provenance.MEASURED, Provenance.RETAINED}
_DRIVE = re.compile(r"[A-Za-z]:")


def _escapes(path: str) -> str:
    """Why a path is no plain way inside the finding's own folder; empty where it is."""
    if "\\" in path or path.startswith("/") or _DRIVE.match(path):
        return "write a relative path with forward slashes"
    if any(segment in {"", ".", ".."} for segment in path.split("/")):
        return "leave out empty parts, `.` and `..`"
    hidden = any(segment.startswith(".") for segment in path.split("/"))
    return "a name that begins with a dot is not kept; rename the file" if hidden else ""


def _local(finding: Finding) -> Iterator[tuple[int, KeptFile, str]]:
    """Each published file that lies where it may, with its path below `artifacts/`."""
    for index, artifact in enumerate(finding.artifacts):
        if artifact.path is not None and not _escapes(artifact.path):
            yield index, artifact, f"{finding.id}/{artifact.path}"


@record_rule("artifacts/path", Finding)
def path_stays_inside(finding: Finding, _: Catalog) -> Iterator[Wrong]:
    """An artifact lies in its finding's own folder: no path may lead out of it, and no file is listed twice."""
    seen: set[str] = set()
    for index, artifact in enumerate(finding.artifacts):
        if artifact.path is None:
            continue
        place = ("artifacts", index, "path")
        if told := _escapes(artifact.path):
            yield Wrong(place, f"{artifact.path[:90]!r} leads out of artifacts/{finding.id}/ or hides; {told}")
        elif artifact.path in seen:
            yield Wrong(place, f"{artifact.path[:90]!r} is listed twice; keep one")
        seen.add(artifact.path)


@record_rule("artifacts/missing", Finding)
def file_is_there(finding: Finding, catalog: Catalog) -> Iterator[Wrong]:
    """Evidence that is listed and not there proves nothing."""
    for index, artifact, path in _local(finding):
        kept = catalog.kept(path)
        if kept is None:
            told = (
                f"no file {catalog.shown}/artifacts/{path[:200]}; add it, or say in `private` why it is not published"
            )
            yield Wrong(("artifacts", index, "path"), told)
        elif artifact.bytes is None:
            told = f"write `bytes: {kept[1]}` beside sha256"
            yield Wrong(("artifacts", index), told)


@record_rule("artifacts/altered", Finding)
def file_is_unchanged(finding: Finding, catalog: Catalog) -> Iterator[Wrong]:
    """A file that is not the one that was listed cannot bear out its figures."""
    for index, artifact, path in _local(finding):
        kept = catalog.kept(path)
        if kept is None:
            continue
        sha256, size = kept
        if artifact.sha256 != sha256:
            told = f"the file's SHA-256 is {sha256}; restore the file that was measured, or list this one"
            yield Wrong(("artifacts", index, "sha256"), told)
        elif artifact.bytes is not None and artifact.bytes != size:
            yield Wrong(("artifacts", index, "bytes"), f"the file has {size} bytes; write that number")


@record_rule("artifacts/size", Finding)
def size_is_bounded(finding: Finding, catalog: Catalog) -> Iterator[Wrong]:
    """Readers fetch what is published: what is larger is kept private by digest, or elsewhere by address."""
    sizes = {
        index: kept[1]
        for index, artifact, path in _local(finding)
        if artifact.oversize is None and (kept := catalog.kept(path)) is not None
    }
    how = "publish an excerpt, list it as `private` or by `url`, or write `oversize: {because: ..., approved_by: ...}`"
    for index, size in sizes.items():
        if size > MAX_FILE:
            yield Wrong(("artifacts", index, "path"), f"{size} bytes, at most {MAX_FILE} are published; {how}")
    if sum(sizes.values()) > MAX_FINDING:
        told = f"{sum(sizes.values())} bytes together, at most {MAX_FINDING} a finding; {how}"
        yield Wrong(("artifacts",), told, key=True)


@record_rule("artifacts/json", Finding)
def json_can_be_read(finding: Finding, catalog: Catalog) -> Iterator[Wrong]:
    """A JSON file that no program can read is no raw evidence."""
    for index, artifact, path in _local(finding):
        suffix = path.rpartition(".")[2].lower()
        data = _bytes(path, catalog, large=artifact.oversize is not None)
        if data is None or suffix not in {"json", "jsonl", "ndjson"}:
            continue
        for number, line in enumerate([data] if suffix == "json" else data.splitlines(), start=1):
            try:
                read_json(line)
            except PointerError as error:
                where = "" if suffix == "json" else f"line {number} of the file: "
                told = f"{artifact.path} is not JSON: {where}{error}; keep it as it was written, or as .txt"
                yield Wrong(("artifacts", index, "path"), told)
                break


def _bytes(path: str, catalog: Catalog, *, large: bool) -> bytes | None:
    """What the file holds; None where it is not there, or larger than is allowed, which is told for itself."""
    kept = catalog.kept(path)
    return catalog.kept_bytes(path) if kept is not None and (large or kept[1] <= MAX_FILE) else None


@record_rule("artifacts/figure", Finding)
def figure_agrees(finding: Finding, catalog: Catalog) -> Iterator[Wrong]:
    """A figure is bound to its artifact: what stands there has to be the figure, as rounded."""
    paths = {artifact.id: (path, artifact.oversize is not None) for _, artifact, path in _local(finding)}
    for index, measurement in enumerate(finding.measurements):
        origin = measurement.origin
        if origin is None or origin.artifact not in paths:
            continue
        path, large = paths[origin.artifact]
        data = _bytes(path, catalog, large=large)
        if data is None:
            continue
        try:
            kept = numbers_at(data, origin.pointer)
        except PointerError as error:
            yield Wrong(("measurements", index, "from", "pointer"), str(error))
            continue
        value = measurement.value
        if not isinstance(value, Quantity) or not says_the_same(value, kept, catalog.metric(measurement.metric)):
            seen = ", ".join(str(number) for number in kept[:3]) or "no number"
            said = value if isinstance(value, Quantity) else "unknown"
            told = f"{said} stands here, but {seen} at {origin.pointer[:90]!r} of {origin.artifact}; correct one"
            yield Wrong(("measurements", index, "value"), told)


def _provenance(measurement: Measurement, finding: Finding) -> Provenance:
    return measurement.provenance or finding.provenance


@record_rule("artifacts/origin", Finding)
def figure_says_whence(finding: Finding, _: Catalog) -> Iterator[Wrong]:
    """Measured and retained say that raw evidence is kept; then every figure says where in it it stands."""
    for index, measurement in enumerate(finding.measurements):
        bare = measurement.origin is None and measurement.computed_from is None
        provenance = _provenance(measurement, finding)
        if bare and provenance in _KEPT and isinstance(measurement.value, Quantity) and finding.artifacts:
            told = f"a {provenance} figure says whence: from: {{artifact: ..., pointer: /...}}"
            yield Wrong(("measurements", index), f"{told}, or `computed_from`")


@record_rule("artifacts/none", Finding)
def kept_means_kept(finding: Finding, _: Catalog) -> Iterator[Wrong]:
    """What is called measured or retained can be looked at; where nothing raw is kept, another word is true."""
    if finding.provenance in _KEPT and not finding.artifacts:
        told = "no `artifacts` are listed; list them, or write provenance: transcribed or reported"
        yield Wrong(("provenance",), f"{finding.provenance}, but {told}")
    elif finding.artifacts and finding.no_artifacts is not None:
        yield Wrong(("no_artifacts",), "artifacts are listed; leave this out", key=True)


@catalog_rule("artifacts/orphan")
def file_of_no_finding(catalog: Catalog) -> Iterator[Placed]:
    """A file that no finding lists is vouched for by nobody, and must not be published by accident."""
    for folder, paths in catalog.artifacts_of.items():
        summary = catalog.summaries.get(folder)
        if summary is None and (Finding.FOLDER, folder) in catalog.broken:
            continue
        listed = {f"{folder}/{a.path}" for a in summary.artifacts} if summary is not None else set()
        for path in paths:
            if path not in listed:
                who = (
                    f"findings/{folder} does not list it"
                    if summary is not None
                    else "no finding has this folder's name"
                )
                told = f"{who}; list it in `artifacts` of its finding, or remove it"
                yield f"{catalog.shown}/artifacts/{path}".encode("utf-8", "backslashreplace").decode(), Wrong((), told)
