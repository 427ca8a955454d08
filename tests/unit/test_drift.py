"""Each way in which hand-written dossiers drift, tried on a valid tree: it is refused, or cannot be written down.

One test a way, named for it. `refused` lays text over `tests/evidence/base` and gives the rules that object.
"""

from __future__ import annotations

import re
from datetime import date

import pytest
from evidence_cases import BASE, check, copy_of_base, write

from dossier.cache import Cache
from dossier.catalog import load_catalog
from dossier.catalog.history import published_in
from dossier.checks.published import check_published
from dossier.errors import Severity
from dossier.model.vocabulary import Role
from dossier.pages.context import Site
from dossier.pages.environment import environment
from dossier.pages.plan import Keys, plan, stamp

FINDING = "findings/2026-02-01-case.yaml"
HEAD = """schema: dossier/finding/v1
id: 2026-02-01-case
title: A case
date: 2026-02-01
kind: promotion
provenance: transcribed
models: [demo]
completion: open
"""
SUMMARY = "summary: What was seen.\n"
PROMOTE = "{{id: {id}, outcome: promote, lanes: [text], recipe: {recipe}, human_approval: true, by: the operator}}"
ARMS = """arms: {a: {recipe: demo-a}, b: {recipe: demo-b}}
populations:
  - {id: on-a, arm: a, planned: 60, completed: 60, passed: 58}
  - {id: on-b, arm: b, planned: 60, completed: 60, passed: 60}
"""


@pytest.fixture
def root(tmp_path):
    return copy_of_base(tmp_path)


def refused(root):
    """The rules by which the tree is refused."""
    return sorted({p.rule for p in check(root) if p.severity is Severity.ERROR})


def finding(root, body, summary=SUMMARY):
    write(root, FINDING, HEAD + summary + body)
    return refused(root)


def edit(root, path, old, new):
    text = (root / path).read_text("utf-8")
    assert old in text
    (root / path).write_text(text.replace(old, new), "utf-8")


# Two currents -----------------------------------------------------------------------------------------------------


def test_two_recipes_promoted_on_one_day_are_refused(root):
    both = f"decisions:\n  - {PROMOTE.format(id='x', recipe='demo-a')}\n  - {PROMOTE.format(id='y', recipe='demo-b')}\n"
    assert finding(root, ARMS + both) == ["decisions/two-currents"]


def test_the_former_one_cannot_be_left_current_by_a_promotion(root):
    assert finding(root, f"{ARMS}decisions:\n  - {PROMOTE.format(id='x', recipe='demo-b')}\n") == []
    with Cache(None) as cache:
        state = load_catalog(root, cache).lane("demo", "text")
    assert state.current == "demo-b"
    assert [r for r, s in state.standings.items() if s.role is Role.CURRENT] == ["demo-b"]


@pytest.mark.parametrize(("provenance", "severity"), [("transcribed", "warning"), ("retained", "error")])
def test_what_is_not_current_cannot_be_retained_as_if_it_were(root, provenance, severity):
    kept = "{id: x, outcome: retain-baseline, lanes: [text], recipe: demo-b, human_approval: true}"
    head = HEAD.replace("transcribed", provenance)
    write(root, FINDING, f"{head}{SUMMARY}{ARMS}decisions: [{kept}]\n")
    [problem] = [p for p in check(root) if p.rule == "decisions/baseline"]
    assert problem.severity == severity
    assert "retains demo-b, but demo-a is current" in problem.message


# Several immediate rollbacks --------------------------------------------------------------------------------------


def test_a_promotion_names_one_rollback(root):
    two = PROMOTE.format(id="x", recipe="demo-b").replace("human", "rollback: [demo-a, echo-a], human")
    assert finding(root, f"{ARMS}decisions:\n  - {two}\n") == ["schema/shape"]


def test_of_several_designated_rollbacks_the_last_alone_is_one(root):
    write(
        root,
        "recipes/demo-c.yaml",
        (BASE / "recipes/demo-b.yaml").read_text("utf-8").replace("id: demo-b", "id: demo-c").rstrip(),
    )
    rows = "".join(
        f"  - {{id: r{n}, outcome: designate-rollback, lanes: [text], recipe: {recipe}, human_approval: true}}\n"
        for n, recipe in enumerate(("demo-c", "demo-a"))
    )
    promote = PROMOTE.format(id="x", recipe="demo-b")
    assert finding(root, f"{ARMS}decisions:\n  - {promote}\n{rows}") == []
    with Cache(None) as cache:
        state = load_catalog(root, cache).lane("demo", "text")
    assert [r for r, s in state.standings.items() if s.role is Role.ROLLBACK] == ["demo-a"] == [state.rollback]


