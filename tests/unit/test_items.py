"""Items, references and verdicts of one small finding: what each is found by, and what it shows."""

from __future__ import annotations

from decimal import Decimal

import pytest

from dossier.derive.gates import judge
from dossier.derive.items import compared, field_of, find_item, fraction, items_of, look_up, number_of, resolve
from dossier.derive.references import parse_evidence, parse_reference, references
from dossier.derive.show import shown
from dossier.derive.walk import pointers
from dossier.model.finding import Finding
from dossier.model.gate import Gate
from dossier.model.recipe import Recipe
from dossier.model.vocabulary import Verdict
from dossier.model.workload import Population

NBSP = "\N{NO-BREAK SPACE}"
HEAD = {
    "schema": "dossier/finding/v1",
    "title": "A finding",
    "date": "2026-09-09",
    "kind": "comparison",
    "provenance": "transcribed",
    "models": ("demo",),
    "summary": "See [[turnover]], [[recipes/demo-a#context_tokens|the context]] and `[[code]]`.",
}


def finding(id_, **parts):
    return Finding.model_validate(HEAD | {"id": id_} | parts)


HERE = finding(
    "2026-09-09-v0.4.2",
    arms={"a": {"recipe": "demo-a"}},
    populations=(
        {"id": "turnover", "arm": "a", "planned": "60", "completed": "60", "passed": "58"},
        {"id": "cell", "planned": "12", "completed": "12"},
        {"id": "lost", "planned": {"unknown": "not said"}},
        {"id": "nothing", "planned": "0", "passed": "0"},
        {"id": "other", "planned": "60", "passed": "53"},
    ),
    measurements=(
        {"id": "decode", "metric": "decode_rate", "value": "83.08 tok/s"},
        {"id": "decode.base", "metric": "decode_rate", "value": "42.61 tok/s"},
        {"id": "free", "metric": "gpu_memory_free", "value": "2101 MiB", "approximate": "true"},
        {"id": "gone", "metric": "decode_rate", "value": {"unknown": "not said"}},
    ),
    comparisons=(
        {"id": "faster", "candidate": "decode", "baseline": "decode.base", "stated": "+95.0 %"},
        {"id": "only-stated", "candidate": "cell", "baseline": "lost", "metric": "e2e", "stated": "-5.19 %"},
        {"id": "rates", "candidate": "turnover", "baseline": "other", "metric": "pass_rate"},
    ),
    gates=({"id": "strict", "subject": "turnover", "require": "all passed"},),
    failures=({"id": "hang", "what": "It hung."},),
)
OTHER = finding("2026-09-10-later", measurements=({"id": "decode", "metric": "decode_rate", "value": "90 tok/s"},))
FOUND = {one.id: one for one in (HERE, OTHER)}
FIND = FOUND.get
RECIPE = Recipe.model_validate(
    {
        "schema": "dossier/recipe/v1",
        "id": "demo-a",
        "title": "A",
        "models": ("demo",),
        "identity": "x",
        "hardware": "y",
        "context_tokens": "393216",
    }
)


def record(folder, id_):
    return RECIPE if (folder, id_) == ("recipes", "demo-a") else None


def test_every_part_with_an_id_is_an_item():
    places = {item.id: place for place, item in items_of(HERE)}
    assert len(places) == 14
    assert places["decode.base"] == ("measurements", 1)
    assert find_item(HERE, "hang").kind == "failure"
    assert find_item(HERE, "nowhere") is None


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("decode", (HERE.id, "decode", "")),
        ("decode.value", (HERE.id, "decode", "value")),
        ("decode.base", (HERE.id, "decode.base", "")),
        ("decode.base.value", (HERE.id, "decode.base", "value")),
        ("2026-09-10-later#decode", (OTHER.id, "decode", "")),
        ("2026-09-09-v0.4.2#turnover.planned", (HERE.id, "turnover", "planned")),
        ("findings/2026-09-10-later#decode", (OTHER.id, "decode", "")),
        ("2026-09-11-none#decode", None),
        ("decod", None),
        ("", None),
        (" ", None),
        (".value", None),
    ],
)
def test_a_reference_finds_an_item_and_perhaps_its_field(target, expected):
    found = look_up(target, HERE, FIND)
    assert (found and (found[0].finding.id, found[0].id, found[1])) == expected


