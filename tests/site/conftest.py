"""Projects to build in: the real corpus, or a small tree, copied to a folder of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import ROOT, dossier, make_project


@pytest.fixture(scope="session")
def corpus_site(tmp_path_factory) -> Path:
    """The site of the committed evidence."""
    project = make_project(tmp_path_factory.mktemp("corpus"), ROOT / "evidence")
    done = dossier(project, "build")
    assert done.returncode == 0, done.stdout + done.stderr
    return project / "site"


@pytest.fixture
def project(tmp_path) -> Path:
    """A small valid project."""
    return make_project(tmp_path / "project", ROOT / "tests/evidence/base")
