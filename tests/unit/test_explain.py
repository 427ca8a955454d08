"""Every rule is described, and its examples do what they say: the bad one is refused by it, the good one passes."""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from dossier.cache import Cache
from dossier.catalog import load_catalog
from dossier.catalog.history import published_in
from dossier.catalog.pins import wanted_pins
from dossier.checks import published, run
from dossier.checks.published import check_published
from dossier.checks.registry import CATALOG_RULES, RECORD_RULES
from dossier.checks.rules import rule_docs
from dossier.cli.explain import explain
from dossier.cli.fixes import with_pins
from dossier.errors import Severity, UsageError

ROOT = Path(__file__).parents[2]
BASE = ROOT / "tests" / "evidence" / "base"
DOCS = rule_docs()
# What an example of a new file is a part of; `{id}` is the file's name.
HEADS = {
    "findings": (
        "schema: dossier/finding/v1\nid: {id}\ntitle: An example\ndate: 2026-02-01\nkind: comparison\n"
        "provenance: transcribed\nmodels: [demo]\nsummary: An example.\ncompletion: open\n"
    ),
    "recipes": (
        "schema: dossier/recipe/v1\nid: {id}\ntitle: An example\nmodels: [demo]\nidentity: demo-fp8\nhardware: bench\n"
    ),
    "hardware": "schema: dossier/hardware/v1\nid: {id}\ntitle: An example\n",
    "identities": (
        "schema: dossier/identity/v1\nid: {id}\ntitle: An example\n"
        "artifacts: [{{role: target, repo: a/b, revision: 0123456789abcdef0123456789abcdef01234567}}]\n"
        "runtime: {{engine: E, commit: 0123456789abcdef0123456789abcdef01234567}}\n"
    ),
}


def written(text):
    """`(x × 9)` stands for nine times x."""
    return re.sub(r"\(([^()]+?) × (\d+)\)", lambda match: match[1] * int(match[2]), text)


def laid_over(head, part):
    """The text of a file with the top-level keys of an example in place of its own."""
    keys = set(re.findall(r"(?m)^([\w-]+):", part))
    kept, keep = [], True
    for line in head.splitlines(keepends=True):
        if match := re.match(r"([\w-]+):", line):
            keep = match[1] not in keys
        kept += [line] if keep else []
    return "".join(kept).rstrip() + "\n" + part


def folder_of(example, tmp_path):
    """The valid evidence folder with an example laid over it."""
    root = tmp_path / "evidence"
    shutil.copytree(BASE, root)
    for path, text in example.files:
        file = root / path
        if text is None:
            file.unlink()
        elif text.startswith("-> "):
            file.symlink_to(text[3:])
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(_whole(file, path, written(text)), "utf-8")
    return root


def _whole(file, path, text):
    folder, stem = path.split("/")[0], file.stem
    if file.suffix != ".yaml" or folder == "artifacts" or text.startswith("- "):
        return text
    head = file.read_text("utf-8") if file.is_file() else HEADS[folder].format(id=stem)
    return laid_over(head, text)


def problems(example, rule, tmp_path):
    root = folder_of(example, tmp_path)
    _bind(root)
    with Cache(None) as cache:
        catalog = load_catalog(root, cache)
        if rule != "identity/pin":
            for id_ in catalog.ids("findings"):
                finding, file = catalog.finding(id_), root / "findings" / f"{id_}.yaml"
                if finding.pins:
                    file.write_text(with_pins(file.read_text("utf-8"), wanted_pins(finding, catalog)), "utf-8")
            catalog = load_catalog(root, cache)
        found = run.check_catalog(catalog, cache)
        return found + (check_published(catalog, published_in(BASE)) if rule in published.WHY else [])


def _bind(root):
    """`SHA-256 of PATH` in an example stands for that digest."""
    for file in root.glob("findings/*.yaml"):
        text = file.read_text("utf-8")
        for path in re.findall(r"SHA-256 of (artifacts/[^\"\n]+)", text):
            digest = hashlib.sha256((root / path).read_bytes()).hexdigest()
            text = text.replace(f"SHA-256 of {path}", digest)
        file.write_text(text, "utf-8")


@pytest.mark.parametrize("rule", sorted(DOCS))
def test_the_bad_example_of_a_rule_is_refused_by_it(rule, tmp_path):
    found = problems(DOCS[rule].bad, rule, tmp_path)
    assert rule in {p.rule for p in found}, [str(p) for p in found]


@pytest.mark.parametrize("rule", sorted(DOCS))
def test_the_good_example_of_a_rule_passes(rule, tmp_path):
    found = problems(DOCS[rule].good, rule, tmp_path)
    wrong = [str(p) for p in found if p.severity is Severity.ERROR or p.rule == rule]
    assert wrong == []


def ids_in_the_code():
    """Every rule id that stands in the package: registered, or given to a problem by the reader and the models."""
    families = "source|schema|identity|arithmetic|artifacts|claims|decisions|lineage|links|privacy|prose"
    places = [file for part in ("checks", "catalog", "model") for file in (ROOT / "dossier" / part).rglob("*.py")]
    texts = [file.read_text("utf-8") for file in [*places, *(ROOT / "dossier").glob("*.py")]]
    found = {match for text in texts for match in re.findall(rf'"((?:{families})/[a-z-]+)"', text)}
    source = (ROOT / "dossier/source.py").read_text("utf-8")
    noted = re.findall(r'_(?:note|stop)\([^,()]*(?:\([^()]*\))?[^,()]*, "([a-z-]+)"', source)
    return found | {f"source/{name}" for name in noted} | {*RECORD_RULES, *CATALOG_RULES, *published.WHY}


def test_every_rule_is_described_and_every_description_is_of_a_rule():
    assert sorted(ids_in_the_code() - set(DOCS)) == []
    assert sorted(set(DOCS) - ids_in_the_code()) == []


def test_every_rule_says_why_in_a_sentence():
    assert [doc.id for doc in DOCS.values() if len(doc.why) < 30 or not doc.why.endswith(".")] == []


def test_explain_shows_why_and_both_examples():
    text = CliRunner().invoke(explain, ["arithmetic/delta"]).output
    assert DOCS["arithmetic/delta"].why in text
    assert "stated: +39.5 %" in text
    assert "stated: +39.6 %" in text


def test_explain_lists_all_rules_or_those_of_a_family():
    every = CliRunner().invoke(explain, []).output.splitlines()
    assert len(every) == len(DOCS)
    family = CliRunner().invoke(explain, ["links"]).output.splitlines()
    assert [line.split()[0] for line in family] == [rule for rule in DOCS if rule.startswith("links/")]


def test_a_mistyped_rule_is_answered_with_the_nearest_one():
    with pytest.raises(UsageError, match="did you mean 'arithmetic/delta'"):
        CliRunner().invoke(explain, ["arithmetic/detla"], catch_exceptions=False)
