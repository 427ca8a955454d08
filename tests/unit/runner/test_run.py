"""A whole run against the reference server: journal, finding, checks; interruption, resumption, and kills."""

from __future__ import annotations

import asyncio
import json
import os
import signal

import pytest
from click.testing import CliRunner
from runner_support import go, plan, plan_text

from dossier.cli.check import check
from dossier.cli.record import record as record_command
from dossier.cli.run import run as run_command
from dossier.runner.journal import Journal, JournalError, read_journal
from dossier.runner.record import record
from dossier.runner.reference_process import running
from dossier.runner.schedule import Schedule
from dossier.runner.scrub import Scrub

QUICK = Schedule(ttft_ms=2, gap_ms=0.5, tokens=40)
POPULATIONS = (
    "{id: health, probe: health}",
    "{id: chat, probe: chat, requests: 3}",
    "{id: streaming, probe: streaming, requests: 3}",
    "{id: c2, probe: cell, prompt_tokens: 100, output_tokens: 16, concurrency: 2, requests: 8, warmups: 1}",
    "{id: open, probe: cell, prompt_tokens: 100, output_tokens: 8, rate: 50, concurrency: 8, requests: 8}",
)
GATES = """gates:
  - {id: whole, subject: chat, require: all passed}
  - {id: soon, subject: c2-ttft_any-median, require: <= 5 s}"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running(tmp_path_factory.mktemp("reference"), QUICK) as started:
        yield started


@pytest.fixture(scope="module")
def finished(server, tmp_path_factory):
    """One finished run: the folder with its plan, journal and evidence, and what the command said."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "plan.yaml").write_text(plan_text(server.base_url, POPULATIONS, GATES))
    return folder, go(folder)


def tree(folder):
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_run_ends_in_a_finding_that_every_check_accepts(finished):
    folder, result = finished
    checked = CliRunner().invoke(check, ["--no-cache", str(folder / "evidence")])
    assert checked.exit_code == 0, checked.output
    finding = record((folder / "run.jsonl").read_bytes()).finding
    assert [(p.id, p.passed, p.planned) for p in finding.populations] == [
        ("health", 1, 1), ("chat", 3, 3), ("streaming", 3, 3), ("c2", 8, 8), ("open", 8, 8),
    ]  # fmt: skip
    assert finding.completion == "concluded"
    limited = any(p.excluded for p in finding.populations)
    assert result.exit_code == (1 if limited else 0), result.output


def test_the_same_journal_gives_the_same_bytes(finished, tmp_path):
    folder, _ = finished
    made = CliRunner().invoke(record_command, [str(folder / "run.jsonl"), "--evidence", str(tmp_path / "evidence")])
    assert made.exit_code == 0, made.output
    assert tree(tmp_path / "evidence") == tree(folder / "evidence")


def test_the_plan_heads_the_journal_and_its_digest_recomputes(finished, server):
    folder, _ = finished
    head = read_journal((folder / "run.jsonl").read_bytes()).entries[0]
    assert head["plan_digest"] == plan(server.base_url, POPULATIONS, GATES).digest


def test_every_figure_recomputes_from_the_journal(finished):
    """The median TTFT, by hand from the lines of the journal."""
    folder, _ = finished
    data = (folder / "run.jsonl").read_bytes()
    lines = [json.loads(line) for line in data.splitlines()]
    taken = [line for line in lines if line["event"] == "sample" and line["population"] == "c2"]
    times = sorted(line["timing"]["ttft_any"] / 1e9 for line in taken if line["phase"] == "measured")
    figure = next(m for m in record(data).finding.measurements if m.id == "c2-ttft_any-median")
    assert float(figure.value.value) == pytest.approx((times[3] + times[4]) / 2, rel=1e-3)
    assert figure.n == len(times) == 8


