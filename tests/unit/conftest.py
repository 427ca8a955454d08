"""A project with the valid evidence tree, as most tests of commands begin."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

BASE = Path(__file__).parents[1] / "evidence" / "base"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """The folder of a project with valid evidence, which is the current folder; nothing is cached."""
    shutil.copytree(BASE, tmp_path / "evidence")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOSSIER_CACHE", "off")
    return tmp_path