def test_a_field_that_names_an_item_takes_its_whole_id():
    assert resolve("decode.base", HERE, FIND).id == "decode.base"
    assert resolve("decode.value", HERE, FIND) is None


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("turnover", "58/60"),
        ("cell", "12/12"),
        ("lost", "unknown"),
        ("decode", f"83.08{NBSP}tok/s"),
        ("free", f"≈ 2,101{NBSP}MiB"),
        ("gone", "unknown"),
        ("faster", f"+95.0{NBSP}%"),
        ("only-stated", f"−5.19{NBSP}%"),
        ("strict", "fail"),
        ("hang", "It hung."),
        ("turnover.planned", "60"),
        ("lost.planned", "unknown"),
        ("strict.require", "all passed"),
        ("turnover.warmups", None),
        ("turnover.misses", None),
        ("turnover.model_fields", None),
        ("turnover.__doc__", None),
    ],
)
def test_what_a_reference_shows(target, text):
    assert shown(*look_up(target, HERE, FIND), FIND) == text


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ({"planned": "60", "passed": "58"}, "58/60"),
        ({"planned": "60", "completed": "59"}, "59/60"),
        ({"planned": "60"}, "?/60"),
        ({"passed": "3"}, "3/?"),
        ({}, "unknown"),
        ({"planned": "0", "passed": "0"}, "0/0"),
    ],
)
def test_a_fraction_never_invents_a_count(counts, text):
    assert fraction(Population.model_validate({"id": "p"} | counts)) == text


def test_only_fields_of_the_model_have_values():
    assert field_of(RECIPE, "context_tokens") == 393216
    assert [field_of(RECIPE, name) for name in ("nothing", "__class__", "model_dump", "models", "")] == [None] * 5


@pytest.mark.parametrize(
    ("target", "number"),
    [("decode", "83.08"), ("turnover.planned", "60"), ("recipes/demo-a#context_tokens", "393216"), ("turnover", None),
     ("gone", None), ("recipes/demo-a#title", None), ("recipes/none#context_tokens", None), ("free.approximate", None)],
)  # fmt: skip
def test_the_number_behind_a_reference(target, number):
    assert number_of(target, HERE, FIND, record) == (number and Decimal(number))


def test_both_sides_of_a_comparison():
    sides = {c.id: compared(c, HERE, FIND) for c in HERE.comparisons}
    assert [str(v) for v in sides["faster"].values] == ["83.08 tok/s", "42.61 tok/s"]
    assert not sides["only-stated"].computed
    # 58/60 is 96.67 %, 53/60 is 88.33 %: 9.44 % more of them passed.
    assert sides["rates"].difference.text == f"+9.4{NBSP}%"


# Gates -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("subject", "require", "verdict"),
    [
        ("turnover", "all passed", "fail"),
        ("turnover", "at least 58 passed", "pass"),
        ("turnover", "at least 59 passed", "fail"),
        ("turnover", "at least 96 % passed", "pass"),
        ("turnover", "at least 97 % passed", "fail"),
        ("nothing", "all passed", "undetermined"),
        ("lost", "all passed", "undetermined"),
        ("free", ">= 3072 MiB", "fail"),
        ("free", ">= 3 GiB", "fail"),
        ("free", ">= 2 GiB", "pass"),
        ("free", "< 2101 MiB", "fail"),
        ("free", "<= 2101 MiB", "pass"),
        ("free", "> 2101 MiB", "fail"),
        ("free", ">= 3 s", "undetermined"),
        ("gone", ">= 3 tok/s", "undetermined"),
        ("faster", ">= 90 %", "pass"),
        ("only-stated", "within ±5 %", "fail"),
        ("only-stated", "within ±6 %", "pass"),
        ("2026-09-10-later#decode", "> 80 tok/s", "pass"),
        ("nowhere", "> 80 tok/s", "undetermined"),
    ],
)
def test_a_verdict_follows_from_what_was_observed(subject, require, verdict):
    gate = Gate.model_validate({"id": "g", "subject": subject, "require": require})
    judged = judge(gate, HERE, FIND)
    assert judged.verdict == verdict
    assert judged.computed is (verdict != "undetermined")


