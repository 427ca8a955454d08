"""Every command of the README does what the README says; nothing in it is left untried."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")
COMMANDS = [line.partition("#")[0].strip() for line in README.splitlines() if line.startswith("    ")]

# What stands behind each command: output that a reader is promised.
SAYS = {
    "make site": "Open site/index.html",
    "dossier check": "0 problems",
    "dossier build": "pages",
    "dossier show glm-5.3-flash": "exl3-r10-apc-327k-c4",
    "dossier render": "mkdocs build",
}
# These are how this very test is run.
RUNS_THIS = {"make test", "make check"}
SERVES = {"dossier serve"}
MEASURES = {"make measure"}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Path:
    """What a person has after cloning: the committed files and the uncommitted ones that git does not ignore."""
    folder = tmp_path_factory.mktemp("clone") / "dossier"
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in listed.stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def _run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "VIRTUAL_ENV", "MAKEFLAGS", "MAKELEVEL"}}
    env["PATH"] = f"{folder / '.venv/bin'}:{env['PATH']}"
    return subprocess.run(
        command.split(), cwd=folder, env=env, capture_output=True, text=True, timeout=600, check=False
    )


def test_every_command_is_tried():
    assert COMMANDS, "the README shows no command"
    assert set(COMMANDS) == set(SAYS) | RUNS_THIS | SERVES | MEASURES


@pytest.mark.parametrize("command", [c for c in COMMANDS if c in SAYS])
def test_a_command_does_what_is_promised(checkout, command):
    done = _run(command, checkout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert SAYS[command] in done.stdout + done.stderr


@pytest.mark.live
def test_measuring_ends_in_a_finding_on_the_site(checkout):
    before = set((checkout / "evidence/findings").iterdir())
    done = _run("make measure", checkout)
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = set((checkout / "evidence/findings").iterdir()) - before
    assert (checkout / "site/findings" / made.stem / "index.html").exists()


def test_serve_serves_the_site_and_rebuilds_it_on_a_change(checkout):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(checkout / ".venv/bin/dossier"), "serve", "--port", str(port)]
    server = subprocess.Popen(command, cwd=checkout, stderr=subprocess.PIPE, text=True)
    try:
        url = f"http://127.0.0.1:{port}/models/glm-5.3-flash/"
        assert "GLM-5.3-Flash" in _get(url, "GLM-5.3-Flash")
        model = checkout / "evidence/models/glm-5.3-flash.yaml"
        model.write_text(model.read_text("utf-8").replace("name: GLM-5.3-Flash", "name: Renamed Flash"), "utf-8")
        assert "Renamed Flash" in _get(url, "Renamed Flash")
    finally:
        server.send_signal(signal.SIGINT)
        _, said = server.communicate(timeout=20)
    assert "Traceback" not in said


def _get(url: str, wanted: str) -> str:
    page = ""
    for _ in range(300):
        try:
            with urllib.request.urlopen(url, timeout=5) as reply:
                page = reply.read().decode()
        except OSError:
            page = ""
        if wanted in page:
            return page
        time.sleep(0.2)
    return page


def test_the_files_that_it_names_are_there():
    for name in re.findall(r"\]\(([^)#:]+)\)|`([a-z]+/)`", README):
        path = name[0] or name[1]
        if path != "site/":  # made, not committed
            assert (ROOT / path).exists(), path
