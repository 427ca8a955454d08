"""What was published before: the evidence at a git ref, in another folder, or listed in an index.

Of a git ref only the files that differ in bytes are read. git is asked by full object ids, never through a shell, and
never fetches anything.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from dossier.cache import Cache
from dossier.catalog.catalog import Catalog, Key, digest_of_record
from dossier.catalog.files import ARTIFACTS
from dossier.catalog.loading import load_catalog
from dossier.digest import sha256_hex
from dossier.errors import StorageError, UsageError
from dossier.files import read_bytes
from dossier.model.base import Record
from dossier.model.parse import FOLDERS, parse_record
from dossier.source import read_document

INDEX: Final = "dossier/index/v1"
_SECONDS: Final = 120
_OF_A_HOOK: Final = {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"}  # they would hide the folder's place
_CAREFUL: Final = {
    "LC_ALL": "C",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}
_BLOBS: Final = {"100644", "100755"}
_NO_COMMIT: Final = re.compile(r"0{40}(?:0{24})?")
_RECORD: Final = re.compile(r"([a-z]+)/([^/]+)\.yaml")
_FINDING: Final = re.compile(r"(.*?)findings/[^/]+\.yaml")


@dataclass(frozen=True)
class Publication:
    """What was published, and where that is read from.

    `digests` holds every immutable record; a text stands in `texts` where its bytes differ from today's file and are
    at hand. A digest is empty where today's model does not read that text. `artifacts` are SHA-256 by path below
    `artifacts/`.
    """

    where: str
    digests: Mapping[Key, str] = field(default_factory=dict)
    artifacts: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[Key, bytes] = field(default_factory=dict)


def record_in(text: bytes) -> Record | None:
    """The record that a file holds; None where it is not valid today."""
    document, _ = read_document(text, "")
    return parse_record(document, "")[0] if document is not None else None


def index_of(catalog: Catalog) -> dict[str, Any]:
    """The published index of a catalog: the digest of every record, the SHA-256 of every artifact."""
    kept = {path: catalog.kept(path) for path in catalog.artifacts}
    return {
        "schema": INDEX,
        "records": {f"{folder}/{id_}": catalog.digest((folder, id_)) for folder, id_ in sorted(catalog.entries)},
        "artifacts": {path: found[0] for path, found in kept.items() if found is not None},
    }


def published_in(place: Path) -> Publication:
    """What an index file, or another evidence folder, says was published."""
    if place.is_dir():
        with Cache(None) as cache:
            return _published_catalog(load_catalog(place, cache, place.as_posix(), digests=True), place.as_posix())
    try:
        index = json.loads(read_bytes(place))
        records, artifacts = dict(index["records"]), dict(index["artifacts"])
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(f"{place}: not an index of published evidence ({INDEX}), nor a folder of it") from error
    keys = {tuple(name.split("/", 1)): digest for name, digest in records.items() if "/" in name}
    return Publication(place.as_posix(), _immutable(keys), artifacts)


def _published_catalog(catalog: Catalog, where: str) -> Publication:
    if not catalog.entries:
        raise UsageError(f"{where}: there is no evidence in this folder")
    index = index_of(catalog)
    digests = _immutable({key: catalog.digest(key) for key in catalog.entries})
    texts = {key: catalog.source(key) for key in digests}
    return Publication(where, digests, index["artifacts"], texts)


def _immutable(digests: Mapping[Any, str]) -> dict[Key, str]:
    return {key: digest for key, digest in digests.items() if key[0] in FOLDERS and FOLDERS[key[0]].IMMUTABLE}


def record_at(name: str, ref: str, catalog: Catalog) -> Record:
    """The record `ID`, or `folder/ID`, as it was at a git ref."""
    git = _Git(catalog.evidence)
    blobs = git.blobs(git.commit(ref), git.prefix)
    folders = [name.rpartition("/")[0]] if "/" in name else list(FOLDERS)
    paths = [path for f in folders if (path := f"{f}/{name.rpartition('/')[2]}.yaml") in blobs]
    if len(paths) != 1:
        raise UsageError(f"{name}: {'several such records' if paths else 'no such record'} at {ref}")
    [text] = git.contents([blobs[paths[0]]]).values()
    record = record_in(text)
    if record is None:
        raise UsageError(f"{name} at {ref} is not valid by today's rules; it cannot be compared")
    return record


def write_base(ref: str, catalog: Catalog, folder: Path) -> str:
    """Write the evidence as it was where HEAD left a ref into an empty folder; gives the commit."""
    if _NO_COMMIT.fullmatch(ref):
        return ref
    git = _Git(catalog.evidence)
    base = git.merge_base(ref)
    blobs = git.blobs(base, git.prefix)
    contents = git.contents(set(blobs.values()))
    for path, oid in blobs.items():
        file = folder / path
        if folder.resolve() not in file.resolve().parents:  # git itself refuses such trees
            raise StorageError(f"{path}: lies outside the evidence folder of {ref}")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(contents[oid])
    return base


def published_at(ref: str, catalog: Catalog) -> Publication:
    """What the evidence was at the last commit that HEAD and a git ref have in common.

    A ref of zeros is git's own word for no commit, as a first push has it: then nothing was published.
    """
    if _NO_COMMIT.fullmatch(ref):
        return Publication("no earlier commit")
    git = _Git(catalog.evidence)
    base = git.merge_base(ref)
    where = f"{ref} ({base[:12]})"
    blobs = git.blobs(base, git.prefix) or git.moved_blobs(base)
    records = {key: oid for path, oid in blobs.items() if (key := _key(path)) is not None}
    kept = {path.removeprefix(f"{ARTIFACTS}/"): oid for path, oid in blobs.items() if path.startswith(f"{ARTIFACTS}/")}
    kept = {path: oid for path, oid in kept.items() if not path.rpartition("/")[2].startswith(".")}
    same = {key for key, oid in records.items() if _same(catalog, key, oid, git)}
    other = {key: oid for key, oid in records.items() if key not in same}
    unlike = {p: oid for p, oid in kept.items() if p not in catalog.artifacts or git.id_of(catalog.artifacts[p]) != oid}
    texts = git.contents({*other.values(), *unlike.values()})
    found = {key: record_in(texts[oid]) for key, oid in other.items()}
    digests = {key: catalog.digest(key) if key in catalog.entries else "" for key in same}
    digests |= {key: digest_of_record(record) if record is not None else "" for key, record in found.items()}
    return Publication(
        where,
        _immutable(digests),
        {path: sha256_hex(texts[oid]) if path in unlike else _sha256(catalog, path) for path, oid in kept.items()},
        {key: texts[oid] for key, oid in other.items()},
    )


def _key(path: str) -> Key | None:
    match = _RECORD.fullmatch(path)
    return (match[1], match[2]) if match is not None and match[1] in FOLDERS else None


def _same(catalog: Catalog, key: Key, oid: str, git: _Git) -> bool:
    """Is the file of a record, valid today or not, byte for byte what it was?"""
    file = catalog.evidence / key[0] / f"{key[1]}.yaml"
    return catalog.exists(*key) and git.id_of(file) == oid


def _sha256(catalog: Catalog, path: str) -> str:
    found = catalog.kept(path)
    return found[0] if found is not None else ""


class _Git:
    """The repository that an evidence folder lies in."""

    def __init__(self, evidence: Path) -> None:
        self._folder = evidence
        self.prefix = self._ask("rev-parse", "--show-prefix")
        self._top = Path(self._ask("rev-parse", "--show-toplevel"))
        self._hash = self._ask("rev-parse", "--show-object-format")

    def commit(self, ref: str) -> str:
        """The full id of the commit that a ref names."""
        commit = self._try("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
        if not commit:
            raise UsageError(f"git knows no commit {ref!r}{self._shallow() or '; fetch it, or name another ref'}")
        return commit

    def merge_base(self, ref: str) -> str:
        """The full id of the commit at which HEAD left a ref."""
        base = self._try("merge-base", self.commit(ref), "HEAD")
        if not base:
            hint = self._shallow() or "; name the branch that this one came from"
            raise UsageError(f"{ref} and HEAD have no commit in common{hint}")
        return base.split()[0]

    def _shallow(self) -> str:
        """What to do about a clone that lacks the history."""
        if self._ask("rev-parse", "--is-shallow-repository") != "true":
            return ""
        return "; this clone is shallow: run `git fetch --unshallow` (in a workflow: fetch-depth: 0)"

    def blobs(self, commit: str, prefix: str) -> dict[str, str]:
        """Object id of every plain file below a folder of a commit, by its path there."""
        listed = self._run("ls-tree", "-r", "-z", "--full-tree", commit, *(["--", prefix] if prefix else []))
        found = {}
        for line in listed.decode("utf-8", "surrogateescape").split("\0"):
            about, tab, path = line.partition("\t")
            mode, _, oid = about.partition(" ")
            if tab and mode in _BLOBS:
                found[path.removeprefix(prefix)] = oid.rpartition(" ")[2]
        return found

    def moved_blobs(self, commit: str) -> dict[str, str]:
        """The files of the folders that held evidence and are gone: it was moved here, or a new one begun."""
        paths = self.blobs(commit, "")
        roots = {match[1] for path in paths if (match := _FINDING.fullmatch(path))}
        gone = [root for root in sorted(roots) if not (self._top / root / "findings").is_dir()]
        return {path.removeprefix(root): oid for root in gone for path, oid in paths.items() if path.startswith(root)}

    def id_of(self, file: Path) -> str:
        """The object id that git gives the bytes of a file."""
        data = read_bytes(file)
        return hashlib.new(self._hash, b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()

    def contents(self, oids: Iterable[str]) -> dict[str, bytes]:
        """What these objects hold."""
        wanted = sorted(oids)
        if not wanted:
            return {}
        answer, found, at = self._run("cat-file", "--batch", stdin="\n".join(wanted) + "\n"), {}, 0
        for oid in wanted:
            end = answer.index(b"\n", at)
            words = answer[at:end].split()
            if len(words) != 3:
                raise StorageError(f"git has no content for object {oid}; fetch the whole history of the base")
            at = end + 1 + int(words[2])
            found[oid] = answer[end + 1 : at]
            at += 1
        return found

    def _ask(self, *arguments: str) -> str:
        return self._run(*arguments).decode("utf-8", "surrogateescape").rstrip("\n")

    def _try(self, *arguments: str) -> str:
        """The answer; empty where git says no."""
        done = self._call(arguments, None)
        return done.stdout.decode().strip() if done.returncode == 0 else ""

    def _run(self, *arguments: str, stdin: str | None = None) -> bytes:
        done = self._call(arguments, stdin)
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise UsageError(f"git {arguments[0]}: {said[0] if said else f'exit status {done.returncode}'}")
        return done.stdout

    def _call(self, arguments: Sequence[str], stdin: str | None) -> subprocess.CompletedProcess[bytes]:
        command = ["git", "--no-pager", "--literal-pathspecs", *arguments]
        surroundings = {name: value for name, value in os.environ.items() if name not in _OF_A_HOOK} | _CAREFUL
        try:
            return subprocess.run(  # noqa: S603  (no shell; refs are resolved to ids first, behind --end-of-options)
                command,
                cwd=self._folder,
                env=surroundings,
                input=stdin.encode() if stdin is not None else b"",
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except FileNotFoundError as error:
            raise UsageError("git is not installed; compare with --published instead") from error
        except subprocess.TimeoutExpired as error:
            raise StorageError(f"git {arguments[0]} gave no answer in {_SECONDS} s") from error
