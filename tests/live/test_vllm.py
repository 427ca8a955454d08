"""A real vLLM with random weights, started by hand: `DOSSIER_VLLM_URL=http://127.0.0.1:8102/v1 make test-live`."""

from __future__ import annotations

import os

import pytest
from click.testing import CliRunner

from dossier.cli.check import check
from dossier.cli.run import run
from dossier.cli.verify import verify
from dossier.runner.look import look
from dossier.runner.profiles import plan_text
from dossier.runner.record import record
from dossier.wire.dialect import Dialect

URL = os.environ.get("DOSSIER_VLLM_URL")
pytestmark = [pytest.mark.live, pytest.mark.skipif(URL is None, reason="DOSSIER_VLLM_URL names no server")]


def test_the_smoke_profile_passes_and_its_finding_is_accepted(tmp_path):
    seen = look(URL, None, None)
    assert seen.detection.dialect is Dialect.VLLM
    (tmp_path / "plan.yaml").write_text(plan_text(seen, "smoke", None, "tiny-random"))
    arguments = [
        str(tmp_path / "plan.yaml"),
        "--journal",
        str(tmp_path / "run.jsonl"),
        "--evidence",
        str(tmp_path / "ev"),
    ]
    result = CliRunner().invoke(run, arguments, catch_exceptions=False)
    finding = record((tmp_path / "run.jsonl").read_bytes()).finding
    assert [p.id for p in finding.populations if p.passed != p.planned] == [], result.output
    for command in (check, verify):
        assert CliRunner().invoke(command, [str(tmp_path / "ev")]).exit_code == 0