def test_an_altered_journal_makes_no_finding(finished):
    folder, _ = finished
    lines = (folder / "run.jsonl").read_bytes().splitlines(keepends=True)
    number = next(n for n, line in enumerate(lines, 1) if b'"ttft_any":' in line)
    lines[number - 1] = lines[number - 1].replace(b'"ttft_any":', b'"ttft_any":9')
    with pytest.raises(JournalError, match=f"line {number} of the journal was altered"):
        record(b"".join(lines))


def test_a_recorded_finding_is_never_changed(finished):
    folder, _ = finished
    (file,) = (folder / "evidence" / "findings").iterdir()
    text = file.read_text()
    file.write_text(text.replace("A trial", "Another"))
    again = CliRunner().invoke(record_command, [str(folder / "run.jsonl"), "--evidence", str(folder / "evidence")])
    file.write_text(text)
    assert again.exit_code != 0
    assert "holds something else" in str(again.exception)


def test_a_run_with_a_failure_never_exits_0(server, tmp_path):
    populations = ("{id: chat, probe: chat}", "{id: json, probe: json}")
    (tmp_path / "plan.yaml").write_text(plan_text(server.base_url, populations))
    assert go(tmp_path).exit_code == 1
    finding = record((tmp_path / "run.jsonl").read_bytes()).finding
    assert [(miss.index, miss.kind) for miss in finding.populations[1].misses] == [(0, "not-json")]


def test_a_dry_run_sends_nothing_and_writes_nothing(tmp_path):
    (tmp_path / "plan.yaml").write_text(plan_text("http://127.0.0.1:1/v1", POPULATIONS))
    result = go(tmp_path, "--dry-run")
    assert result.exit_code == 0, result.output
    assert "Nothing was sent" in result.output
    assert "identity" in result.output
    assert "server metrics" in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["plan.yaml"]


def test_a_local_run_is_not_gone_on_with_and_starts_nothing_for_it():
    done = CliRunner().invoke(run_command, ["--local", "--resume"])
    assert "leave out --resume" in str(done.exception)
    assert done.output == ""


def test_nobody_there_is_told_and_no_finding(tmp_path):
    (tmp_path / "plan.yaml").write_text(plan_text("http://127.0.0.1:1/v1"))
    result = CliRunner().invoke(
        run_command, [str(tmp_path / "plan.yaml"), "--journal", str(tmp_path / "run.jsonl"),
                      "--evidence", str(tmp_path / "evidence")],
    )  # fmt: skip
    assert result.exit_code == 1
    assert "does not answer" in result.stderr
    assert not (tmp_path / "evidence").exists()


def test_a_bound_ends_the_run_and_what_was_not_run_is_counted(server, tmp_path):
    text = plan_text(server.base_url, ("{id: chat, probe: chat, requests: 50}",)).replace(
        "requests: 2000", "requests: 22"
    )
    (tmp_path / "plan.yaml").write_text(text)
    assert go(tmp_path).exit_code == 1
    finding = record((tmp_path / "run.jsonl").read_bytes()).finding
    population = finding.populations[0]
    assert finding.completion == "aborted"
    assert population.completed + population.not_run == 50
    assert 0 < population.completed < 22


def test_a_bound_in_money_ends_the_run(server, tmp_path):
    """Each reply costs 9 prompt and 32 output tokens: 9 + 64 in millionths, so the fifth or so is the last."""
    more = "requests: 2000, money: 0.0004, price: {prompt: 1, output: 2}"
    text = plan_text(server.base_url, ("{id: chat, probe: chat, requests: 50}",)).replace("requests: 2000", more)
    (tmp_path / "plan.yaml").write_text(text)
    dry = go(tmp_path, "--dry-run")
    assert "0.0004 in money" in dry.output
    assert go(tmp_path).exit_code == 1
    finding = record((tmp_path / "run.jsonl").read_bytes()).finding
    assert "bound of 0.0004 in money is reached" in finding.summary
    assert 4 <= finding.populations[0].completed <= 6


