"""The checks: each rule refuses a file that only it refuses, hostile trees give problems, a cache hides nothing."""

from __future__ import annotations

import ast
import hashlib
import os
import re
from functools import partial
from pathlib import Path

import pytest
from evidence_cases import BASE, EVIDENCE, FAMILIES, brief, cases, check, copy_of_base, write

from dossier.cache import Cache
from dossier.catalog import load_catalog
from dossier.checks.registry import CATALOG_RULES, RECORD_RULES
from dossier.checks.run import check_catalog, load_checked
from dossier.errors import Severity

ROOT = EVIDENCE.parents[1]
CASES = cases()
VALID = sorted(path for path in (EVIDENCE / "valid").iterdir() if path.is_dir())
OPEN_IN_A_SOURCE = {
    "decisions/approval-unknown",
    "decisions/baseline",
    "decisions/rollback-was-rejected",
    "decisions/unmeasured",
    "decisions/waiver-unknown",
    "arithmetic/misses-unlisted",
}


def lay(case, root):
    for path, text in case.beside:
        write(root, path, text)
    write(root, case.place, case.text.removesuffix("\n"))
    return root


def test_the_tree_under_the_cases_is_valid():
    assert check(BASE) == []


@pytest.mark.parametrize("tree", VALID, ids=lambda path: path.name)
def test_a_valid_tree_has_no_problem(tree):
    assert check(tree) == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_problem_is_found_where_it_stands_and_no_other(case, tmp_path):
    problems = check(lay(case, copy_of_base(tmp_path)))
    assert brief(problems) == case.expected
    assert all("\n" not in p.message and len(p.message) < 700 for p in problems)


def test_only_what_a_transcribed_source_leaves_open_is_a_warning(tmp_path):
    soft = set()
    for number, case in enumerate(CASES):
        problems = check(lay(case, copy_of_base(tmp_path / str(number))))
        if all(p.severity is Severity.WARNING for p in problems):
            soft.add(case.name)
    assert soft == OPEN_IN_A_SOURCE


def test_in_evidence_of_our_own_nothing_is_left_open(tmp_path):
    case = next(case for case in CASES if case.name == "decisions/baseline")
    root = copy_of_base(tmp_path)
    text = case.text.replace("provenance: transcribed", "provenance: retained")
    listed = (BASE / "artifacts/2026-01-05-kept/run.json").read_bytes()
    write(root, "artifacts/2026-02-01-case/run.json", listed)
    kept = re.search(r"\{id: run,.*\}", (BASE / "findings/2026-01-05-kept.yaml").read_text())
    write(root, case.place, f"{text.rstrip()}\nartifacts:\n  - {kept[0]}")
    assert [(p.rule, p.severity) for p in check(root)] == [("decisions/baseline", Severity.ERROR)]


# Rules and files ------------------------------------------------------------------------------------------------


