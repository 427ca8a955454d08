"""The catalog over small trees: order, withdrawal, summaries, the cache, and what parsing says."""

from __future__ import annotations

from datetime import date

import pytest
from evidence_cases import BASE, EVIDENCE, copy_of_base, write

from dossier.cache import Cache
from dossier.catalog import load_catalog
from dossier.catalog.pins import wanted_pins
from dossier.catalog.summary import dump, restore
from dossier.model.parse import parse_record
from dossier.source import read_document

FINDING = """schema: dossier/finding/v1
id: {id}
title: A case
date: {day}
kind: recheck
provenance: transcribed
models: [demo]
summary: Text.
completion: open
{rest}"""


def load(root, cache=None):
    with Cache(cache) as opened:
        return load_catalog(root, opened)


def add(root, id_, rest=""):
    write(root, f"findings/{id_}.yaml", FINDING.format(id=id_, day=id_[:10], rest=rest))


def promote(recipe):
    return f"decisions: [{{id: d, outcome: promote, lanes: [vision], recipe: {recipe}, human_approval: true}}]\n"


def test_findings_come_by_date():
    assert [s.id for s in load(BASE).dated] == sorted(s.id for s in load(BASE).dated)


def test_within_a_day_what_follows_comes_after(tmp_path):
    root = copy_of_base(tmp_path)
    add(root, "2026-02-01-a", "links: {follows: [2026-02-01-z]}")
    add(root, "2026-02-01-m", "links: {addendum_to: 2026-02-01-a}")
    add(root, "2026-02-01-z")
    catalog = load(root)
    assert [s.id for s in catalog.dated][-3:] == ["2026-02-01-z", "2026-02-01-a", "2026-02-01-m"]
    assert catalog.is_after("2026-02-01-m", "2026-02-01-z")
    assert not catalog.is_after("2026-02-01-z", "2026-02-01-m")
    assert catalog.is_after("2026-02-01-z", "2026-01-20-second")


def test_findings_that_follow_each_other_do_not_hang(tmp_path):
    root = copy_of_base(tmp_path)
    add(root, "2026-02-01-a", "links: {follows: [2026-02-01-b]}")
    add(root, "2026-02-01-b", "links: {follows: [2026-02-01-a]}")
    assert len(load(root).dated) == 8


def test_a_withdrawn_promotion_holds_until_it_is_withdrawn(tmp_path):
    root = copy_of_base(tmp_path)
    add(root, "2026-02-01-promoted", promote("demo-b"))
    taken = "links: {withdraws: 2026-02-01-promoted}\nwithdrawal: {reason: Wrong., by: the operator}\n"
    add(root, "2026-02-05-taken-back", taken)
    catalog = load(root)
    asked = {day: catalog.lane("demo", "vision", date(2026, 2, day)).current for day in (1, 4, 5)}
    assert asked == {1: "demo-b", 4: "demo-b", 5: None}
    assert catalog.lane("demo", "vision").current is None


def test_a_decision_counts_from_its_own_day(tmp_path):
    root = copy_of_base(tmp_path)
    add(root, "2026-02-09-told-late", promote("demo-b").replace("human", "at: 2026-02-03, human"))
    lane = load(root).lane
    assert lane("demo", "vision", date(2026, 2, 2)).current is None
    assert lane("demo", "vision", date(2026, 2, 3)).current == "demo-b"


def test_a_summary_says_what_was_measured_and_judged():
    summary = load(BASE).summaries["2026-01-20-second"]
    assert summary.measured_recipes == ("demo-b",)
    assert [(g.id, g.verdict, g.recipe) for g in summary.gates] == [("strict", "fail", "demo-b")]
    assert summary.excluded_items == ("cell",)
    assert summary.hardware == ("bench",)


@pytest.mark.parametrize("tree", sorted((EVIDENCE / "valid").iterdir()), ids=lambda tree: tree.name)
def test_a_summary_survives_the_cache(tree):
    for summary in load(tree).dated:
        assert restore(dump(summary)) == summary


def test_what_comes_from_the_cache_is_what_was_read(tmp_path):
    cache = tmp_path / "cache.sqlite"
    first, second = load(BASE, cache), load(BASE, cache)
    assert first.entries == second.entries
    assert first.summaries == second.summaries
    assert first.finding("2026-01-20-second") == second.finding("2026-01-20-second")


