"""No API key, prompt of the operator's or path of a host reaches journal, finding, artifact or what is printed.

Each is planted where a server could quote it back: in an error, in a reply, in the server's own pages.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
from contextlib import contextmanager
from urllib.parse import quote

import pytest
from click.testing import CliRunner
from runner_support import plan_text

from dossier.cli.run import run
from dossier.runner.record import record
from dossier.runner.scrub import QUOTED, unquoted

KEY = "correct/horse+battery-staple"
PROMPT = "Our unreleased product Zephyr-9 ships in March. Which month does it ship in? Answer with one word."
HOME = "/home/alice.planted/models/zephyr.gguf"
SHARE = r"C:\Users\alice.planted\models\zephyr.gguf"
SPELLINGS = [KEY, quote(KEY, safe=""), base64.b64encode(KEY.encode()).decode().rstrip("=")]
NEVER = [*SPELLINGS, "Zephyr-9", "unreleased product", "alice.planted", "10.20.30.40"]

SUITE = f"""schema: dossier/suite/v1
id: mine
title: Mine
license: private
items:
  - {{id: month, prompt: "{PROMPT}", check: {{exact: March}}}}
"""


def said(head: str, body: str) -> tuple[int, dict]:
    """What the stub answers: everything that it was given, quoted back."""
    if "GET /v1/models" in head:
        return 200, {"data": [{"id": "reference", "owned_by": "llamacpp", "root": HOME}]}
    if "GET /props" in head:
        return 200, {"default_generation_settings": {}, "model_path": HOME, "chat_template": "x", "total_slots": 1}
    if "POST" not in head:
        return 404, {"detail": f"not found under {HOME}"}
    if '"stream":true' in body:
        key = head.partition("Authorization: Bearer ")[2].partition("\r\n")[0]
        spellings = f"{key} {quote(key, safe='')} {base64.b64encode(key.encode()).decode()}"
        text = f"cannot do {body} for {spellings} at 10.20.30.40, see {HOME} and {SHARE}"
        return 500, {"error": {"message": text}}
    prompt = json.loads(body)["messages"][0]["content"]
    message = {"role": "assistant", "content": f"{prompt} {KEY} {HOME}"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return 200, {"model": "reference", "choices": [choice], "usage": {"prompt_tokens": 6, "completion_tokens": 1}}


@contextmanager
def stub():
    """The server, in a process of its own."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            asyncio.run(_serve(write))
        finally:
            os._exit(0)
    try:
        yield f"http://127.0.0.1:{int(os.read(read, 20))}/v1"
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(read)
        os.close(write)


async def _serve(write):
    async def answer(reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = head.lower().partition("content-length: ")[2].partition("\r\n")[0]
        status, body = said(head, (await reader.readexactly(int(length or 0))).decode())
        data = json.dumps(body).encode()
        writer.write(f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n"
                     "Connection: close\r\n\r\n".encode() + data)  # fmt: skip
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    os.write(write, str(server.sockets[0].getsockname()[1]).encode())
    await asyncio.sleep(60)


@pytest.fixture
def left(tmp_path, monkeypatch):
    """Everything that a run against it leaves and prints, as one text; and the finding."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STUB_KEY", KEY)
    (tmp_path / "own.yaml").write_text(SUITE)
    populations = (
        "{id: chat, probe: chat}",
        "{id: streaming, probe: streaming}",
        "{id: mine, probe: suite, suite: own.yaml}",
    )
    with stub() as url:
        text = plan_text(url, populations).replace("model: reference", "model: reference, api_key_env: STUB_KEY")
        (tmp_path / "plan.yaml").write_text(text)
        result = CliRunner().invoke(run, ["plan.yaml", "--journal", "run.jsonl"], catch_exceptions=False)
        assert url.removesuffix("/v1") not in (tmp_path / "run.jsonl").read_text()
    assert result.exit_code == 1
    made = [path for path in tmp_path.rglob("*") if path.is_file() and path.name not in {"own.yaml", "plan.yaml"}]
    finding = record((tmp_path / "run.jsonl").read_bytes()).finding
    return "\n".join([result.output, result.stderr, *(path.read_text() for path in made)]), finding


def test_what_is_planted_is_found_nowhere(left):
    everything, finding = left
    assert [planted for planted in NEVER if planted in everything] == []
    kinds = {population.id: [miss.kind for miss in population.misses] for population in finding.populations}
    assert kinds["mine"] == kinds["streaming"] == ["server-error"]
    assert QUOTED in everything


def test_a_path_keeps_its_last_part_and_no_folder(left):
    everything, _ = left
    assert "zephyr.gguf" in everything


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"no: {PROMPT}", f"no: {QUOTED}"),
        (f"no: {PROMPT[10:39]} ...", f"no: {QUOTED} ..."),
        ("a word of March", "a word of March"),
        ("", ""),
    ],
)
def test_a_quotation_is_taken_out_wherever_it_is_cut(text, shown):
    assert unquoted(text, PROMPT) == shown