def ids_in(path):
    """Every rule id of the given module that a problem may carry."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return {text for text in texts if re.fullmatch(rf"({'|'.join(FAMILIES)})/[a-z-]+", text)}


def noted_in_source():
    """Rules of the reader, which stand there without their family."""
    text = (ROOT / "dossier/source.py").read_text(encoding="utf-8")
    return {f"source/{name}" for name in re.findall(r"(?:_note|_stop)\(.*?, \"([a-z-]+)\",", text)}


def rules():
    ours = {rule for rule in [*RECORD_RULES, *CATALOG_RULES] if rule.partition("/")[0] in FAMILIES}
    folders = ("model", "catalog", "derive", "checks")
    modules = [path for folder in folders for path in (ROOT / "dossier" / folder).glob("*.py")]
    modules += [ROOT / "dossier/source.py", ROOT / "dossier/fold.py"]
    published = ids_in(ROOT / "dossier/checks/published.py")
    return (ours | set().union(*map(ids_in, modules)) | noted_in_source()) - published


def covered():
    alone = {rule for case in CASES for rule, *_ in case.expected if len({r for r, *_ in case.expected}) == 1}
    read = [path.read_bytes().splitlines()[0].decode().split() for path in (EVIDENCE / "source_invalid").glob("*.yaml")]
    return alone | {words[2] for words in read if len(words) == 4} | {"source/symlink", "source/size", "artifacts/size"}


def test_every_rule_has_a_file_that_only_it_refuses():
    assert sorted(rules() - covered()) == []


def test_no_file_expects_a_rule_that_is_gone():
    assert sorted(covered() - rules()) == []


def test_every_rule_says_why():
    for rule in [*RECORD_RULES.values(), *CATALOG_RULES.values()]:
        assert len(rule.why.split()) > 5, rule.id


# Hostile trees ---------------------------------------------------------------------------------------------------

FINDING = """schema: dossier/finding/v1
id: 2026-02-01-case
title: A case
date: 2026-02-01
kind: recheck
provenance: transcribed
models: [demo]
summary: {summary}"""


@pytest.fixture
def root(tmp_path):
    return copy_of_base(tmp_path)


def found(root):
    return [(p.path, p.rule) for p in check(root)]


@pytest.mark.parametrize(
    "link",
    ["findings/2026-02-01-case.yaml", "recipes/case.yaml", "artifacts/2026-01-10-first/more.json", "metrics"],
)
def test_a_link_is_refused_and_not_followed(root, link, tmp_path):
    outside = tmp_path / "outside.yaml"
    outside.write_text("schema: [", encoding="utf-8")
    (root / link).symlink_to(outside)
    assert found(root) == [(f"evidence/{link}", "source/symlink")]


def test_a_link_in_a_circle_is_refused(root):
    (root / "artifacts/2026-01-10-first/again").symlink_to(root / "artifacts")
    assert found(root) == [("evidence/artifacts/2026-01-10-first/again", "source/symlink")]


def test_a_linked_folder_of_artifacts_is_refused(root, tmp_path):
    (root / "artifacts").rename(tmp_path / "moved")
    (root / "artifacts").symlink_to(tmp_path / "moved")
    assert ("evidence/artifacts", "source/symlink") in found(root)


def test_a_pipe_among_the_artifacts_does_not_hang(root):
    os.mkfifo(root / "artifacts/2026-01-10-first/pipe")
    assert found(root) == [("evidence/artifacts/2026-01-10-first/pipe", "source/place")]


def test_a_name_that_is_not_text_is_shown_escaped(root):
    (Path(os.fsdecode(os.fsencode(root / "findings") + b"/\xff.yaml"))).write_text("{}", encoding="utf-8")
    assert found(root) == [("evidence/findings/\\udcff.yaml", "source/name")]


def test_a_scalar_of_ten_megabytes_is_not_read(root):
    write(root, "findings/2026-02-01-case.yaml", FINDING.format(summary="x" * 10_000_000))
    assert found(root) == [("evidence/findings/2026-02-01-case.yaml", "source/size")]


def test_a_long_scalar_in_a_small_file_is_refused(root):
    write(root, "findings/2026-02-01-case.yaml", FINDING.format(summary="x" * 70_000))
    assert found(root) == [("evidence/findings/2026-02-01-case.yaml", "source/size")]


def test_bytes_that_are_not_utf_8_are_refused(root):
    write(root, "findings/2026-02-01-case.yaml", FINDING.format(summary="caf").encode() + b"\xe9\n")
    assert found(root) == [("evidence/findings/2026-02-01-case.yaml", "source/encoding")]


def test_a_large_artifact_is_refused(root):
    kept_with(root, {"large.txt": b"some words\n" * (1 + (1 << 20) // 11)})
    assert found(root) == [("evidence/findings/2026-01-05-kept.yaml", "artifacts/size")]


def test_many_artifacts_of_one_finding_are_refused(root):
    kept_with(root, {f"{n}.txt": b"some words\n" * ((1 << 20) // 11) for n in range(5)})
    assert found(root) == [("evidence/findings/2026-01-05-kept.yaml", "artifacts/size")]


ALLOWED = ", oversize: {because: The whole journal, approved_by: the maintainer}"


def test_an_exception_to_the_size_says_why_and_who_allowed_it(root):
    kept_with(root, {"large.txt": b"some words\n" * (1 + (1 << 20) // 11)}, more=ALLOWED)
    assert found(root) == []
    finding = root / "findings/2026-01-05-kept.yaml"
    finding.write_text(finding.read_text("utf-8").replace(", approved_by: the maintainer", ""), "utf-8")
    assert found(root) == [("evidence/findings/2026-01-05-kept.yaml", "schema/missing")]


def test_a_figure_in_a_large_file_that_was_allowed_is_looked_up_all_the_same(root):
    data = b'{"rate": 83.08, "more": "%s"}' % (b"words " * 200_000)
    kept_with(root, {"large.json": data}, more=ALLOWED)
    finding = root / "findings/2026-01-05-kept.yaml"
    figure = "{id: rate, metric: decode_rate, value: 84.08 tok/s, from: {artifact: flarge, pointer: /rate}}"
    text = finding.read_text("utf-8").replace("measurements:\n", f"measurements:\n  - {figure}\n")
    finding.write_text(text, "utf-8")
    assert found(root) == [("evidence/findings/2026-01-05-kept.yaml", "artifacts/figure")]


def kept_with(root, files, more=""):
    finding = root / "findings/2026-01-05-kept.yaml"
    lines = [finding.read_text(encoding="utf-8").rstrip()]
    for name, data in files.items():
        write(root, f"artifacts/2026-01-05-kept/{name}", data)
        digest = hashlib.sha256(data).hexdigest()
        lines.append(f"  - {{id: f{name.split('.')[0]}, path: {name}, bytes: {len(data)}, sha256: {digest}{more}}}")
    finding.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.parametrize("path", ["findings/2026-01-20-second.yaml", "identities/demo-fp8.yaml", "models/demo.yaml"])
def test_a_file_cut_anywhere_gives_problems_or_nothing(root, path):
    whole = (root / path).read_bytes()
    for size in range(0, len(whole), 23):
        (root / path).write_bytes(whole[:size])
        assert all(p.line >= 1 and p.column >= 1 for p in check(root))


def test_each_byte_of_a_kept_file_counts(root):
    file = root / "artifacts/2026-01-10-first/results.json"
    whole = file.read_bytes()
    for at in range(len(whole)):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert "artifacts/altered" in {p.rule for p in check(root)}


# The cache -------------------------------------------------------------------------------------------------------


def twice(root, cache_file):
    """Problems as a fresh run sees them, and as a run with what is cached so far sees them."""
    with Cache(cache_file) as cache:
        _, cached = load_checked(partial(load_catalog, root, cache, "evidence"), cache)
    return check(root), cached


def test_problems_are_the_same_with_and_without_a_cache(tmp_path):
    root = copy_of_base(tmp_path)
    for case in CASES:
        if case.name in {"decisions/evidence-reported", "decisions/approval-unknown", "lineage/withdrawn-twice"}:
            write(
                root,
                case.place.replace("-case", f"-{case.file.stem}"),
                case.text.replace("01-case", f"01-{case.file.stem}"),
            )
    for _ in range(3):
        fresh, cached = twice(root, tmp_path / "cache.sqlite")
        assert fresh == cached
        # Looking at each record while it is read, or at all of them afterwards, is the same.
        assert fresh == check_catalog(load_catalog(root, Cache(None)), Cache(None))
        assert {"decisions/evidence", "decisions/approval", "lineage/withdrawn-twice"} <= {p.rule for p in fresh}


@pytest.mark.parametrize(
    ("path", "old", "new", "rule"),
    [
        ("models/demo.yaml", "{id: text,", "{id: other,", "decisions/lane"),
        ("identities/demo-fp8.yaml", "title: Demo, FP8", "title: Changed", "identity/pin"),
        ("artifacts/2026-01-10-first/results.json", "83.0812", "83.0912", "artifacts/altered"),
        ("findings/2026-01-10-first.yaml", "id: decode,", "id: decode-rate,", "links/item"),
        ("findings/2026-01-20-second.yaml", "provenance: transcribed", "provenance: retained", "artifacts/none"),
    ],
)
def test_a_change_is_seen_through_the_cache(tmp_path, path, old, new, rule):
    root = copy_of_base(tmp_path)
    assert twice(root, tmp_path / "cache.sqlite") == ([], [])
    text = (root / path).read_text(encoding="utf-8")
    assert old in text
    (root / path).write_text(text.replace(old, new), encoding="utf-8")
    fresh, cached = twice(root, tmp_path / "cache.sqlite")
    assert fresh == cached
    assert rule in {p.rule for p in cached}


def test_what_was_found_among_several_records_is_placed_anew_in_a_file_that_moved(tmp_path):
    root = copy_of_base(tmp_path)
    [case] = [case for case in CASES if case.name == "decisions/approval-unknown"]
    write(root, case.place, case.text)
    before, _ = twice(root, tmp_path / "cache.sqlite")
    file = root / case.place
    file.write_text(f"# one more line\n{file.read_text('utf-8')}", "utf-8")
    fresh, cached = twice(root, tmp_path / "cache.sqlite")
    assert fresh == cached
    assert [(p.line - 1, p.rule) for p in cached] == [(p.line, p.rule) for p in before]


def test_a_record_that_appears_ends_the_problem(tmp_path):
    root = copy_of_base(tmp_path)
    recipe = (root / "recipes/demo-b.yaml").read_text(encoding="utf-8")
    (root / "recipes/demo-b.yaml").unlink()
    _, cached = twice(root, tmp_path / "cache.sqlite")
    assert "links/record" in {p.rule for p in cached}
    (root / "recipes/demo-b.yaml").write_text(recipe, encoding="utf-8")
    assert twice(root, tmp_path / "cache.sqlite") == ([], [])
