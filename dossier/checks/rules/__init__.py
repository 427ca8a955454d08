"""What each rule is for, with a bad and a good example: data beside this module, one file a family.

An example is a part of a file: its top-level keys stand in place of those of the file that it names. The tests lay
each over a small valid evidence folder and check it, so no example can say what the rules do not do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import yaml

from dossier.checks import run  # noqa: F401  (the rules register)
from dossier.checks.published import WHY
from dossier.checks.registry import CATALOG_RULES, RECORD_RULES

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Example:
    """Files by their path below the evidence folder; None takes a file away, `-> x` makes it a link to x."""

    files: tuple[tuple[str, str | None], ...]

    @property
    def shown(self) -> str:
        """The example for a reader: each file's path as a comment above its text."""
        return "\n".join(f"# {path}\n{'(removed)' if text is None else text.rstrip()}\n" for path, text in self.files)


@dataclass(frozen=True, slots=True)
class RuleDoc:
    """Why a rule exists, what it refuses and what to write."""

    id: str
    why: str
    bad: Example
    good: Example

    @property
    def family(self) -> str:
        """The part of the id before the slash."""
        return self.id.partition("/")[0]


@cache
def rule_docs() -> Mapping[str, RuleDoc]:
    """Every rule that is described, by id, in order."""
    folder = resources.files(__name__)
    families = sorted(file.name for file in folder.iterdir() if file.name.endswith(".yaml"))
    docs = (doc for name in families for doc in _family(name.removesuffix(".yaml"), (folder / name).read_text("utf-8")))
    return {doc.id: doc for doc in sorted(docs, key=lambda doc: doc.id)}


def _family(family: str, text: str) -> Iterator[RuleDoc]:
    """The rules of one file: `examples_in` names what the examples are parts of, unless a rule names another."""
    data = yaml.load(text, Loader=_LOADER)  # noqa: S506  (a safe loader; the file is this package's own)
    default = data.pop("examples_in", "")
    for name, entry in data.items():
        rule_id = f"{family}/{name}"
        place = entry.get("in", default)
        yield RuleDoc(rule_id, _why(rule_id, entry), _example(entry["bad"], place), _example(entry["good"], place))


def _why(rule_id: str, entry: Mapping[str, Any]) -> str:
    """A registered rule says why itself; one that stands in the reader or the models is described here."""
    rule = RECORD_RULES.get(rule_id) or CATALOG_RULES.get(rule_id)
    return " ".join(str(entry.get("why") or (rule.why if rule else WHY.get(rule_id, ""))).split())


def _example(given: str | Mapping[str, str | None], place: str) -> Example:
    files = {place: given} if isinstance(given, str) else given
    return Example(tuple(files.items()))
