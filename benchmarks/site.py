"""Builds of synthetic evidence: ours, a bare jinja2 loop, and plain mkdocs-material over the same article bodies.

    python benchmarks/site.py [--counts 1000 5000] [--rounds 3]

Where `hugo` and `zensical` are on the PATH (packages of these names), they build the same bodies too. CPU is user +
system of the process and its children; memory is the greatest resident size of one process. Rounds are alternated.
Everything runs with its modules compiled, as after an installation. Results are printed as Markdown.
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
from pathlib import Path

from synthetic import write_evidence

ROOT = Path(__file__).resolve().parents[1]
_HUGO = """baseURL = "https://example.org/"
disableKinds = ["taxonomy", "term", "RSS"]
[markup.goldmark.renderer]
unsafe = true
"""
_SILENT = {"NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}


def run(command: list[str], folder: Path) -> tuple[float, float]:
    """CPU seconds and peak MB of a command and its children."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env = {**kept, **_SILENT, "DOSSIER_CACHE": str(folder / ".cache"), "PYTHONPATH": str(ROOT)}
    env["PYTHONPYCACHEPREFIX"] = str(folder.parent / "pycache")
    script = (
        "import resource, subprocess, sys\n"
        "code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(code, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *command], cwd=folder, env=env, capture_output=True, text=True, check=True
    )
    code, cpu, peak = done.stdout.split()
    if code != "0":
        raise SystemExit(f"{' '.join(command)} failed in {folder}")
    return float(cpu), float(peak)


def make_project(folder: Path, count: int) -> Path:
    """A project with `count` synthetic findings, pinned."""
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "mkdocs.yml", folder)
    shutil.copytree(ROOT / "docs", folder / "docs")
    write_evidence(folder / "evidence", count)
    run([*OURS, "pin", "evidence"], folder)
    return folder


OURS = [sys.executable, "-m", "dossier.cli.main"]


def forget(folder: Path, *names: str) -> None:
    """Remove what an earlier build left."""
    for name in names or ("build", "site", ".cache"):
        shutil.rmtree(folder / name, ignore_errors=True)


def clean(folder: Path) -> tuple[float, float]:
    """A clean build: no cache, no shell, no pages."""
    forget(folder)
    return run([*OURS, "build"], folder)


def changed(folder: Path) -> tuple[float, float]:
    """A build after one finding changed."""
    file = max((folder / "evidence/findings").glob("*.yaml"))
    text = file.read_text("utf-8")
    file.write_text(text.replace("summary: >\n", "summary: >\n  Edited.\n", 1), "utf-8")
    return run([*OURS, "build"], folder)


def unchanged(folder: Path) -> tuple[float, float]:
    """A build after nothing changed."""
    return run([*OURS, "build"], folder)


def bare(folder: Path) -> tuple[float, float]:
    """The floor: yaml.CSafeLoader, one jinja2 template, markdown-it-py; no check, link, index or shell."""
    return run([sys.executable, str(ROOT / "benchmarks/bare_loop.py"), "evidence", "bare"], folder)


def mkdocs(folder: Path) -> tuple[float, float]:
    """Plain mkdocs-material over the same article bodies (`dossier render` wrote them; not counted)."""
    forget(folder, "build/mkdocs")
    return run([sys.executable, "-m", "mkdocs", "build", "--quiet"], folder)


def hugo(folder: Path) -> tuple[float, float]:
    """Hugo over the same bodies, each in the page that mkdocs-material made for a finding."""
    forget(folder, "hugo")
    site = folder / "hugo"
    shutil.copytree(folder / "build/docs", site / "content", ignore=shutil.ignore_patterns("assets", "images"))
    for index in (site / "content").rglob("index.md"):
        index.rename(index.with_name("_index.md"))  # else Hugo takes the pages beside it for its attachments
    layouts = site / "layouts/_default"
    layouts.mkdir(parents=True)
    shell = next((folder / "build/shell").glob("*/_shell/findings/index.html")).read_text("utf-8")
    slots = {
        "dossier-title-slot": "{{ .Title }}",
        "dossier-description-slot": "{{ .Description }}",
        '<div class="dossier-article-slot"></div>': "{{ .Content }}",
    }
    for slot, filled in slots.items():
        shell = shell.replace(slot, filled)
    for layout in (layouts / "single.html", layouts / "list.html", site / "layouts/index.html"):
        layout.write_text(shell, "utf-8")
    (site / "hugo.toml").write_text(_HUGO, "utf-8")
    return run(["hugo", "--quiet", "--source", "hugo"], folder)


def zensical(folder: Path) -> tuple[float, float]:
    """Zensical over the same bodies, with the project's mkdocs.yml."""
    forget(folder, "build/mkdocs")
    return run(["zensical", "build", "--clean", "--config-file", "mkdocs.yml"], folder)


OTHERS = {"mkdocs": mkdocs, "hugo": hugo, "zensical": zensical}
"""What builds the bodies that `dossier render` wrote."""


def table(rows: list[tuple[str, int, list[tuple[float, float]]]]) -> str:
    """Median and spread of each row."""
    lines = ["| what | findings | CPU s, median (min to max) | n | peak MB |", "|---|---:|---:|---:|---:|"]
    for what, count, results in rows:
        cpu = [c for c, _ in results]
        spread = f"{statistics.median(cpu):.2f} ({min(cpu):.2f} to {max(cpu):.2f})"
        lines.append(f"| {what} | {count:,} | {spread} | {len(cpu)} | {max(m for _, m in results):.0f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--counts", type=int, nargs="+", default=[1000, 5000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--without", nargs="*", default=[], choices=OTHERS, help="leave these out")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for count in options.counts:
            folder = make_project(Path(scratch, str(count)), count)
            steps = {
                "clean build": clean,
                "one changed finding": changed,
                "nothing changed": unchanged,
                "bare jinja2 loop": bare,
            }
            usable = {"mkdocs", *filter(shutil.which, OTHERS)} - {*options.without}
            there = [name for name in OTHERS if name in usable]
            steps |= {name: OTHERS[name] for name in there}
            unchanged(folder)  # compiles all modules
            results: dict[str, list[tuple[float, float]]] = {name: [] for name in steps}
            for _ in range(options.rounds):
                for name, step in steps.items():
                    if name in there[:1]:
                        run([*OURS, "render"], folder)
                    results[name].append(step(folder))
            rows += [(name, count, found) for name, found in results.items()]
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
    print(table(rows))


if __name__ == "__main__":
    main()
