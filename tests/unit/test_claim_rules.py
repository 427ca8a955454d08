"""The claim rules C1 to C10, each by its number: what may not be said, and what may be said instead.

The files are those of `tests/evidence/invalid/claims`, where each stands beside a good one; `test_claims` has the rest.
"""

from __future__ import annotations

import re

import pytest
from rule_cases import EVIDENCE, check_text, expected

CLAIMS = EVIDENCE / "invalid" / "claims"
C = {
    "C1 no percentile under its least n": ["percentile", "interval"],
    "C2 every rate shows its counts": ["rate", "rate-of-how-many"],
    "C3 every difference names both populations": ["population", "itself", "counted-twice"],
    "C4 equivalent needs a band and its test": [
        "equivalence",
        "equivalence-outside",
        "equivalence-level",
        "equal-words",
    ],
    "C5 faster or better needs an interval that leaves out no difference": ["direction", "direction-holds-none"],
    "C6 a gate is older than the first sample": ["gate"],
    "C7 a closed loop has no service tail": ["tail"],
    "C8 causal words need one varied axis": ["cause", "attribution"],
    "C9 what is absent is null with a reason and never 0": ["zero"],
    "C10 what was reported supports nothing": ["reported", "excluded"],
}
MATCHED = sorted(path.stem for path in CLAIMS.glob("matched-*.yaml") if ".good" not in path.name)


@pytest.mark.parametrize(("rule", "name"), [(rule, name) for rule, names in C.items() for name in names])
def test_claim(rule, name, tmp_path):
    """The bad file is refused by one rule, at the line that it marks; the good one says what may be said."""
    assert rule.partition(" ")[0] in {f"C{number}" for number in range(1, 11)}
    bad = (CLAIMS / f"{name}.yaml").read_text("utf-8")
    assert [(p.rule, p.line) for p in check_text(bad, tmp_path / "bad")] == expected(bad)
    assert expected(bad)
    assert check_text((CLAIMS / f"{name}.good.yaml").read_text("utf-8"), tmp_path / "good") == []


# Issue 3, 6: comparisons only between matched populations.
def test_populations_are_matched_by_every_axis_that_the_reference_names():
    assert MATCHED == [
        "matched-cache", "matched-class", "matched-concurrency", "matched-load", "matched-output-control",
        "matched-path", "matched-prompt-tokens", "matched-protocol", "matched-target", "matched-thinking",
        "matched-whole-profile",
    ]  # fmt: skip


# C9: an empty value is refused by the reader, and a reason is asked for.
def test_an_empty_value_is_refused_and_an_unknown_one_says_why(tmp_path):
    text = (CLAIMS / "zero.good.yaml").read_text("utf-8")
    empty = re.sub(r"value: .*", "value:", text, count=1)
    assert {p.rule for p in check_text(empty, tmp_path)} == {"source/empty"}
