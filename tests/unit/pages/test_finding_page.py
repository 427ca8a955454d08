"""The page of a finding: all that it holds, what follows from it, and what later findings make of it."""

from __future__ import annotations

import html
from html.parser import HTMLParser

import pytest
from finding_site import BEFORE, HERE, body, page, promotion, with_figures
from maximal import Maker
from small_site import finding, recipe, row, words

from dossier.errors import RenderError
from dossier.model.decision import Decision, StatedRole
from dossier.model.finding import Arm, Check, Finding, Links, Withdrawal
from dossier.model.gate import Gate
from dossier.model.measurement import Comparison

# Everything that the record holds


def maximal(*, unknown=False):
    """A finding with every field of every part, and what must be read on its page."""
    make = Maker(unknown=unknown)
    before = "2026-01-01-before"
    gate = make.part(Gate, require="all passed", subject=f"{before}#p-before")
    requires = make.part(Gate, subject="2026-01-01-before#m-before")
    comparison = make.part(Comparison, candidate=f"{before}#m-before", baseline=f"{before}#m-before", metric=None)
    decisions = [
        make.part(Decision, outcome="promote", lanes=["text"], recipe="recipe-a", gate=None, subject=None),
        make.part(Decision, outcome="watch-only", lanes=["text"], recipe=None, rollback=None, gate=None),
        make.part(Decision, outcome="waive", lanes=[], gate=gate["id"], recipe=None, rollback=None, subject=None),
    ]
    links = {name: [before] if name in {"follows", "supersedes", "see"} else before for name in Links.model_fields}
    data = make.part(
        Finding,
        id=HERE,
        date="2026-02-02",
        artifacts=make.files(),
        arms={"candidate": make.part(Arm, recipe="recipe-a")},
        gates=[gate, requires],
        comparisons=[comparison],
        decisions=decisions,
        links=links,
        stated_roles=[make.part(StatedRole, lane="text")],
        withdrawal=make.part(Withdrawal),
        restoration=None,
        pins={"recipes/recipe-a": "sha256:" + "c" * 64},
    )
    own = [{**p, "id": id_} for p, id_ in ((data["populations"][0], "p-before"),)]
    data["populations"] = own
    data["artifacts"][0]["id"] = "a-before"
    return data, make


@pytest.mark.parametrize("unknown", [False, True])
def test_every_field_of_every_part_or_why_it_is_not_known_is_on_the_page(tmp_path, unknown):
    data, make = maximal(unknown=unknown)
    made = html.unescape(body(tmp_path, BEFORE, data))
    text = words(made)
    assert [token for token in make.made if token not in text and token not in made] == []
    assert "c" * 64 in text


def test_every_item_can_be_linked_by_its_id(tmp_path):
    data, _ = maximal()
    made = body(tmp_path, BEFORE, data)
    for name in ("populations", "measurements", "comparisons", "gates", "decisions", "failures", "observations",
                 "discrepancies", "artifacts"):  # fmt: skip
        for part in data[name]:
            assert f'id="i-{part["id"]}"' in made, (name, part["id"])


def test_restoration_is_shown_with_its_checks(tmp_path):
    make = Maker()
    restoration = {
        "recipe": "recipe-c", "at": "2026-02-02T10:30:00Z", "by": "the operator", "identity_equal": True,
        "active_requests": 0, "restarts": {"unknown": "Nobody looked."}, "note": "All as before.",
        "checks": [make.part(Check)],
    }  # fmt: skip
    text = words(body(tmp_path, finding(HERE, restoration=restoration)))
    for token in (
        "Title of recipe-c",
        "2026-02-02 10:30 UTC",
        "the operator",
        "unknown: Nobody looked.",
        "All as before.",
    ):
        assert token in text
    assert [token for token in make.made if token not in text] == []


# Shape


class _Shape(HTMLParser):
    """Collects ids and local links, and checks that tags nest."""

    VOID = frozenset({"br", "hr", "rect", "input", "meta", "link"})

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.fragments, self.faults = [], [], [], []

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        self.ids += [named["id"]] if "id" in named else []
        self.fragments += [named["href"][1:]] if named.get("href", "").startswith("#") else []
        if tag == "p" and "p" in self.open:
            self.faults.append(f"p in p at {self.getpos()}")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in self.VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> at {self.getpos()}")


def test_tags_nest_ids_are_unique_and_local_links_lead_somewhere(tmp_path):
    data, _ = maximal()
    shape = _Shape()
    shape.feed(body(tmp_path, BEFORE, data))
    assert shape.faults == []
    assert shape.open == []
    assert sorted(set(shape.ids)) == sorted(shape.ids)
    assert [f for f in shape.fragments if f not in shape.ids] == []