def test_a_digest_is_known_again_or_taken_when_it_is_asked_for(tmp_path):
    cache, key = tmp_path / "cache.sqlite", ("findings", "2026-01-20-second")
    load(BASE, cache)
    later = load(BASE, cache)
    assert key not in later.digests
    with Cache(cache) as opened:
        taken = load_catalog(BASE, opened, digests=True).digests[key]
    assert load(BASE, cache).digests[key] == taken == later.digest(key)


def test_the_digest_is_of_the_meaning_not_of_the_layout(tmp_path):
    root = copy_of_base(tmp_path)
    file = root / "recipes/demo-a.yaml"
    before = load(root).digest(("recipes", "demo-a"))
    lines = file.read_text(encoding="utf-8").splitlines()
    file.write_text("\n".join(["# moved", *reversed(lines)]) + "\n", encoding="utf-8")
    assert load(root).digest(("recipes", "demo-a")) == before
    file.write_text(file.read_text(encoding="utf-8").replace("8192", "8193"), encoding="utf-8")
    assert load(root).digest(("recipes", "demo-a")) != before


def test_pins_name_recipe_identity_and_hardware():
    catalog = load(BASE)
    pins = wanted_pins(catalog.finding("2026-01-20-second"), catalog)
    assert list(pins) == ["hardware/bench", "identities/demo-fp8", "recipes/demo-b"]
    assert all(catalog.digest(tuple(name.split("/"))) == digest for name, digest in pins.items())


def test_a_broken_record_is_there_and_has_no_value(tmp_path):
    root = copy_of_base(tmp_path)
    write(root, "recipes/demo-b.yaml", "schema: [")
    catalog = load(root)
    assert catalog.exists("recipes", "demo-b")
    assert catalog.recipe("demo-b") is None
    assert not catalog.exists("recipes", "demo-z")


def test_kept_files_by_digest_and_size():
    catalog = load(BASE)
    # `printf '{"wall_s": 12.50, "shares": [0.9667], "name": "x"}\n' | sha256sum`
    digest = "724bd849638dffb82ddc2b5db1d9838af6ed816ab32b650bfbe2507b5ac2cb62"
    assert catalog.kept("2026-01-05-kept/run.json") == (digest, 51)
    assert catalog.kept("2026-01-05-kept/../../models/demo.yaml") is None
    assert catalog.kept_bytes("nothing") is None


# Parsing: the words of a problem ---------------------------------------------------------------------------------


def told(text):
    document, _ = read_document(text, "x.yaml")
    record, problems = parse_record(document, "x.yaml")
    assert record is None
    return [(p.rule, p.line, p.column, p.message) for p in problems]


MODEL = "schema: dossier/model/v1\nid: case\nname: Case\nscope: Text.\n"


def test_a_mistyped_key_is_named_with_the_one_that_was_meant():
    [(rule, line, column, message)] = told(MODEL + "lanes: [{id: x, titel: X, title: X}]\n")
    assert (rule, line, column) == ("schema/unknown-key", 5, 17)
    assert "'title'" in message


def test_a_mistyped_word_is_named_with_the_one_that_was_meant():
    text = FINDING.format(id="2026-02-01-case", day="2026-02-01", rest="").replace("recheck", "rechek")
    [(rule, line, column, message)] = told(text)
    assert (rule, line, column) == ("schema/choice", 5, 7)
    assert "'recheck'" in message


def test_all_problems_of_a_file_are_told_at_once():
    rules = [rule for rule, *_ in told(MODEL.replace("Text.", "' '") + "lanes: [{id: X, title: X}]\nmore: x\n")]
    assert sorted(rules) == ["schema/blank", "schema/id", "schema/unknown-key"]


def test_an_empty_list_is_told_and_a_refused_item_does_not_make_it_empty():
    assert [rule for rule, *_ in told(MODEL + "lanes: []\n")] == ["schema/value"]
    assert [rule for rule, *_ in told(MODEL + "lanes: [{id: X, title: X}]\n")] == ["schema/id"]


@pytest.mark.parametrize("schema", ["dossier/model/v2", "dossier/modle/v1", "[dossier/model/v1]", "{a: b}"])
def test_a_schema_that_is_none_is_told(schema):
    assert [rule for rule, *_ in told(f"schema: {schema}\nid: case\n")] == ["schema/kind"]


def test_braces_in_a_text_are_shown_as_they_are():
    [(_, _, _, message)] = told(MODEL + "lanes: [{id: '{0} {x}', title: X}]\n")
    assert "{0} {x}" in message
