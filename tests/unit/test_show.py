"""`dossier show` is for reading in a terminal: figures stand where the text refers to them."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from dossier.cli.show import show

EVIDENCE = Path(__file__).parents[2] / "evidence"


@pytest.fixture
def shown(monkeypatch):
    monkeypatch.setenv("DOSSIER_CACHE", "off")
    monkeypatch.setenv("COLUMNS", "200")

    def run(record: str) -> str:
        done = CliRunner().invoke(show, [record, "--evidence", str(EVIDENCE)])
        assert done.exit_code == 0, done.output
        return " ".join(done.output.split())

    return run


def test_a_finding_shows_its_figures_in_place(shown):
    text = shown("2026-09-09-ormandj-v0.4.2-qualification")
    assert "The strict turnover stood at 58/60, and at 57/60 in its one repeat" in text
    assert "[[" not in text


def test_a_model_shows_what_is_current(shown):
    text = shown("glm-5.3-flash")
    assert "text exl3-r10-apc-327k-c4 exl3-r9-327k-c4 2026-09-19" in text


def test_a_name_that_is_not_there_is_said(monkeypatch):
    monkeypatch.setenv("DOSSIER_CACHE", "off")
    done = CliRunner().invoke(show, ["nothing-of-this-name", "--evidence", str(EVIDENCE)])
    assert done.exit_code != 0
    assert "no such record" in str(done.exception)
