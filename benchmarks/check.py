"""What `dossier check` costs beside a bare libyaml load of the same files: cold, warm, one changed, against a base.

    python benchmarks/check.py [--count N] [--rounds N]

`N` synthetic findings of about 120 lines are made, pinned and committed. Every step is a process of its own, the start
of Python included, with its modules compiled as after an installation; so is the bare load. CPU is user + system of the
process and its children, git among them. Rounds are alternated. Every figure is the median of the rounds, with the
least and the greatest; a ratio is to another step of the same round.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import yaml
from synthetic import write_evidence

ROOT = Path(__file__).resolve().parents[1]
DOSSIER = [sys.executable, "-m", "dossier.cli.main"]
CHECK = [*DOSSIER, "check", "evidence"]
BARE = (
    "import pathlib, sys, yaml\n"
    "for file in sorted(pathlib.Path(sys.argv[1]).rglob('*.yaml')):\n"
    "    yaml.load(file.read_bytes(), yaml.CSafeLoader)\n"
)
LOAD = "bare load, yaml.CSafeLoader"
BASE = [*CHECK, "--base", "HEAD"]
# Each ratio that has a bar: of which step, to which step, how much at most, and what is taken off first.
BARS = (
    ("cold check to the bare load", "cold", LOAD, 1.5, 0.0),
    ("one changed to 1.5 times the bare load", "one changed", LOAD, 0.15, 0.0),
    ("what --base adds, nothing changed", "cold, --base", "cold", 0.5, 1.0),
    ("what --base adds, every layout changed", "cold, --base, every layout changed", "cold", 0.5, 1.0),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = make(Path(scratch, "project"), options.count)
        steps = all_steps(folder)
        for step in steps.values():  # once for nothing: modules are compiled, files are in the machine's memory
            step()
        spent: dict[str, list[float]] = {name: [] for name in steps}
        for _ in range(options.rounds):
            for name, step in steps.items():
                spent[name].append(step())
        report(folder, spent)


def make(folder: Path, count: int) -> Path:
    """A git repository with pinned evidence, committed, and the same with another layout in every file beside it."""
    write_evidence(folder / "evidence", count)
    run([*DOSSIER, "pin", "evidence"], folder)
    (folder / "empty" / "findings").mkdir(parents=True)
    settings = ["-c", "user.name=bench", "-c", "user.email=bench@example.org", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "-A"], [*settings, "commit", "-qm", "Evidence"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    shutil.copytree(folder / "evidence", folder.with_name("as-committed"))
    moved = shutil.copytree(folder / "evidence", folder.with_name("moved"))
    for file in moved.rglob("*.yaml"):
        file.write_text(f"# one more line\n{file.read_text('utf-8')}", "utf-8")
    return folder


def all_steps(folder: Path) -> dict[str, Callable[[], float]]:
    """Each step leaves the evidence and the cache to the next as that needs them."""
    file = max((folder / "evidence/findings").iterdir())

    def put(tree: str) -> None:
        shutil.copytree(folder.with_name(tree), folder / "evidence", dirs_exist_ok=True)

    def cold(command: list[str], tree: str = "as-committed") -> float:
        shutil.rmtree(folder.with_name("cache"), ignore_errors=True)
        put(tree)
        return run(command, folder)

    def changed() -> float:
        text = file.read_text("utf-8")
        file.write_text(text.replace("summary: >\n", "summary: >\n  Edited.\n", 1), "utf-8")
        return run(CHECK, folder)

    def warm_base() -> float:
        put("as-committed")
        return run(BASE, folder)

    return {
        LOAD: lambda: run([sys.executable, "-c", BARE, "evidence"], folder),
        "nothing there": lambda: run([*DOSSIER, "check", "empty"], folder),
        "cold": lambda: cold(CHECK),
        "nothing changed": lambda: run(CHECK, folder),
        "one changed": changed,
        "cold, --base": lambda: cold(BASE),
        "nothing changed, --base": warm_base,
        "cold, --base, every layout changed": lambda: cold(BASE, "moved"),
    }


def run(command: list[str], folder: Path) -> float:
    """CPU seconds of a command and its children."""
    surroundings = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    surroundings |= {
        "DOSSIER_CACHE": str(folder.with_name("cache")),
        "PYTHONPATH": str(ROOT),
        "PYTHONPYCACHEPREFIX": str(folder.with_name("compiled")),
    }
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(command, cwd=folder, env=surroundings, stdout=said, stderr=said) as started,
    ):
        _, status, used = os.wait4(started.pid, 0)
        started.returncode = os.waitstatus_to_exitcode(status)
        if started.returncode:
            said.seek(0)
            sys.exit(f"{' '.join(command)}: {said.read().decode()}")
    return used.ru_utime + used.ru_stime


def report(folder: Path, spent: dict[str, list[float]]) -> None:
    """Two tables in Markdown: what each step costs, and which bars hold."""
    texts = [path.read_text("utf-8") for path in (folder / "evidence/findings").iterdir()]
    files = sum(1 for _ in (folder / "evidence").rglob("*.yaml"))
    lines = statistics.median(text.count("\n") for text in texts)
    print(f"{len(texts):,} findings of {lines:.0f} lines in {files:,} files; Python {platform.python_version()},")
    print(f"PyYAML {yaml.__version__}, {platform.machine()}, {os.cpu_count()} cores\n")
    print("| what | CPU s, median (min to max) | times the bare load | n |\n|---|---:|---:|---:|")
    for name, each in spent.items():
        print(f"| {name} | {spread(each)} | {spread(ratios(each, spent[LOAD]))} | {len(each)} |")
    print("\n| bar | at most | measured | holds |\n|---|---:|---:|---|")
    for what, step, other, most, off in BARS:
        found = [ratio - off for ratio in ratios(spent[step], spent[other])]
        holds = "yes" if statistics.median(found) <= most else "**no**"
        print(f"| {what} | {most:g} | {spread(found)} | {holds} |")


def ratios(each: list[float], others: list[float]) -> list[float]:
    return [one / other for one, other in zip(each, others, strict=True)]


def spread(values: list[float]) -> str:
    return f"{statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})"


if __name__ == "__main__":
    main()
