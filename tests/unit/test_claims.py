from __future__ import annotations

import shutil

import pytest
from rule_cases import EVIDENCE, cases, check_text, expected

from dossier.checks.registry import RECORD_RULES
from dossier.errors import Severity

OWN = [
    "percentile", "interval", "rate", "population", "matched-class", "equivalence", "direction", "cause", "tail",
    "repeat", "equal-words",
]  # fmt: skip


@pytest.mark.parametrize("case", cases("claims"), ids=lambda path: path.stem)
def test_case(case, tmp_path):
    text = case.read_text(encoding="utf-8")
    assert [(p.rule, p.line) for p in check_text(text, tmp_path)] == expected(text)


def test_every_rule_has_a_case_and_says_why():
    claims = {rule for rule in RECORD_RULES if rule.startswith("claims/")}
    assert {rule for case in cases("claims") for rule, _ in expected(case.read_text())} == claims
    assert all(RECORD_RULES[rule].why.endswith(".") for rule in claims)


@pytest.mark.parametrize("name", OWN)
def test_what_a_source_claims_is_a_warning_and_what_we_claim_an_error(name, tmp_path):
    text = (EVIDENCE / "invalid" / "claims" / f"{name}.yaml").read_text(encoding="utf-8")
    [(rule, line)] = expected(text)
    for provenance, severity in (("transcribed", Severity.WARNING), ("retained", Severity.ERROR)):
        problems = check_text(
            text.replace("provenance: transcribed", f"provenance: {provenance}"), tmp_path / provenance
        )
        assert [p.severity for p in problems if (p.rule, p.line) == (rule, line)] == [severity]


def test_a_note_acknowledges_what_a_source_claims(tmp_path):
    text = (EVIDENCE / "invalid" / "claims" / "percentile.yaml").read_text(encoding="utf-8")
    noted = text.replace("    population: cell", "    population: cell\n    note: The page prints it so.")
    assert check_text(noted, tmp_path / "transcribed") == []
    own = check_text(noted.replace("provenance: transcribed", "provenance: retained"), tmp_path / "retained")
    assert "claims/percentile" in {p.rule for p in own}


def test_a_percentile_without_n(tmp_path):
    text = (EVIDENCE / "invalid" / "claims" / "percentile.yaml").read_text(encoding="utf-8")
    [problem] = check_text(text.replace("    population: cell\n", ""), tmp_path)
    assert problem.rule == "claims/percentile"
    assert "59" in problem.message


@pytest.mark.parametrize(
    ("statistic", "n", "passes"),
    [("p90", 28, False), ("p90", 29, True), ("p95", 58, False), ("p99", 298, False), ("p99", 299, True)],
)
def test_least_n_of_a_percentile(statistic, n, passes, tmp_path):
    text = (EVIDENCE / "invalid" / "claims" / "percentile.yaml").read_text(encoding="utf-8")
    changed = text.replace("p95", statistic).replace(": 12", f": {n}")
    assert (check_text(changed, tmp_path) == []) is passes


@pytest.mark.parametrize(("tokens", "passes"), [("3000..4000", True), ("3892", True), ("3891", False)])
def test_actual_tokens_may_differ_by_a_twentieth(tokens, passes, tmp_path):
    """A twentieth of 4,096 is 204.8."""
    text = (EVIDENCE / "invalid" / "claims" / "matched-prompt-tokens.yaml").read_text(encoding="utf-8")
    assert (check_text(text.replace("8192", "4096").replace("4096", tokens, 1), tmp_path) == []) is passes


def test_what_is_not_known_is_not_called_different(tmp_path):
    text = (EVIDENCE / "invalid" / "claims" / "matched-cache.yaml").read_text(encoding="utf-8")
    assert check_text(text.replace("cache: shared", "cache: {unknown: Not printed.}"), tmp_path) == []


ARMS = "arms: {a: {recipe: demo-a}, other: {recipe: demo-far}}\n"


@pytest.mark.parametrize(("differs", "rules"), [("", ["claims/matched"]), ("    differs: [hardware]\n", [])])
def test_hardware_of_the_two_arms(differs, rules, tmp_path, monkeypatch):
    base = tmp_path / "base"
    shutil.copytree(EVIDENCE / "base", base / "base")
    bench = (base / "base/hardware/bench.yaml").read_text().replace("id: bench", "id: far").replace("24 GiB", "48 GiB")
    (base / "base/hardware/far.yaml").write_text(bench)
    far = (base / "base/recipes/demo-a.yaml").read_text().replace("id: demo-a", "id: demo-far")
    (base / "base/recipes/demo-far.yaml").write_text(far.replace("hardware: bench", "hardware: far"))
    monkeypatch.setattr("rule_cases.EVIDENCE", base)
    text = (EVIDENCE / "invalid" / "claims" / "matched-class.yaml").read_text(encoding="utf-8")
    text = text.replace("class: capacity", "class: performance\n    arm: other").replace(
        "id: one\n", "id: one\n    arm: a\n"
    )
    text = text.replace("populations:\n", f"{ARMS}populations:\n", 1) + differs
    assert [p.rule for p in check_text(text, tmp_path)] == rules


@pytest.mark.parametrize(
    "sentence",
    [
        "The two were [[change]] apart.",
        "It is not shown that it decodes faster, [[change]].",
        "Descriptive only: [[change]] faster in these runs.",
        "It is faster. The difference was [[change]].",
    ],
)
def test_sentences_that_claim_no_direction(sentence, tmp_path):
    text = (EVIDENCE / "invalid" / "claims" / "direction.yaml").read_text(encoding="utf-8")
    assert check_text(text.replace("It decodes [[change]] faster.", sentence), tmp_path) == []


def test_a_limit_that_binds_the_comparison_says_how_far_it_goes(tmp_path):
    text = (EVIDENCE / "invalid" / "claims" / "direction.yaml").read_text(encoding="utf-8")
    assert check_text(text + "limits:\n  - {text: Descriptive., binds: [change]}\n", tmp_path) == []


def test_own_gates_are_declared(tmp_path):
    text = (EVIDENCE / "invalid" / "claims" / "gate.good.yaml").read_text(encoding="utf-8")
    own = text.replace("provenance: transcribed", "provenance: retained")
    undeclared = "\n".join(line for line in own.splitlines() if "declared" not in line)
    assert "claims/gate" not in {p.rule for p in check_text(own, tmp_path / "declared")}
    assert "claims/gate" in {p.rule for p in check_text(undeclared, tmp_path / "undeclared")}


def test_hearsay_judges_no_gate(tmp_path):
    text = (EVIDENCE / "invalid" / "claims" / "gate.good.yaml").read_text(encoding="utf-8")
    problems = check_text(text.replace("passed: 60}", "passed: 60, provenance: reported}"), tmp_path)
    assert [p.rule for p in problems] == ["claims/reported"]