# A status that another page contradicts ---------------------------------------------------------------------------


@pytest.mark.parametrize("line", ["role: current", "status: former", "current: true"])
@pytest.mark.parametrize("path", ["recipes/demo-a.yaml", "models/demo.yaml", "findings/2026-01-25-hearsay.yaml"])
def test_no_record_has_a_place_for_a_status(root, path, line):
    file = root / path
    file.write_text(f"{file.read_text('utf-8').rstrip()}\n{line}\n", "utf-8")
    assert "schema/unknown-key" in refused(root)


def test_every_page_takes_a_role_from_the_one_fold(root, tmp_path):
    promote = PROMOTE.format(id="x", recipe="demo-b").replace("human", "rollback: demo-a, human")
    assert finding(root, f"{ARMS}decisions:\n  - {promote}\n") == []
    pages = made(root, tmp_path)
    for path in ("", "models/demo/", "recipes/", "recipes/demo-b/"):
        assert "current" in pages[path].lower()
    assert not re.search(r"dx-status[^>]*>\s*current", pages["recipes/demo-a/"].partition('id="history"')[0])


# Figures ----------------------------------------------------------------------------------------------------------


def test_a_figure_cited_to_a_finding_that_does_not_hold_it_is_refused(root):
    wrong = 'summary: "It decoded at [[2026-01-20-second#decode-of-first]]."\n'
    assert finding(root, "", wrong) == ["links/item"]


def test_a_figure_that_its_artifact_does_not_hold_is_refused(root):
    edit(root, "findings/2026-01-10-first.yaml", "value: 178.4 ms", "value: 179.4 ms")
    assert refused(root) == ["artifacts/figure"]


def test_a_figure_typed_beside_the_data_is_refused(root):
    held = "measurements: [{id: decode, metric: decode_rate, value: 83.08 tok/s}]\n"
    assert finding(root, held, "summary: It decoded at 83.08 tok/s.\n") == ["prose/typed-figure"]


# The seed's page says +39.5 %; 142.64 / 102.19 is +39.583 %, at most +39.595 % as rounded.
def test_a_percentage_that_does_not_recompute_is_refused(root):
    two = """measurements:
  - {id: new, metric: decode_rate, value: 142.64 tok/s, population: on-b}
  - {id: old, metric: decode_rate, value: 102.19 tok/s, population: on-a}
comparisons: [{id: gain, candidate: new, baseline: old, stated: %s}]
"""
    assert finding(root, ARMS + two.replace("%s", "+39.5 %")) == ["arithmetic/delta"]
    assert finding(root, ARMS + two.replace("%s", "+39.6 %")) == []


# Pins -------------------------------------------------------------------------------------------------------------


def test_a_digest_of_62_digits_is_refused(root):
    edit(root, "identities/demo-fp8.yaml", "sha256:" + "2" * 64, "sha256:" + "2" * 62)
    assert refused(root) == ["identity/digest"]


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("revision: 0123456789abcdef0123456789abcdef01234567", "revision: main", "identity/revision"),
        ("revision: 0123456789abcdef0123456789abcdef01234567", "revision: 0123456", "identity/revision"),
        ("repo: registry.example.org/engine", "repo: registry.example.org/engine:latest", "identity/tag"),
        ("digest: sha256:" + "2" * 64, "digest: v1.2", "identity/digest"),
    ],
)
def test_a_tag_or_branch_is_no_pin(root, old, new, rule):
    edit(root, "identities/demo-fp8.yaml", old, new)
    assert refused(root) == [rule] or refused(root) == sorted([rule, "identity/pin"])


def test_a_link_that_can_change_is_no_artifact(root):
    moving = "https://github.com/example/demo/blob/main/results.json"
    kept = f"artifacts: [{{id: raw, url: '{moving}', sha256: {'1' * 64}}}]\n"
    assert finding(root, kept) == ["identity/moving-artifact"]


def test_a_revision_cannot_differ_between_a_finding_and_the_profile_that_it_names(root):
    edit(root, "identities/demo-fp8.yaml", "revision: 01234567", "revision: 76543210")
    assert refused(root) == ["identity/pin"]
    assert finding(root, "revision: 0123456789abcdef0123456789abcdef01234567\n") != []
    assert "schema/unknown-key" in refused(root)


