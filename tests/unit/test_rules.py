"""Every rule has at least one file that is refused by it alone: no rule only repeats what another says."""

from __future__ import annotations

import pytest
from evidence_cases import EVIDENCE
from evidence_cases import cases as placed_cases
from rule_cases import cases as written_cases
from rule_cases import expected
from test_explain import DOCS, problems

WRITTEN = ("claims", "prose", "privacy")
# What they refuse cannot be laid down as one small file: links, large files, and a change to what was published.
MADE_IN_A_TEST = {
    "source/symlink", "source/size", "artifacts/size", "lineage/changed", "lineage/vanished", "lineage/open",
}  # fmt: skip
# The head that examples of new findings share is an open one.
ABOUT_A_HEAD = {"lineage/open"}
# A listed file is bound by its digest, so another rule always speaks too: of the file, or of the finding that lists it.
NEVER_ALONE = {"lineage/artifact-changed"}


def alone():
    """The rules that a file of `tests/evidence` expects, and no other with it, as the tests of the files hold."""
    found = {case.expected[0][0] for case in placed_cases() if len({rule for rule, *_ in case.expected}) == 1}
    found |= {
        rule for family in WRITTEN for case in written_cases(family) for rule, _ in expected(case.read_text("utf-8"))
    }
    read = [path.read_bytes().splitlines()[0].decode().split() for path in (EVIDENCE / "source_invalid").glob("*.yaml")]
    return found | {words[2] for words in read if len(words) == 4}


BY_EXAMPLE = sorted(set(DOCS) - alone() - MADE_IN_A_TEST - NEVER_ALONE)


def test_the_rules_that_no_file_of_the_tests_refuses_alone_are_few():
    assert BY_EXAMPLE == ["claims/published-twice"]


@pytest.mark.parametrize("rule", sorted({*BY_EXAMPLE, *MADE_IN_A_TEST}))
def test_the_example_of_every_other_rule_is_refused_by_it_alone(rule, tmp_path):
    found = {p.rule for p in problems(DOCS[rule].bad, rule, tmp_path)}
    assert found - (ABOUT_A_HEAD - {rule}) == {rule}
