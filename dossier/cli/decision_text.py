"""A decision as YAML text: added to a finding that is there, or in a finding of its own."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from dossier.model.finding import Finding
from dossier.model.vocabulary import Kind, Outcome, Provenance
from dossier.scaffold import scalar
from dossier.source import read_document


def decision_yaml(decision: Mapping[str, Any]) -> str:
    """One item of the list `decisions`, indented by two."""
    lines = [f"    {name}: {_value(value)}\n" for name, value in decision.items()]
    return "  - " + "".join(lines).removeprefix("    ")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"[{', '.join(map(scalar, value))}]" if isinstance(value, list) else scalar(str(value))


def with_decision(text: str, decision: Mapping[str, Any]) -> str | None:
    """The text with one more decision, every other character as it is; None where its `decisions` are a flow list."""
    document, _ = read_document(text, "")
    if document is None:
        return None
    newline = "\r\n" if "\r\n" in text else "\n"
    block = decision_yaml(decision).replace("\n", newline)
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += newline
    at = {name: document.key_marks[name,].line - 1 for name in document.data if isinstance(name, str)}
    if "decisions" not in at:
        place = _before(at, len(lines), lines)
        return "".join([*lines[:place], f"decisions:{newline}{block}", *lines[place:]])
    head = lines[at["decisions"]]
    if head.split("#")[0].strip() != "decisions:" or not _indented_by_two(lines, at["decisions"]):
        return None
    end = min((line for line in at.values() if line > at["decisions"]), default=len(lines))
    place = _above_remarks(lines, end)
    return "".join([*lines[:place], block, *lines[place:]])


def _indented_by_two(lines: list[str], head: int) -> bool:
    first = next((line for line in lines[head + 1 :] if line.strip() and not line.lstrip().startswith("#")), "")
    return first.startswith("  - ")


def _before(at: Mapping[str, int], end: int, lines: list[str]) -> int:
    """The line where `decisions` belong: ahead of the first key that comes later in a finding."""
    order = [field.alias or name for name, field in Finding.model_fields.items()]
    later = set(order[order.index("decisions") + 1 :])
    return _above_remarks(lines, min((line for name, line in at.items() if name in later), default=end))


def _above_remarks(lines: list[str], line: int) -> int:
    """A comment and an empty line above a key belong to that key."""
    while line > 0 and (not lines[line - 1].strip() or lines[line - 1].startswith("#")):
        line -= 1
    return line


def followed_by(about: Finding, decision: Mapping[str, Any], name: str, day: date) -> str:
    """The text of a finding that holds a decision on an earlier one, which stays as it is."""
    outcome = Outcome(decision["outcome"])
    kind = Kind.PROMOTION if outcome is Outcome.PROMOTE else Kind.INTERPRETATION
    what = f"gate {decision['gate'].rpartition('#')[2]}" if outcome is Outcome.WAIVE else decision["recipe"]
    title = f"Decided: {outcome} {what}"
    measured = "Nothing was measured here: the decision rests on the finding that this one follows."
    head = {
        "schema": "dossier/finding/v1", "id": name, "title": title, "date": day.isoformat(), "kind": kind.value,
        "provenance": Provenance.TRANSCRIBED.value, "models": list(about.models), "completion": "concluded",
        "summary": f"{title}, on what {about.id} holds. {measured}",
    }  # fmt: skip
    lines = [f"{key}: {day if key == 'date' else _value(value)}\n" for key, value in head.items()]
    links = f"links:\n  follows: [{about.id}]\n"
    return "".join([*lines, "decisions:\n", decision_yaml(decision), links])
