"""The wheel carries all that it needs and works from an empty folder."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    # Not from the checkout: its folder `build/` would stand in for the module.
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(folder.glob("*.whl"))


def test_it_holds_every_template_rule_text_and_module(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    templates = (f for f in (ROOT / "templates").rglob("*") if f.is_file())
    package = (f for f in (ROOT / "dossier").rglob("*") if f.is_file() and "__pycache__" not in f.parts)
    expected = {f"dossier/_templates/{f.relative_to(ROOT / 'templates').as_posix()}" for f in templates}
    expected |= {f.relative_to(ROOT).as_posix() for f in package}
    assert expected <= names


def test_it_works_from_an_empty_folder(wheel, tmp_path):
    installed, empty = tmp_path / "installed", tmp_path / "empty"
    zipfile.ZipFile(wheel).extractall(installed)
    empty.mkdir()
    env = {**os.environ, "PYTHONPATH": str(installed), "DOSSIER_CACHE": str(tmp_path / "cache")}

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *command], cwd=empty, env=env, capture_output=True, text=True, check=False
        )

    where = run("-c", "import dossier; print(dossier.__file__)")
    assert where.stdout.strip().startswith(str(installed))
    for command in (["init"], ["check"], ["build"]):
        done = run("-m", "dossier.cli.main", *command)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    assert (empty / "site/index.html").is_file()
    assert (empty / "site/methodology/index.html").is_file()
