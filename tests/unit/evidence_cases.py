"""Files that the checks refuse: each is laid over the valid tree `tests/evidence/base`, alone.

The first line says every problem that is expected, `# expect: rule line:column ...`; the place may begin with the path
of another file. The file goes where its `schema` and `id` say, or where `# at: path` says. `# file: path = text` puts
another small file beside it.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dossier.cache import Cache
from dossier.catalog import load_catalog
from dossier.checks.run import load_checked
from dossier.errors import Problem

EVIDENCE = Path(__file__).parents[1] / "evidence"
BASE = EVIDENCE / "base"
FAMILIES = ("schema", "source", "identity", "arithmetic", "decisions", "lineage", "links", "artifacts")
_FOLDERS = {
    "model": "models",
    "identity": "identities",
    "hardware": "hardware",
    "recipe": "recipes",
    "metric": "metrics",
    "finding": "findings",
}


@dataclass(frozen=True)
class Case:
    """One refused file."""

    file: Path

    @property
    def name(self) -> str:
        return f"{self.file.parent.name}/{self.file.stem}"

    @property
    def text(self) -> str:
        return self.file.read_text(encoding="utf-8")

    @property
    def place(self) -> str:
        """Where the file goes, below `evidence/`."""
        if match := re.search(r"^# at: (\S+)$", self.text, re.MULTILINE):
            return match[1]
        kind = re.search(r"^schema: dossier/(\w+)/v1$", self.text, re.MULTILINE)
        id_ = re.search(r"^id: (\S+)$", self.text, re.MULTILINE)
        assert kind is not None, self.name
        assert id_ is not None, self.name
        return f"{_FOLDERS[kind[1]]}/{id_[1]}.yaml"

    @property
    def beside(self) -> list[tuple[str, str]]:
        """Path and text of the small files that belong to the case."""
        return re.findall(r"^# file: (.+?) = (.*)$", self.text, re.MULTILINE)

    @property
    def expected(self) -> list[tuple[str, str, int, int]]:
        """Rule, path, line and column of every problem, in order."""
        first = self.text.split("\n", 1)[0]
        words = first.removeprefix("# expect: ").split(" ")
        assert len(words) % 2 == 0, self.name
        found = []
        for rule, where in zip(words[::2], words[1::2], strict=True):
            path, line, column = ("evidence/" + self.place + ":" + where).split(":")[-3:]
            found.append((rule, path, int(line), int(column)))
        return sorted(found)


def cases() -> list[Case]:
    return [Case(file) for family in FAMILIES for file in sorted((EVIDENCE / "invalid" / family).glob("*.yaml"))]


def copy_of_base(tmp_path: Path) -> Path:
    return Path(shutil.copytree(BASE, tmp_path / "evidence"))


def check(root: Path) -> list[Problem]:
    with Cache(None) as cache:
        return load_checked(partial(load_catalog, root, cache, "evidence"), cache)[1]


def write(root: Path, path: str, text: str | bytes) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else f"{text}\n".encode())


def brief(problems: list[Problem]) -> list[tuple[str, str, int, int]]:
    return sorted((p.rule, p.path, p.line, p.column) for p in problems)
