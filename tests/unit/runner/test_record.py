"""Journals that are too large to publish, populations that are repeated: what the finding keeps of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from runner_support import go, plan, plan_text

from dossier.cli.check import check
from dossier.cli.record import record as record_command
from dossier.cli.verify import verify
from dossier.digest import sha256_hex
from dossier.runner.journal import Journal, read_journal
from dossier.runner.record import MAX_FILE, MAX_JOURNAL, published_journal, record
from dossier.runner.reference_process import running
from dossier.runner.schedule import Schedule
from dossier.runner.scrub import Scrub

FAST = Schedule(ttft_ms=2, gap_ms=0.2, tokens=40)


EVIDENCE = Path(__file__).parents[3] / "evidence"


@pytest.mark.parametrize("path", sorted(EVIDENCE.glob("artifacts/*/journal.jsonl")), ids=lambda path: path.parent.name)
def test_a_published_finding_is_rebuilt_from_its_journal_byte_for_byte(path):
    """A change of how findings are written is seen here, and what is published is recorded again from its journal."""
    files = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    recorded = record(published_journal(files))
    assert [name for name, content in recorded.files.items() if (EVIDENCE / name).read_bytes() != content] == []


def ran(folder, text, *more):
    (folder / "plan.yaml").write_text(text)
    return go(folder, *more)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running(tmp_path_factory.mktemp("reference"), FAST) as started:
        yield started


def grown(path, requests, gaps):
    """The journal of a run of one cell, as if each of its `requests` samples were the first and had so many gaps."""
    entries = read_journal(path.read_bytes()).entries
    first = next(entry for entry in entries if entry["event"] == "sample")
    whole = plan(populations=(cell(requests), CHAT))
    large = path.with_name("large.jsonl")
    with Journal.create(large, Scrub()) as journal:
        for entry in entries:
            fields = {key: value for key, value in entry.items() if key not in {"n", "prev", "event"}}
            if entry["event"] == "plan":
                fields |= {"plan": whole.public, "plan_digest": whole.digest}
            if entry["event"] == "cell":
                fields["requests"] = requests
            if entry["event"] == "done" and entry["population"] == "c1":
                for index in range(1, requests):
                    timing = first["timing"] | {"gaps_us": [1000] * gaps}
                    more = {key: value for key, value in first.items() if key not in {"n", "prev", "event"}}
                    journal.append("sample", **more | {"index": index, "timing": timing})
            journal.append(entry["event"], **fields)
    return large


CHAT = "{id: chat, probe: chat}"


def cell(requests):
    return f"{{id: c1, probe: cell, prompt_tokens: 100, output_tokens: 16, requests: {requests}}}"


@pytest.mark.parametrize(
    ("requests", "gaps", "files"),
    [
        (4500, 200, ["samples-c1-1.json", "samples-c1-2.json"]),
    ],
    ids=["without gaps, in parts"],
)
def test_a_journal_over_4_mib_stays_private_and_its_samples_are_published(server, tmp_path, requests, gaps, files):
    ran(tmp_path, plan_text(server.base_url, (cell(1), CHAT)))
    large = grown(tmp_path / "run.jsonl", requests, gaps)
    data = large.read_bytes()
    assert len(data) > MAX_JOURNAL
    recorded = record(data)
    by_path = {artifact.path: artifact for artifact in recorded.finding.artifacts}
    journal = next(artifact for artifact in recorded.finding.artifacts if artifact.id == "file-journal")
    assert (journal.path, journal.sha256, journal.bytes) == (None, sha256_hex(data), len(data))
    folder = f"artifacts/{recorded.finding.id}"
    assert sorted(path for path in by_path if path and path.startswith("samples")) == sorted(
        [*files, "samples-chat.json"]
    )
    kept = [json.loads(recorded.files[f"{folder}/{name}"]) for name in files]
    assert [sample["index"] for part in kept for sample in part["samples"]] == list(range(requests))
    assert max(len(recorded.files[f"{folder}/{name}"]) for name in files) <= MAX_FILE
    assert "gaps_us" not in kept[0]["samples"][1]["timing"]
    assert "samples-chat.json" in by_path
    made = CliRunner().invoke(record_command, [str(large), "--evidence", str(tmp_path / "large")])
    assert made.exit_code == 0, made.output
    accepted = CliRunner().invoke(check, ["--no-cache", str(tmp_path / "large")])
    assert accepted.exit_code == 0, accepted.output


def test_a_journal_over_1_mib_is_published_in_files_that_make_it_again(server, tmp_path):
    ran(tmp_path, plan_text(server.base_url, (cell(1), CHAT)))
    data = grown(tmp_path / "run.jsonl", 1500, 200).read_bytes()
    assert MAX_FILE < len(data) <= MAX_JOURNAL
    recorded = record(data)
    folder = f"artifacts/{recorded.finding.id}/"
    files = {path.removeprefix(folder): content for path, content in recorded.files.items() if path.startswith(folder)}
    names = ["journal.jsonl", "journal-2.jsonl", "journal-3.jsonl"]
    assert sorted(files) == sorted(["figures.json", *names])
    assert max(map(len, files.values())) <= MAX_FILE
    assert b"".join(files[name] for name in names) == data
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    parts = [str(tmp_path / name) for name in names]
    made = CliRunner().invoke(record_command, [*parts, "--evidence", str(tmp_path / "large")])
    assert made.exit_code == 0, made.output
    assert (tmp_path / "large" / recorded.path).read_bytes() == recorded.files[recorded.path]
    verified = CliRunner().invoke(verify, [str(tmp_path / "large")])
    assert (verified.exit_code, "1  findings whose figures follow" in verified.output) == (0, True), verified.output


def test_verify_names_a_figure_that_does_not_follow_from_the_journal(server, tmp_path):
    ran(tmp_path, plan_text(server.base_url, (cell(2),)))
    evidence = tmp_path / "evidence"
    (figures,) = evidence.glob("artifacts/*/figures.json")
    data = json.loads(figures.read_text())
    data["cells"]["c1"]["e2e"]["max"]["value"] *= 2
    figures.write_text(json.dumps(data))
    verified = CliRunner().invoke(verify, [str(evidence)])
    assert verified.exit_code == 1
    assert "artifacts/journal: these are not the figures that follow from the journal beside it" in verified.output


def test_verify_names_the_line_of_a_journal_that_was_altered(server, tmp_path):
    ran(tmp_path, plan_text(server.base_url, (cell(2),)))
    (journal,) = (tmp_path / "evidence").glob("artifacts/*/journal.jsonl")
    lines = journal.read_text().splitlines(keepends=True)
    lines[5] = lines[5].replace('"', "'", 1)
    journal.write_text("".join(lines))
    verified = CliRunner().invoke(verify, [str(tmp_path / "evidence")])
    assert verified.exit_code == 1
    assert "journal.jsonl:1:1: artifacts/journal" in verified.output
    assert "line 6" in verified.output


def test_a_population_whose_gate_fails_is_repeated_once_and_both_are_kept(server, tmp_path):
    """Words are no JSON: the gate fails, the repeat too, and neither replaces the other. Chat passes, and is not."""
    populations = ("{id: chat, probe: chat}", "{id: json, probe: json, requests: 2}")
    more = """gates:
  - {id: whole, subject: chat, require: all passed}
  - {id: strict, subject: json, require: all passed}
