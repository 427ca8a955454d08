"""Templates of records and of a project, filled in with what a person answered."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from string import Template

_PLAIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 .,()/_+%='-]*[A-Za-z0-9.)%])?")


def record_text(kind: str, answers: Mapping[str, str]) -> str:
    """The text of a new record. Every answer is one YAML scalar, or YAML that stands as it is (see `scalar`)."""
    text = (resources.files(__name__) / "records" / f"{kind}.yaml").read_text("utf-8")
    return re.sub(r"\n{3,}", "\n\n", Template(text).substitute(answers))


def project_files(answers: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Path and text of every file of a new project."""
    root = resources.files(__name__) / "project"
    for path, file in sorted(_files(root, "")):
        yield path, Template(file.read_text("utf-8")).substitute(answers)


def _files(folder: Traversable, at: str) -> Iterator[tuple[str, Traversable]]:
    # Names that begin with a dot would be left out by tools that pack or copy the package.
    for entry in folder.iterdir():
        path = f"{at}{entry.name.replace('dot.', '.', 1) if entry.name.startswith('dot.') else entry.name}"
        if entry.is_dir():
            yield from _files(entry, f"{path}/")
        else:
            yield path, entry


def scalar(text: str) -> str:
    """A text as a YAML scalar on one line: plain where nothing in it could be misread, in quotes elsewhere."""
    line = " ".join(text.split())
    plain = _PLAIN.fullmatch(line) and ": " not in line and line.lower() != "null"
    return line if plain else f"'{line.replace(chr(39), 2 * chr(39))}'"


def slug(text: str) -> str:
    """A text as the words of an id: `Über v0.4: faster` gives `uber-v0.4-faster`."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    words = re.findall(r"[a-z0-9]+(?:\.[a-z0-9]+)*", plain)
    found = "-".join(words)
    return found if len(found) <= 60 else found[:61].rpartition("-")[0]