def test_a_bare_finding_has_no_empty_sections(tmp_path):
    made = body(tmp_path, finding(HERE))
    assert [id_ for id_ in ("gates", "populations", "limits", "links", "sources") if f'id="{id_}"' in made] == []
    assert "Nothing was decided here." in words(made)


def test_what_a_limit_binds_is_told_apart_by_arm_and_a_long_list_is_folded(tmp_path):
    populations = [{"id": f"p{n}", "title": "Same words", "arm": "fast" if n % 2 else "slow"} for n in range(7)]
    limits = [{"text": "Few.", "binds": ["p0", "p1", "g"]}, {"text": "Many.", "binds": [p["id"] for p in populations]}]
    arms = {"fast": {"recipe": "first"}, "slow": {"recipe": "first"}}
    gates = [{"id": "g", "title": "A gate", "stated": "fail"}]
    data = finding(HERE, arms=arms, populations=populations, gates=gates, limits=limits)
    made = body(tmp_path, recipe("first"), data)
    few, many = made[made.index("Few.") :].split("Many.")
    assert "Limits Same words slow, Same words fast, A gate ." in words(few)
    assert "<details" not in few
    assert "<summary>Limits 7 items</summary>" in many


def test_hostile_text_is_shown_literally(tmp_path):
    nasty = '</script><img src=x onerror=alert(1)> "onmouseover="x" {{ 7*7 }} {% raw %}'
    url = "javascript:alert(1)"
    data = finding(
        HERE, title=nasty, summary=nasty, limits=[nasty],
        populations=[{"id": "p", "title": nasty, "target": nasty, "misses": [{"kind": "k", "observed": nasty}]}],
        failures=[{"id": "f", "what": nasty, "stage": nasty, "excerpt": nasty}],
        sources=[{"title": nasty, "url": url}],
    )  # fmt: skip
    made = body(tmp_path, data)
    assert "<img" not in made
    assert "<script" not in made
    assert f'href="{url}' not in made
    assert words(made).count("{{ 7*7 }}") >= 8


def test_a_missing_finding_is_a_render_error(tmp_path):
    with pytest.raises(RenderError):
        page(tmp_path, finding(HERE), id_="2026-09-09-nowhere")


# Populations


def test_parts_and_repeats_stand_right_behind_their_whole(tmp_path):
    populations = [
        {"id": "whole", "class": "context", "planned": 4, "passed": 3},
        {"id": "other", "class": "context"},
        {"id": "part", "class": "quality", "part_of": "whole", "planned": 2, "passed": 1},
        {"id": "again", "repeat_of": "whole", "planned": 4, "passed": 4},
    ]
    made = body(tmp_path, finding(HERE, populations=populations))
    places = [made.index(f'<tr id="i-{id_}"') for id_ in ("whole", "part", "again", "other")]
    assert places == sorted(places)
    assert "part of whole" in row(made, "i-part")
    assert "repeat of whole" in row(made, "i-again")
    assert made.count("<table") - made.count("dx-tracks") == 1


def test_an_excluded_population_says_why_and_from_what(tmp_path):
    excluded = {"reason": "strict-output-miss", "classes": ["performance"], "note": "Two words too many."}
    population = {"id": "p", "planned": 60, "completed": 60, "passed": 58, "excluded": excluded}
    text = row(body(tmp_path, finding(HERE, populations=[population])), "i-p")
    assert "58 / 60" in text
    assert "excluded" in text
    assert "strict output miss controlled output was not obeyed. Excluded from performance. Two words too many." in text


def test_misses_are_listed_one_by_one(tmp_path):
    misses = [
        {"index": 20, "kind": "word-count", "observed": "33 words", "expected": "32 words", "finish": "stop"},
        {"index": {"unknown": "Not printed."}, "kind": "truncated", "limit": "512 tokens", "count": 7},
    ]
    made = words(body(tmp_path, finding(HERE, populations=[{"id": "p", "title": "Turnover", "misses": misses}])))
    table = made[made.index("Misses of Turnover") :]
    assert "word-count — 20 33 words 32 words — stop" in table
    assert "truncated 7 unknown: Not printed. — — 512 tokens —" in table


def test_what_is_not_known_is_said_with_its_reason(tmp_path):
    population = {"id": "p", "planned": {"unknown": "The page prints **no** count."}, "failed": 0}
    text = row(body(tmp_path, finding(HERE, populations=[population])), "i-p")
    assert "unknown: The page prints no count." in text


# Comparisons


def test_a_difference_is_computed_and_the_stated_one_checked(tmp_path):
    """142.64 over 102.19 is +39.58 %, and rounding of the two leaves 39.571 to 39.595."""
    comparison = {"id": "gain", "candidate": "new", "baseline": "old", "stated": "+39.5 %"}
    made = body(tmp_path, with_figures(comparisons=[comparison]))
    text = row(made, "i-gain")
    assert "+39.6\N{NO-BREAK SPACE}% better" in text
    assert "+39.5\N{NO-BREAK SPACE}% differs: rounding allows 39.57 to 39.60\N{NO-BREAK SPACE}%" in text
    assert "Stated and recomputed differ" in words(made)


