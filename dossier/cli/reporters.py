"""Problems as text, JSON, GitHub annotations or SARIF; each reporter makes one string."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote

from dossier import __version__
from dossier.errors import Problem, Severity

Reporter = Callable[[Sequence[Problem]], str]


def as_text(problems: Sequence[Problem]) -> str:
    """`path:line:column: rule: message`, one a line."""
    return "".join(f"{problem}\n" for problem in problems)


def as_json(problems: Sequence[Problem]) -> str:
    """An object with the list of problems, and how many are errors and warnings."""
    rows = [
        {
            "path": p.path,
            "line": p.line,
            "column": p.column,
            "rule": p.rule,
            "severity": p.severity.value,
            "message": p.message,
        }
        for p in problems
    ]
    errors = sum(p.severity is Severity.ERROR for p in problems)
    found = {"problems": rows, "errors": errors, "warnings": len(problems) - errors}
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def as_github(problems: Sequence[Problem]) -> str:
    """Workflow commands, which GitHub shows beside the changed lines of a pull request."""
    return "".join(_annotation(problem) for problem in problems)


def _annotation(problem: Problem) -> str:
    file, title = _property(problem.path), _property(problem.rule)
    place = f"file={file},line={problem.line},col={problem.column},title={title}"
    return f"::{problem.severity} {place}::{_data(problem.message)}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def as_sarif(problems: Sequence[Problem]) -> str:
    """A SARIF 2.1.0 log with one run, which names the rules that it found broken."""
    rules = {rule: index for index, rule in enumerate(sorted({p.rule for p in problems}))}
    run = {
        "tool": {"driver": {"name": "dossier", "version": __version__, "rules": [_descriptor(rule) for rule in rules]}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(problem, rules[problem.rule]) for problem in problems],
    }
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2, ensure_ascii=False) + "\n"


def _descriptor(rule: str) -> dict[str, Any]:
    from dossier.checks.rules import rule_docs  # noqa: PLC0415  (only this format pays for reading them)

    doc = rule_docs().get(rule)
    if doc is None:
        return {"id": rule}
    text = f"{doc.why}\n\nWrong:\n{doc.bad.shown}\nRight:\n{doc.good.shown}"
    return {"id": rule, "shortDescription": {"text": doc.why}, "help": {"text": text}}


def _result(problem: Problem, index: int) -> dict[str, Any]:
    place = {
        "artifactLocation": {"uri": quote(problem.path), "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": problem.line, "startColumn": problem.column},
    }
    return {
        "ruleId": problem.rule,
        "ruleIndex": index,
        "level": problem.severity.value,
        "message": {"text": problem.message},
        "locations": [{"physicalLocation": place}],
    }


REPORTERS: dict[str, Reporter] = {"text": as_text, "json": as_json, "github": as_github, "sarif": as_sarif}
"""By the name that `--format` takes."""
