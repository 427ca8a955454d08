from __future__ import annotations

from decimal import Decimal

import pytest
from rule_cases import EVIDENCE, cases, check_text, expected

from dossier.checks.prose import typed_figures
from dossier.checks.registry import RECORD_RULES
from dossier.errors import Severity


@pytest.mark.parametrize("case", cases("prose"), ids=lambda path: path.stem)
def test_case(case, tmp_path):
    text = case.read_text(encoding="utf-8")
    assert [(p.rule, p.line) for p in check_text(text, tmp_path)] == expected(text)


def test_every_rule_has_a_case():
    rules = {rule for rule in RECORD_RULES if rule.startswith("prose/")}
    assert {rule for case in cases("prose") for rule, _ in expected(case.read_text())} == rules


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("at 83.08 tok/s.", "83.08", "tok/s"),
        ("at 83.08 tokens per second", "83.08", "tok/s"),
        ("took 0.178 s", "0.178", "s"),
        ("took 12 seconds", "12", "s"),
        ("a 131,072-token prompt", "131072", "tokens"),
        ("held 206,630 of them", "206630", ""),
        ("rose by +39.5 %", "39.5", "%"),
        ("fell by −5.19%", "-5.19", "%"),
        ("3.17× the control", "3.17", "x"),
        ("2101 MiB free", "2101", "MiB"),
        ("two of 30 min", "30", "min"),
        ("1048576 and no unit", "1048576", ""),
    ],
)
def test_figures(text, value, unit):
    [typed] = typed_figures(text)
    assert (typed.value, typed.unit) == (Decimal(value), unit)


@pytest.mark.parametrize(
    "text",
    [
        "the 4K cell, 120K target and 1M context",
        "C4, K5, TP2, TP=2 and R7",
        "v0.4.2, rc14, version 0.4.3, CUDA 13.0",
        "on 2026-09-11, at 09:45 UTC, in 2026",
        "GLM-5.3-Flash at 3.5-bpw, EXL3, W4A16",
        "[[decode-4k]] and [[2026-09-02-run#decode|83.08 tok/s]]".replace("|83.08 tok/s", ""),
        "`--max-tokens 65536` and ``ttft 0.178 s``",
        "see https://example.org/2026/12345 and [words](https://example.org/65536)",
        "two cards, 12 images, HTTP 413",
        "SM120, sha256 0123456, PR 20481-b",
    ],
)
def test_names_are_no_figures(text):
    assert list(typed_figures(text)) == []


def test_a_figure_that_is_held_is_an_error_and_a_loose_one_a_warning(tmp_path):
    found = {}
    for name in ("typed-figure", "loose-figure"):
        text = (EVIDENCE / "invalid" / "prose" / f"{name}.yaml").read_text(encoding="utf-8")
        [problem] = check_text(text, tmp_path / name)
        found[name] = problem.severity
    assert found == {"typed-figure": Severity.ERROR, "loose-figure": Severity.WARNING}


def test_says_what_to_write(tmp_path):
    text = (EVIDENCE / "invalid" / "prose" / "typed-figure.yaml").read_text(encoding="utf-8")
    [problem] = check_text(text, tmp_path)
    assert problem.message == "'83.08 tokens per second' is typed, but the finding holds it; write [[decode]]"


def test_what_a_source_is_quoted_with_is_its_own(tmp_path):
    text = (EVIDENCE / "invalid" / "prose" / "typed-figure.good.yaml").read_text(encoding="utf-8")
    quoted = text + "sources:\n  - {title: A page, claim: It decodes at 83.08 tok/s on other cards.}\n"
    assert check_text(quoted, tmp_path) == []
