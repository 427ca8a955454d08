"""Files that one rule refuses, each beside one that passes: laid into a small valid evidence folder and checked.

The first line of a file says which rule is expected, or `nothing`; `# here` ends the line that it names.
"""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

from dossier.cache import Cache
from dossier.catalog import load_catalog
from dossier.checks.run import load_checked
from dossier.errors import Problem

EVIDENCE = Path(__file__).parents[1] / "evidence"
CASE = "findings/2026-02-01-case.yaml"


def cases(family: str) -> list[Path]:
    """Every file of a family, good and bad."""
    found = sorted((EVIDENCE / "invalid" / family).glob("*.yaml"))
    assert found
    return found


def check_text(text: str, tmp_path: Path, artifacts: dict[str, bytes] | None = None) -> list[Problem]:
    """The problems of one finding; pins are left out, since they follow from the records around it."""
    root = tmp_path / "evidence"
    shutil.copytree(EVIDENCE / "base", root)
    (root / CASE).write_text(text, encoding="utf-8")
    for name, data in (artifacts or {}).items():
        path = root / "artifacts" / "2026-02-01-case" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    _, problems = load_checked(partial(load_catalog, root, Cache(None), "evidence"), Cache(None))
    return [p for p in problems if p.path == f"evidence/{CASE}" and p.rule != "identity/pin"]


def expected(text: str) -> list[tuple[str, int]]:
    """Rule and line that a file says it breaks."""
    first, *lines = text.splitlines()
    rule = first.removeprefix("# expect: ")
    if rule == "nothing":
        return []
    [line] = [number for number, line in enumerate(lines, start=2) if line.endswith("# here")]
    return [(rule, line)]