repeat_failed: true"""
    result = ran(tmp_path, plan_text(server.base_url, populations, more))
    assert result.exit_code == 1
    finding = record((tmp_path / "run.jsonl").read_bytes()).finding
    assert [(p.id, p.repeat_of, p.planned, p.passed) for p in finding.populations] == [
        ("chat", None, 1, 1), ("json", None, 2, 0), ("json-repeat", "json", 2, 0),
    ]  # fmt: skip
    gate = next(gate for gate in finding.gates if gate.id == "strict")
    assert (gate.subject, gate.repeats_allowed) == ("json", 1)
    assert CliRunner().invoke(check, ["--no-cache", str(tmp_path / "evidence")]).exit_code == 0


def test_a_repeat_that_was_interrupted_goes_on_and_is_not_begun_again(server, tmp_path):
    """The journal is cut within the repeat, as a crash would; only the requests that lack a sample are sent."""
    more = "gates: [{id: strict, subject: json, require: all passed}]\nrepeat_failed: true"
    ran(tmp_path, plan_text(server.base_url, ("{id: json, probe: json, requests: 3}",), more))
    path = tmp_path / "run.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    first = next(n for n, line in enumerate(lines) if b'"sample"' in line and b'"json-repeat"' in line)
    path.write_bytes(b"".join(lines[: first + 1]))
    (tmp_path / "evidence").rename(tmp_path / "before")
    ran(tmp_path, (tmp_path / "plan.yaml").read_text(), "--resume")
    events = read_journal(path.read_bytes()).entries
    assert sum(entry["event"] == "repeat" for entry in events) == 1
    samples = [
        entry["index"] for entry in events if entry["event"] == "sample" and entry["population"] == "json-repeat"
    ]
    assert sorted(samples) == [0, 1, 2]
