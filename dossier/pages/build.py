"""Evidence -> site, in one step: check, render what changed, swap the finished tree into place."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dossier.cache import Cache
from dossier.catalog import Catalog, load_catalog
from dossier.checks.run import load_checked
from dossier.errors import Problem, RenderError, Severity, StorageError
from dossier.pages.article import as_markdown
from dossier.pages.context import Site
from dossier.pages.environment import environment
from dossier.pages.exports.derived import derived_files
from dossier.pages.places import Derived, Page
from dossier.pages.plan import Keys, Planned, plan, stamp
from dossier.pages.shell import SearchEntry, Shells, build_shells
from dossier.pages.shellbuild import write_mkdocs_tree
from dossier.pages.swap import swap
from dossier.pages.tree import Tree, open_tree
from dossier.stamp import code_stamp

_STATE = "state.json"
MANIFEST = "manifest.json"
"""The SHA-256 of every other file of the site."""
ARTIFACT_FILES = "artifacts/files"
_SEARCH = f"search/{code_stamp()}"
Progress = Callable[[str, int, int], None]
"""(what is being done, how many are done, how many there are)"""


@dataclass(slots=True)
class Report:
    """What a build did. With errors among the problems nothing was published."""

    problems: list[Problem]
    records: int = 0
    pages: int = 0
    made: int = 0
    bytes: int = 0
    seconds: float = 0.0

    @property
    def published(self) -> bool:
        """Was the site replaced?"""
        return not any(p.severity is Severity.ERROR for p in self.problems)


def build(project: Path, site_dir: Path, evidence: str, cache: Cache, progress: Progress) -> Report:
    """Build the site of a project. With errors in the evidence the site that stands is left as it is."""
    started = time.monotonic()
    progress("reading and checking", 0, 1)
    catalog, problems = load_checked(partial(load_catalog, project / evidence, cache, evidence, digests=True), cache)
    report = Report(problems, records=len(catalog.entries))
    if not report.published:
        return report
    work = project / "build"
    try:
        shells = build_shells(project, work)
        tree = open_tree(work / "pages", work / _STATE)
        report.pages, report.made = _fill(project, catalog, shells, tree, cache, progress)
        report.bytes = tree.sweep()
        _publish(tree, work, site_dir)
    except OSError as error:
        raise StorageError(f"the site could not be written: {error}") from error
    report.seconds = time.monotonic() - started
    return report


def render(project: Path, evidence: str, cache: Cache) -> Report:
    """Write every page as a Markdown file, for plain mkdocs, with the same articles."""
    catalog, problems = load_checked(partial(load_catalog, project / evidence, cache, evidence, digests=True), cache)
    report = Report(problems, records=len(catalog.entries))
    if not report.published:
        return report
    site = Site(catalog, environment(project, cache.folder))
    pages = [planned.make() for planned in plan(site, Keys(site, stamp(project)), cache)]
    texts = {page.path: as_markdown(page.section, page.title, page.description, page.body) for page in pages}
    write_mkdocs_tree(project, project / "build", texts)
    report.pages = report.made = len(pages)
    return report


def _fill(
    project: Path, catalog: Catalog, shells: Shells, tree: Tree, cache: Cache, progress: Progress
) -> tuple[int, int]:
    site = Site(catalog, environment(project, cache.folder))
    keys = Keys(site, stamp(project))
    shell_key = keys.of(shells.folder.name)
    planned = list(plan(site, keys, cache))
    search: list[SearchEntry] = []
    made = 0
    known = cache.get_many(_SEARCH, [page.key for page in planned])
    fresh: dict[str, bytes] = {}
    for done, page in enumerate(planned):
        if tree.stands(_file(page.path), page.key + shell_key) and page.key in known:
            search += _restored(known[page.key])
        else:
            progress("rendering", done, len(planned))
            result = _make(page, shells, tree, page.key + shell_key)
            search += result.search
            fresh[page.key] = json.dumps([[e.location, e.title, e.text] for e in result.search]).encode()
            made += 1
        _write_missing(tree, page.beside)
    cache.put_many(_SEARCH, fresh, [page.key for page in planned])
    _write_missing(tree, derived_files(site, keys, shells.site_url))
    _other_files(catalog, shells, tree, [page.path for page in planned], search)
    if len({page.path for page in planned}) != len(planned):
        raise RenderError("two pages have one path")
    return len(planned), made


def _write_missing(tree: Tree, files: Iterable[Derived]) -> None:
    """Make the files that are not there from what they are made from now."""
    for file in files:
        if not tree.stands(file.path, file.key):
            tree.write(file.path, file.key, file.make())


def _restored(data: bytes) -> Iterator[SearchEntry]:
    return (SearchEntry(location, title, text) for location, title, text in json.loads(data))


def _file(path: str) -> str:
    return f"{path}index.html"


def _make(planned: Planned, shells: Shells, tree: Tree, key: str) -> Page:
    page = planned.make()
    data = shells.fill(page.section, page.path, title=page.title, description=page.description, body=page.body)
    tree.write(_file(page.path), key, data)
    return page


def _other_files(catalog: Catalog, shells: Shells, tree: Tree, paths: list[str], search: list[SearchEntry]) -> None:
    sources = shells.static_files()
    sources |= {f"{ARTIFACT_FILES}/{name}": file for name, file in catalog.artifacts.items()}
    for name, file in sources.items():
        found = file.stat(follow_symlinks=False)
        key = f"copy:{found.st_size}:{found.st_mtime_ns}"
        if not tree.stands(name, key):
            tree.write(name, key, file.read_bytes())
    texts = dict(shells.search_files(search))
    sitemap = shells.sitemap(paths)
    texts |= {} if sitemap is None else {"sitemap.xml": sitemap}
    texts |= {"_headers": shells.headers(), ".nojekyll": ""}
    for name, text in texts.items():
        tree.write(name, "text", text.encode())
    told = {"schema": "dossier/manifest/v1", "files": tree.digests()}
    tree.write(MANIFEST, "text", (json.dumps(told, ensure_ascii=False, indent=0) + "\n").encode())


def _publish(tree: Tree, work: Path, site_dir: Path) -> None:
    """Put the whole tree in the place of the old site."""
    with tempfile.TemporaryDirectory(dir=work, prefix="publish-") as stage:
        finished = Path(stage, "site")
        tree.copy_to(finished)
        swap(finished, site_dir)
    tree.keep(work / _STATE)