def test_a_journal_of_another_plan_is_not_gone_on_with(server, tmp_path):
    (tmp_path / "plan.yaml").write_text(plan_text(server.base_url))
    with Journal.create(tmp_path / "run.jsonl", Scrub()) as journal:
        journal.append("plan", plan=plan(populations=("{id: other, probe: chat}",)).public, run="x")
    arguments = [str(tmp_path / "plan.yaml"), "--journal", str(tmp_path / "run.jsonl"), "--resume"]
    assert "begun under another plan" in str(CliRunner().invoke(run_command, arguments).exception)


def test_a_changed_identity_voids_the_run_and_keeps_it(tmp_path):
    """A stub that changes its fingerprint after some replies."""
    text = plan_text("URL", ("{id: chat, probe: chat, requests: 3}",))
    with changing_server() as url:
        (tmp_path / "plan.yaml").write_text(text.replace("URL", url))
        assert go(tmp_path).exit_code == 1
    finding = record((tmp_path / "run.jsonl").read_bytes()).finding
    assert finding.completion == "aborted"
    assert finding.populations[0].passed == 3
    assert finding.populations[0].excluded.reason == "invalid-run"
    assert "fingerprint was 'a', is 'b'" in finding.summary


def test_no_key_reaches_journal_or_finding(tmp_path, monkeypatch):
    """The stub quotes the Authorization header back in an error, plain and in Base64."""
    monkeypatch.setenv("STUB_KEY", "opaque-key-of-no-known-form")
    text = plan_text("URL", ("{id: chat, probe: chat}",)).replace(
        "model: reference", "model: reference, api_key_env: STUB_KEY"
    )
    with changing_server(echo=True) as url:
        (tmp_path / "plan.yaml").write_text(text.replace("URL", url))
        assert go(tmp_path).exit_code == 1
    written = b"".join(content for path, content in tree(tmp_path).items() if path.name != "plan.yaml")
    for spelling in (b"opaque-key", b"b3BhcXVlLWtleS1vZi1uby1rbm93bi1mb3Jt"):
        assert spelling not in written
    assert b"[redacted secret]" in written or b"<redacted>" in written


# A stub that lies


class changing_server:  # noqa: N801 - reads as a phrase
    """Answers chat with fingerprint `a`, from the fifth reply on with `b`; or only echoes the key in an error."""

    def __init__(self, *, echo=False):
        self.echo = echo

    def __enter__(self):
        read, write = os.pipe()
        self.child = os.fork()
        if self.child == 0:
            try:
                asyncio.run(self._serve(write))
            finally:
                os._exit(0)
        port = int(os.read(read, 20))
        os.close(read)
        os.close(write)
        return f"http://127.0.0.1:{port}/v1"

    def __exit__(self, *_):
        os.kill(self.child, signal.SIGKILL)
        os.waitpid(self.child, 0)

    async def _serve(self, write):
        self.replies = 0
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        os.write(write, str(server.sockets[0].getsockname()[1]).encode())
        await asyncio.sleep(60)

    async def _answer(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next(
            (int(line.split(":")[1]) for line in head.splitlines() if line.lower().startswith("content-length")), 0
        )
        await reader.readexactly(length)
        status, body = self._reply(head)
        data = json.dumps(body).encode()
        writer.write(f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n"
                     "Connection: close\r\n\r\n".encode() + data)  # fmt: skip
        await writer.drain()
        writer.close()

    def _reply(self, head):
        if "/v1/models" in head:
            return 200, {"data": [{"id": "reference"}]}
        if "POST /v1/chat" not in head:
            return 404, {}
        key = next((line for line in head.splitlines() if line.startswith("Authorization")), "")
        if self.echo:
            coded = "b3BhcXVlLWtleS1vZi1uby1rbm93bi1mb3Jt"
            return 401, {"error": {"message": f"bad key: {key} ({coded})"}}
        self.replies += 1
        said = {"message": {"role": "assistant", "content": "READY"}, "index": 0, "finish_reason": "stop"}
        usage = {"prompt_tokens": 6, "completion_tokens": 1}
        mark = "a" if self.replies < 5 else "b"
        return 200, {"model": "reference", "system_fingerprint": mark, "choices": [said], "usage": usage}
