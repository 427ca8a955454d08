"""Projects to build in: the real corpus, or a small tree, copied to a folder of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def make_project(folder: Path, evidence: Path) -> Path:
    """A project with the checkout's settings and some evidence."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "mkdocs.yml", folder / "mkdocs.yml")
    shutil.copytree(ROOT / "docs", folder / "docs")
    shutil.copytree(evidence, folder / "evidence")
    return folder


def dossier(folder: Path, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a user does, in a folder."""
    command = [sys.executable, "-m", "dossier.cli.main", *args]
    settings = {**os.environ, "DOSSIER_CACHE": str(folder / ".cache"), "PYTHONPATH": str(ROOT), **env}
    return subprocess.run(command, cwd=folder, env=settings, capture_output=True, text=True, check=False)


def tree(folder: Path) -> dict[str, bytes]:
    """Every file of a folder by its path there."""
    files = (f for f in sorted(folder.rglob("*")) if f.is_file())
    return {f.relative_to(folder).as_posix(): f.read_bytes() for f in files}
