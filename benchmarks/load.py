"""What reading and checking evidence costs, beside a bare libyaml-to-dict load of the same files.

    python benchmarks/load.py [--count N] [--rounds N]

`N` synthetic findings of about 120 lines are made and pinned. All steps run within one process, alternated; whole
commands are measured by `check.py`. Every figure is the median of the rounds, with the least and the greatest; a ratio
is to the bare load of the same round.
"""

from __future__ import annotations

import argparse
import gc
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import yaml
from synthetic import write_evidence

from dossier.cache import Cache
from dossier.catalog import load_catalog
from dossier.model.parse import parse_record
from dossier.source import read_document

ROOT = Path(__file__).resolve().parents[1]


@dataclass
class Spent:
    """Seconds of each round."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = make(Path(scratch), options.count)
        steps = within(folder)
        spent = {name: Spent() for name in steps}
        for _ in range(options.rounds):
            for name, step in steps.items():
                cpu, wall = step()
                spent[name].cpu.append(cpu)
                spent[name].wall.append(wall)
        report(folder, spent)


def make(scratch: Path, count: int) -> Path:
    """A folder with pinned evidence, and a filled cache."""
    write_evidence(scratch / "evidence", count)
    command([sys.executable, "-m", "dossier.cli.main", "pin", "evidence"], scratch)
    with Cache(scratch / "load.sqlite") as cache:
        load_catalog(scratch / "evidence", cache)
    return scratch


def within(folder: Path) -> dict[str, Callable[[], tuple[float, float]]]:
    """Steps within this process; the first is what all others are compared with."""
    evidence = folder / "evidence"
    texts = [path.read_bytes() for path in sorted(evidence.rglob("*.yaml"))]

    def cached() -> None:
        with Cache(folder / "load.sqlite") as cache:
            load_catalog(evidence, cache)

    steps: dict[str, Callable[[], object]] = {
        "yaml.load, CSafeLoader": lambda: [yaml.load(text, yaml.CSafeLoader) and None for text in texts],
        "read_document": lambda: [read_document(text, "") and None for text in texts],
        "read_document, parse_record": lambda: [validate(text) for text in texts],
        "load_catalog, cold": lambda: load_catalog(evidence, Cache(None)),
        "load_catalog, cached": cached,
    }
    return {name: partial(timed, step) for name, step in steps.items()}


def validate(text: bytes) -> None:
    document, _ = read_document(text, "")
    if document is None or parse_record(document, "")[0] is None:
        sys.exit("the synthetic evidence is not valid")


def timed(step: Callable[[], object]) -> tuple[float, float]:
    """CPU and wall seconds of a step."""
    gc.collect()
    cpu, wall = time.process_time(), time.perf_counter()
    step()
    return time.process_time() - cpu, time.perf_counter() - wall


def command(arguments: list[str], folder: Path) -> None:
    """Run a command, without what an earlier one may have kept."""
    surroundings = {**os.environ, "DOSSIER_CACHE": "off", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(arguments, cwd=folder, env=surroundings, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)}: {done.stdout}{done.stderr}")


def report(folder: Path, spent: dict[str, Spent]) -> None:
    texts = [path.read_text("utf-8") for path in sorted((folder / "evidence/findings").iterdir())]
    files = sum(1 for _ in (folder / "evidence").rglob("*.yaml"))
    lines = statistics.median(text.count("\n") for text in texts)
    print(f"{len(texts):,} findings of {lines:.0f} lines in {files:,} files; Python {platform.python_version()},")
    print(f"PyYAML {yaml.__version__}, {platform.machine()}, {os.cpu_count()} cores\n")
    print("| what | CPU s, median (min to max) | wall s | CPU ms a file | times the bare load | n |")
    print("|---|---:|---:|---:|---:|---:|")
    base = next(iter(spent.values())).cpu
    for name, each in spent.items():
        ratios = [cpu / other for cpu, other in zip(each.cpu, base, strict=True)]
        row = [spread(each.cpu), spread(each.wall), f"{statistics.median(each.cpu) / files * 1e3:.3f}", spread(ratios)]
        print(f"| {name} | {' | '.join(row)} | {len(each.cpu)} |")


def spread(values: list[float]) -> str:
    return f"{statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})"


if __name__ == "__main__":
    main()
