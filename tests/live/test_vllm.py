"""A real vLLM on the CPU with random weights; `make test-live` makes the environment that it wants (gigabytes, once).

Random weights: only protocol, structure and timing are asserted.
"""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from runner_support import go as run_plan

from dossier.cli.check import check
from dossier.cli.verify import verify
from dossier.errors import UsageError
from dossier.runner.child import first_answer
from dossier.runner.local import _free_port
from dossier.runner.look import look
from dossier.runner.profiles import plan_text
from dossier.runner.record import record
from dossier.wire.dialect import Dialect
from dossier.wire.errors import WireError

HERE = Path(__file__).resolve().parent
PYTHON = Path(os.environ.get("DOSSIER_VLLM_ENV", HERE.parents[1] / ".venv-vllm")).absolute() / "bin/python"
pytestmark = [pytest.mark.live, pytest.mark.skipif(not PYTHON.exists(), reason="no environment with vLLM")]

MODEL = "tiny-random"
START_S = 600
OPTIONS = (
    "--dtype bfloat16 --max-model-len 4096 --max-num-seqs 16 --enforce-eager --enable-auto-tool-choice "
    "--tool-call-parser hermes --enable-prompt-tokens-details"
)
ENVIRONMENT = {
    "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": "2",
    "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1",
}  # fmt: skip


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """Make the model, start the server, wait until it lists the model; every process of it ends in the end."""
    folder, port = tmp_path_factory.mktemp("vllm"), _free_port()
    subprocess.run([PYTHON, HERE / "vllm_model.py", folder / "model"], check=True, capture_output=True)
    command = [str(PYTHON), "-m", "vllm.entrypoints.openai.api_server", "--model", str(folder / "model"),
               "--served-model-name", MODEL, "--host", "127.0.0.1", "--port", str(port), *OPTIONS.split()]  # fmt: skip
    log = folder / "server.log"
    with (
        log.open("wb") as out,
        subprocess.Popen(
            command, stdout=out, stderr=out, env=os.environ | ENVIRONMENT, start_new_session=True
        ) as server,
    ):
        try:
            found = first_answer(server, lambda: _look(port), START_S, 1.0)
            assert found is not None, log.read_bytes()[-3000:].decode("utf-8", "replace")
            yield found
        finally:
            os.killpg(server.pid, signal.SIGTERM)


def _look(port):
    try:
        return look(f"http://127.0.0.1:{port}/v1", MODEL, None)
    except (WireError, UsageError):
        return None


def go(folder, text):
    """Run a plan; gives what the command said, and the finding."""
    (folder / "plan.yaml").write_text(text)
    result = run_plan(folder)
    return result, record((folder / "run.jsonl").read_bytes()).finding


def accepted(folder):
    for command in (check, verify):
        said = CliRunner().invoke(command, [str(folder / "evidence")])
        assert said.exit_code == 0, said.output


def test_the_smoke_profile_passes_and_its_finding_is_accepted(seen, tmp_path):
    assert seen.detection.dialect is Dialect.VLLM
    result, finding = go(tmp_path, plan_text(seen, "smoke", None, MODEL))
    assert [(p.id, p.misses) for p in finding.populations if p.passed != p.planned] == [], result.output
    accepted(tmp_path)


def test_every_cache_mode_is_what_usage_says_it_is(seen, tmp_path):
    """Prefix caching is on. Cold prompts are salted, and the server counts no cached token."""
    size = "prompt_tokens: 512, output_tokens: 8, requests: 4"
    modes = {
        "unique": "cache: unique", "cold": "cache: cold", "warm": "cache: warm, warmups: 1",
        "shared": "cache: shared, shared_tokens: 384, warmups: 1",
    }  # fmt: skip
    populations = "\n".join(f"  - {{id: {name}, probe: cell, {size}, {mode}}}" for name, mode in modes.items())
    head = plan_text(seen, "smoke", None, MODEL).split("populations:")[0]
    result, finding = go(tmp_path, f"{head}populations:\n{populations}\n")
    assert [(p.id, p.misses) for p in finding.populations if p.passed != p.planned] == [], result.output
    hits = {m.population: float(m.value.value) for m in finding.measurements if m.metric == "prefix_hit_rate"}
    assert hits["cold"] == 0
    assert hits["unique"] < 10
    # Whole blocks of 128 tokens are kept: two or three of the four.
    assert 40 < hits["shared"] < 80
    assert hits["warm"] > 70
    accepted(tmp_path)


def test_what_it_accepts_and_does_not_do_is_told_apart(seen, tmp_path):
    """A schema that does not fit the budget, and a forced call that is cut: HTTP 200, and neither is obeyed."""
    head = plan_text(seen, "smoke", None, MODEL).split("populations:")[0]
    populations = """populations:
  - {id: bad-model, probe: errors, wrong: model}
  - {id: object, probe: structured, form: object, max_tokens: 8}
  - {id: cut, probe: responses, way: cut}
"""
    result, finding = go(tmp_path, head + populations)
    assert result.exit_code == 1
    assert {p.id: [miss.kind for miss in p.misses] for p in finding.populations} == {
        "bad-model": [], "object": ["truncated"], "cut": [],
    }  # fmt: skip