def test_less_is_better_where_the_metric_says_so(tmp_path):
    comparisons = [
        {"id": "worse", "candidate": "slow", "baseline": "fast", "stated": "+25 %"},
        {"id": "better", "candidate": "fast", "baseline": "slow"},
    ]
    made = body(tmp_path, with_figures(comparisons=comparisons))
    assert "worse" in row(made, "i-worse")
    assert "agrees" in row(made, "i-worse")
    assert "better" in row(made, "i-better")
    assert "Stated and recomputed differ" not in words(made)


def test_a_difference_that_is_only_stated_says_so(tmp_path):
    populations = [{"id": "a", "target": "4K"}, {"id": "b"}]
    comparison = {"id": "x", "candidate": "a", "baseline": "b", "metric": "e2e", "stated": "-5.19 %"}
    text = row(body(tmp_path, finding(HERE, populations=populations, comparisons=[comparison])), "i-x")
    assert "−5.19\N{NO-BREAK SPACE}% better" in text
    assert "stated only" in text


@pytest.mark.parametrize(("band", "said"), [("±50 %", "within"), ("±10 %", "outside"), ("±39.58 %", "undecided")])
def test_a_declared_band_is_judged_with_rounding_in_mind(tmp_path, band, said):
    comparison = {"id": "gain", "candidate": "new", "baseline": "old", "band": band}
    assert f"{said}, without an interval" in row(body(tmp_path, with_figures(comparisons=[comparison])), "i-gain")


def test_a_band_is_judged_by_the_interval_where_there_is_one(tmp_path):
    interval = {"low": "-1.0", "high": "52.5", "level": "95", "method": "bootstrap"}
    comparison = {"id": "gain", "candidate": "new", "baseline": "old", "band": "±50 %", "interval": interval}
    text = row(body(tmp_path, with_figures(comparisons=[comparison])), "i-gain")
    assert "undecided, by the interval" in text
    assert "95 % −1.0 to 52.5\N{NO-BREAK SPACE}% bootstrap" in text


# Gates and decisions


def test_a_verdict_is_computed_and_a_different_stated_one_kept_beside_it(tmp_path):
    gate = {"id": "g", "require": "all passed", "subject": "p", "stated": "pass"}
    population = {"id": "p", "title": "Turnover", "planned": 60, "completed": 60, "passed": 58}
    made = body(tmp_path, finding(HERE, populations=[population], gates=[gate]))
    text = row(made, "i-g")
    assert "fail computed" in text
    assert "58/60" in text
    assert "pass differs" in text
    assert "Stated and recomputed differ" in words(made)


def test_a_waived_gate_stays_failed_and_names_who_waived_it(tmp_path):
    data = finding(
        HERE,
        populations=[{"id": "p", "planned": 2, "completed": 2, "passed": 1}],
        gates=[{"id": "g", "require": "all passed", "subject": "p"}],
    )
    waive = {"id": "w", "outcome": "waive", "gate": f"{HERE}#g", "reason": "A model-only pair.", "by": "the user"}
    text = row(body(tmp_path, data, finding("2026-03-03-later", decisions=[waive])), "i-g")
    assert "fail waived computed" in text
    assert "by the user" in text
    assert "A model-only pair." in text


def test_a_decision_is_shown_as_it_was_and_as_what_became_of_it(tmp_path):
    data = finding(HERE, decisions=[promotion("recipe-a", by="the user", limitation="No video.")])
    later = finding("2026-03-03-later", decisions=[promotion("recipe-b", rollback="recipe-a")])
    last = finding("2026-04-04-last", decisions=[promotion("recipe-c", rollback="recipe-b")])
    text = words(body(tmp_path, data, later, last))
    then, now = text[text.index("as decided then") :].split("What became of it")
    for token in ("Text lane", "Human approval yes", "By the user", "Limitation No video."):
        assert token in then
    assert "former rollback Title of recipe-a since 2026-03-03 , until 2026-04-04 , then Title of recipe-c" in now


def test_a_stated_role_stands_beside_the_decisions_up_to_that_day(tmp_path):
    stated = [
        {"recipe": "recipe-a", "lane": "text", "role": "current", "words": "our default"},
        {"recipe": "recipe-b", "lane": "text", "role": "rollback", "words": "first rollback"},
    ]
    data = finding(HERE, decisions=[promotion("recipe-a")], stated_roles=stated)
    later = finding("2026-03-03-later", decisions=[promotion("recipe-c")])
    made = body(tmp_path, data, later)
    assert "current our default current yes" in row(made, "i-role-1")
    assert "rollback first rollback no decision names it no" in row(made, "i-role-2")
    assert "recipe-b in lane text" in words(made)