# Populations ------------------------------------------------------------------------------------------------------


def test_a_run_counted_in_two_populations_is_refused(root):
    twice = """populations:
  - {id: one, class: functional, planned: 60, completed: 60, artifact: raw}
  - {id: again, class: functional, planned: 60, completed: 60, artifact: raw}
artifacts: [{id: raw, private: The operator keeps it., sha256: %s}]
"""
    assert finding(root, twice.replace("%s", "1" * 64)) == ["claims/counted-twice"]


def test_a_run_published_under_two_findings_is_refused(root):
    write(root, "artifacts/2026-02-01-case/copy.json", (BASE / "artifacts/2026-01-10-first/results.json").read_bytes())
    listed = re.search(r"bytes: 80, sha256: [0-9a-f]{64}", (BASE / "findings/2026-01-10-first.yaml").read_text("utf-8"))
    again = (
        "populations: [{id: again, planned: 60, artifact: copy}]\nartifacts: [{id: copy, path: copy.json, LISTED}]\n"
    )
    again = again.replace("LISTED", listed[0])
    assert finding(root, again) == ["claims/published-twice"]
    assert finding(root, f"{again}links: {{supersedes: [2026-01-10-first]}}\n") == []


def test_a_count_that_does_not_add_up_is_refused(root):
    assert finding(root, "populations: [{id: p, planned: 60, completed: 57, failed: 2, not_run: 0}]\n") == [
        "arithmetic/population"
    ]


def test_an_excluded_cell_in_a_comparison_is_refused(root):
    cells = """populations:
  - {id: one, planned: 60, completed: 60, passed: 53, excluded: {reason: strict-output-miss}}
  - {id: other, planned: 60, completed: 60, passed: 58}
comparisons: [{id: gap, candidate: other, baseline: one, metric: pass_rate}]
"""
    assert finding(root, cells) == ["claims/excluded"]


# Pages and history ------------------------------------------------------------------------------------------------


def made(root, project):
    with Cache(None) as cache:
        site = Site(load_catalog(root, cache), environment(project))
        return {p.path: p.make().body for p in plan(site, Keys(site, stamp(project)), cache)}


def test_no_finding_is_out_of_reach_from_the_home_page_or_from_its_model(root, tmp_path):
    assert finding(root, "") == []
    pages = made(root, tmp_path)
    findings = {f"findings/{file.stem}/" for file in (root / "findings").glob("*.yaml")}
    assert findings <= reached("", pages)
    assert "findings/2026-02-01-case/" in links("models/demo/", pages)


def links(path, pages):
    up = "../" * path.count("/") or "./"
    found = {href.partition("#")[0] for href in re.findall(r'href="([^"]+)"', pages[path])}
    return {href.removeprefix(up) for href in found if href.startswith(up)}


def reached(start, pages):
    seen, pending = {start}, [start]
    while pending:
        fresh = {path for path in links(pending.pop(), pages) if path in pages} - seen
        seen |= fresh
        pending += fresh
    return seen


def test_a_finding_of_no_model_cannot_be_written(root):
    write(root, FINDING, HEAD.replace("models: [demo]", "models: []") + SUMMARY)
    assert refused(root) == ["schema/value"]
    write(root, FINDING, HEAD.replace("models: [demo]", "models: [nobody]") + SUMMARY)
    assert refused(root) == ["links/record"]


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("findings/2026-01-25-hearsay.yaml", "title: ", "title: Later, "),
        ("hardware/bench.yaml", "title: ", "title: Later, "),
        ("recipes/demo-a.yaml", "context_tokens: 8192", "context_tokens: 4096"),
        ("identities/demo-fp8.yaml", "engine: Engine", "engine: Other"),
    ],
)
def test_an_edit_to_a_published_record_is_refused(root, path, old, new):
    edit(root, path, old, new)
    with Cache(None) as cache:
        problems = check_published(load_catalog(root, cache), published_in(BASE))
    assert [(p.rule, p.path) for p in problems] == [("lineage/changed", f"evidence/{path}")]


def test_the_past_stays_as_it_was_when_a_later_finding_decides_otherwise(root):
    assert finding(root, f"{ARMS}decisions:\n  - {PROMOTE.format(id='x', recipe='demo-b')}\n") == []
    with Cache(None) as cache:
        catalog = load_catalog(root, cache)
    assert catalog.lane("demo", "text", date(2026, 1, 15)).current == "demo-a"
    assert catalog.lane("demo", "text").current == "demo-b"