def test_a_stated_verdict_counts_only_where_none_follows():
    stated = {"id": "g", "subject": "turnover", "stated": "pass"}
    assert judge(Gate.model_validate(stated), HERE, FIND).verdict is Verdict.PASS
    assert judge(Gate.model_validate(stated | {"require": "all passed"}), HERE, FIND).verdict is Verdict.FAIL


@pytest.mark.parametrize(("key", "verdict"), [("not_run", "not-run"), ("not_applicable", "not-applicable")])
def test_what_was_not_run_is_not_judged(key, verdict):
    gate = Gate.model_validate({"id": "g", "subject": "turnover", "require": "all passed", key: "No time."})
    assert judge(gate, HERE, FIND).verdict == verdict


# References and the walk -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "folder", "record_id", "item"),
    [
        ("decode", "", "", "decode"),
        ("2026-09-10-later#decode", "findings", "2026-09-10-later", "decode"),
        ("recipes/demo-a", "recipes", "demo-a", ""),
        ("recipes/demo-a#context_tokens", "recipes", "demo-a", "context_tokens"),
        ("findings/2026-09-10-later#decode", "findings", "2026-09-10-later", "decode"),
    ],
)
def test_the_parts_of_a_reference(text, folder, record_id, item):
    found = parse_reference(text)
    assert (found.folder, found.record, found.item) == (folder, record_id, item)


def test_evidence_that_begins_with_a_date_is_a_whole_finding():
    assert parse_evidence("2026-09-10-later").record == "2026-09-10-later"
    assert parse_evidence("decode").is_local


def test_references_in_code_are_text():
    text = "[[a]] `[[b]]` ``[[c]] ` [[d]]`` [[e|words]]\n```\n[[f]]\n```\n[[g]]"
    assert [(r.item, r.words) for _, r in references(text)] == [("a", ""), ("e", "words"), ("g", "")]


def test_everything_that_a_finding_points_at():
    seen = [(p.place, p.folder, p.record, p.item) for p in pointers(HERE)]
    assert (("summary",), "", "", "turnover") in seen
    assert (("summary",), "recipes", "demo-a", "context_tokens") in seen
    assert (("models", 0), "models", "demo", "") in seen
    assert (("arms", "a", "recipe"), "recipes", "demo-a", "") in seen
    assert (("populations", 0, "arm"), "", "", "a") in seen
    assert (("measurements", 0, "metric"), "", "", "decode_rate") in seen
    assert (("comparisons", 0, "baseline"), "", "", "decode.base") in seen
    assert (("gates", 0, "subject"), "", "", "turnover") in seen
    assert "code" not in {item for *_, item in seen}


def test_a_reason_for_the_unknown_is_prose():
    part = finding("2026-09-09-x", populations=({"id": "p", "planned": {"unknown": "see [[q]]"}},))
    assert [(p.place, p.item) for p in pointers(part) if p.item == "q"] == [
        (("populations", 0, "planned", "unknown"), "q")
    ]


def test_a_formula_points_at_its_operands():
    figure = {"id": "m", "metric": "tokens_per_request", "value": "5 tokens", "computed_from": "[[pool]] / 2"}
    part = finding("2026-09-09-x", measurements=(figure,))
    assert ("measurements", 0, "computed_from") in {p.place for p in pointers(part) if p.item == "pool"}
