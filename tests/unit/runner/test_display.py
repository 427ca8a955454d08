"""What a run shows on a real terminal, a pseudo one here: bars, rates, misses, time left, and the table at the end."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys

from runner_support import plan_text

from dossier.runner.reference_process import running
from dossier.runner.schedule import Schedule

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
POPULATIONS = (
    "{id: streams, title: Streams that count, probe: streaming, requests: 40, concurrency: 2}",
    "{id: json, title: JSON in words, probe: json, requests: 7}",
)


def on_a_terminal(folder):
    """What the command writes to a terminal of 110 columns, escapes and all; and its exit status."""
    code = "from dossier.cli.run import run; run()"
    command = [sys.executable, "-c", code, str(folder / "plan.yaml"), "--journal", str(folder / "run.jsonl"),
               "--evidence", str(folder / "evidence")]  # fmt: skip
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "110", "LINES": "40"}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        seen = b""
        while True:
            try:
                seen += os.read(ours, 65_536)
            except OSError:  # Linux says so when the last writer has gone
                break
    os.close(ours)
    return seen.decode(), process.returncode


def test_a_terminal_sees_bars_misses_and_a_table(tmp_path):
    with running(tmp_path, Schedule(ttft_ms=30, gap_ms=1, tokens=20)) as served:
        (tmp_path / "plan.yaml").write_text(plan_text(served.base_url, POPULATIONS))
        seen, status = on_a_terminal(tmp_path)
    plain = ESCAPES.sub("", seen)
    frames = re.split(r"[\r\n]+", plain)
    whole = [frame for frame in frames if frame.startswith("A trial") and "━" in frame]
    assert any(re.search(r"Streams that count +━+.* \d+/40 ", frame) for frame in frames)
    assert any(re.search(r"\d\.\d/s", frame) for frame in whole)
    assert any(re.search(r"\d:\d\d:\d\d$", frame.rstrip()) for frame in whole)
    assert any("7 not passed" in frame for frame in whole)
    assert plain.count("json: not-json") == 5, "the first five misses are told, the others counted"
    assert re.search(r"│ streams +│ 40/40", plain)
    assert re.search(r"│ json +│ 0/7", plain)
    assert seen.count("\x1b[?25l") == seen.count("\x1b[?25h"), "the cursor is there again"
    assert status == 1
