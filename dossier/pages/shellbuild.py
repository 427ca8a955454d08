"""Run mkdocs once for the shell of the site, and keep what it made under a digest of all that feeds it."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path

from dossier.errors import RenderError, StorageError, UsageError
from dossier.pages.environment import template_folders

_TOOLS = ("mkdocs", "mkdocs-material", "Markdown", "pymdown-extensions", "jinja2", "markupsafe")
_SETTINGS = {
    "SOURCE_DATE_EPOCH": "0",
    "TZ": "UTC",
    "LC_ALL": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    # Both announce the end of mkdocs 1.x at every build.
    "NO_MKDOCS_2_WARNING": "1",
    "DISABLE_MKDOCS_2_WARNING": "true",
}
_CHILD_CONFIG = (
    "INHERIT: mkdocs-project.yml\ndocs_dir: docs\nsite_dir: site\nstrict: false\ntheme: {custom_dir: theme}\n"
)


def write_mkdocs_tree(project: Path, build: Path, pages: Mapping[str, bytes]) -> None:
    """Write `docs/` and `theme/` under the build folder, as the project's mkdocs.yml expects them.

    `pages` maps the path of a page, such as `findings/x/`, to its Markdown (`as_markdown`). A file that did not
    change is not written again; a file that nothing makes any more is removed.
    """
    derived = {markdown_name(path): text for path, text in pages.items()}
    _sync(build / "docs", _documents(project, derived))
    _sync(build / "theme", _layered(project, "theme"))


def markdown_name(path: str) -> str:
    """The Markdown file that mkdocs turns into a page: `findings/` from `findings/index.md`, a leaf from `x.md`."""
    return f"{path.rstrip('/')}.md" if path.count("/") > 1 else f"{path}index.md"


def cached_shell(
    project: Path, work: Path, pages: Mapping[str, bytes], finish: Callable[[Path], None]
) -> tuple[Path, bool]:
    """The folder that mkdocs made of the shell pages, and whether it had to run just now.

    `pages` maps Markdown file names to their text; `finish` is given the fresh folder to complete. Raises
    `RenderError` with mkdocs' own words when it fails.
    """
    config = _read(project / "mkdocs.yml", "`mkdocs.yml` is missing: the site takes its name and navigation from it")
    inputs = {
        "mkdocs-project.yml": config,
        "mkdocs.yml": _CHILD_CONFIG.encode(),
        **_under("docs", _documents(project, pages)),
        **_under("theme", _layered(project, "theme")),
    }
    home = work / "shell" / _digest(inputs)
    fresh = not home.is_dir()
    if fresh:
        _build(inputs, home, finish)
    return home, fresh


def _build(inputs: Mapping[str, bytes], home: Path, finish: Callable[[Path], None]) -> None:
    """Build beside the final place, then rename: a build that was cut short is never taken for a whole one."""
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home.parent, prefix="making-") as stage:
            _sync(Path(stage), inputs)
            _run_mkdocs(Path(stage))
            finish(Path(stage, "site"))
            Path(stage, "site").rename(home)
    except OSError as error:
        raise StorageError(f"{home}: {error.strerror}") from error
    for old in home.parent.iterdir():
        if old != home and not old.name.startswith("making-"):
            shutil.rmtree(old, ignore_errors=True)


def _run_mkdocs(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--config-file", "mkdocs.yml"],
        cwd=folder,
        env=os.environ | _SETTINGS,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        raise RenderError(f"mkdocs could not build the shell of the site:\n{done.stderr.strip()[-2000:]}")


def _digest(inputs: Mapping[str, bytes]) -> str:
    total = hashlib.sha256()
    own_code = {name: Path(__file__).with_name(name).read_bytes() for name in ("shell.py", "shellbuild.py")}
    versions = {name: version(name).encode() for name in _TOOLS}
    python = {"python": sys.version.encode()}
    for name, data in sorted({**inputs, **versions, **python, **own_code}.items()):
        total.update(f"{name}\0{len(data)}\0".encode() + data)
    return total.hexdigest()[:32]


def _documents(project: Path, derived: Mapping[str, bytes]) -> dict[str, bytes]:
    """Everything in the docs folder: hand-written pages, derived pages, our assets."""
    written = dict(_files(project / "docs"))
    taken = sorted(written.keys() & derived.keys())
    if taken:
        raise UsageError(f"docs/{taken[0]}: this page is derived from the evidence; give yours another name")
    return {**_under("assets", _layered(project, "assets")), **written, **derived}


def _layered(project: Path, part: str) -> dict[str, bytes]:
    """A part of the templates, the project's files over ours."""
    layers = [dict(_files(folder / part)) for folder in reversed(template_folders(project))]
    return {name: data for layer in layers for name, data in layer.items()}


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Each file below a folder by its POSIX name; hidden ones, such as an editor's locks, are left out."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if any(part.startswith(".") for part in name.parts) or path.is_dir():
            continue
        if path.is_symlink():
            raise UsageError(f"{path}: a symbolic link is not followed; put the file itself there")
        yield name.as_posix(), _read(path, "cannot be read")


def _under(folder: str, files: Mapping[str, bytes]) -> dict[str, bytes]:
    return {f"{folder}/{name}": data for name, data in files.items()}


def _read(path: Path, problem: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise StorageError(f"{path}: {problem}") from error


def _sync(folder: Path, files: Mapping[str, bytes]) -> None:
    """Make the folder hold exactly these files, touching none that is right already."""
    try:
        for name, data in files.items():
            path = folder / name
            if not path.is_file() or path.read_bytes() != data:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
        for path in sorted(folder.rglob("*"), reverse=True):
            if path.is_dir():
                _remove_if_empty(path)
            elif path.relative_to(folder).as_posix() not in files:
                path.unlink()
    except OSError as error:
        raise StorageError(f"{error.filename}: {error.strerror}") from error


def _remove_if_empty(folder: Path) -> None:
    if not any(folder.iterdir()):
        folder.rmdir()
