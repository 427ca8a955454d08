"""The decision fold: what a lane's events make of every recipe, at any date."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dossier.errors import Severity
from dossier.fold import Event, History, LaneState, day_of
from dossier.model.decision import Decision
from dossier.model.vocabulary import Outcome, Provenance, Role

START = date(2026, 1, 1)


def event(day, outcome, recipe, *, lane="text", provenance=Provenance.MEASURED, **fields):
    """One event on day `day` of the year, approved by a human unless said otherwise."""
    data = {"id": f"d{day}", "outcome": outcome, "lanes": (lane,), "recipe": recipe, "human_approval": "true"} | fields
    decision = Decision.model_validate({k: v for k, v in data.items() if v is not None})
    return Event("demo", lane, START + timedelta(days=day - 1), f"f{day}", 0, provenance, decision)


def roles(events, until=None, lane="text"):
    """Current recipe, rollback, and the role of every recipe."""
    state = History(events).at(until).lanes.get(("demo", lane), LaneState("demo", lane))
    return state.current, state.rollback, {name: s.role.value for name, s in state.standings.items()}


def faults(events):
    return [(fault.finding, fault.rule, fault.severity) for fault in History(events).at().faults]


def test_nothing_decided_is_nothing_current():
    assert roles([]) == (None, None, {})


def test_promotion_makes_current_and_displaces():
    events = [event(1, "promote", "a"), event(2, "promote", "b", rollback="a"), event(3, "promote", "c", rollback="b")]
    assert roles(events) == ("c", "b", {"a": "former-rollback", "b": "rollback", "c": "current"})
    assert History(events).at().faults == []


def test_what_was_displaced_says_since_when_and_by_what():
    state = History([event(1, "promote", "a"), event(5, "promote", "b")]).at().lanes["demo", "text"]
    former = state.standings["a"]
    assert (former.role, former.since, former.until, former.successor) == (
        Role.FORMER, date(2026, 1, 1), date(2026, 1, 5), "b",
    )  # fmt: skip
    assert state.standings["b"].until is None


def test_a_promotion_that_names_no_rollback_leaves_none():
    events = [event(1, "promote", "a"), event(2, "promote", "b", rollback="a"), event(3, "promote", "c")]
    assert roles(events) == ("c", None, {"a": "former-rollback", "b": "former", "c": "current"})


def test_a_rollback_kept_by_the_next_promotion_stays_the_rollback():
    events = [event(1, "promote", "b", rollback="a"), event(2, "promote", "c", rollback="a")]
    assert roles(events) == ("c", "a", {"a": "rollback", "b": "former", "c": "current"})


def test_going_back_makes_the_rollback_current():
    events = [event(1, "promote", "b", rollback="a"), event(2, "promote", "a")]
    assert roles(events) == ("a", None, {"a": "current", "b": "former"})


def test_going_back_with_the_failed_one_as_the_way_back():
    events = [event(1, "promote", "b", rollback="a"), event(2, "promote", "a", rollback="b")]
    assert roles(events) == ("a", "b", {"a": "current", "b": "rollback"})


def test_there_is_one_immediate_rollback():
    events = [event(1, "designate-rollback", "a"), event(2, "designate-rollback", "b")]
    assert roles(events) == (None, "b", {"a": "former-rollback", "b": "rollback"})


@pytest.mark.parametrize(
    ("outcome", "role"),
    [
        ("no-promotion", "no-promotion"),
        ("reject", "rejected"),
        ("designate-fallback", "fallback"),
        ("designate-alternate", "alternate"),
        ("designate-challenger", "challenger"),
        ("designate-control", "control"),
        ("watch-only", "watch-only"),
        ("withdraw", "withdrawn"),
    ],
)
def test_each_outcome_gives_its_label(outcome, role):
    assert roles([event(1, outcome, "a")]) == (None, None, {"a": role})


def test_the_last_label_holds():
    assert roles([event(1, "designate-challenger", "a"), event(2, "reject", "a")])[2] == {"a": "rejected"}


def test_a_subject_without_a_record_has_a_role_too():
    assert roles([event(1, "watch-only", None, subject="A release")]) == (None, None, {"A release": "watch-only"})


@pytest.mark.parametrize("outcome", ["reject", "withdraw", "watch-only", "no-promotion"])
def test_a_refused_rollback_is_no_way_back(outcome):
    current, rollback, all_roles = roles([event(1, "promote", "b", rollback="a"), event(2, outcome, "a")])
    assert (current, rollback) == ("b", None)
    assert all_roles["a"] != "rollback"


def test_the_rollback_stays_one_when_it_is_also_named_a_fallback():
    assert roles([event(1, "promote", "b", rollback="a"), event(2, "designate-fallback", "a")])[1:] == (
        "a", {"a": "rollback", "b": "current"},
    )  # fmt: skip


def test_withdrawing_the_current_recipe_leaves_the_lane_empty():
    events = [event(1, "promote", "b", rollback="a"), event(2, "withdraw", "b")]
    assert roles(events) == (None, "a", {"a": "rollback", "b": "withdrawn"})
    state = History(events).at().lanes["demo", "text"]
    assert (state.promoted, state.confirmed) == (None, None)


def test_retaining_confirms_and_changes_nothing():
    events = [event(1, "promote", "a"), event(4, "retain-baseline", "a")]
    state = History(events).at().lanes["demo", "text"]
    assert (state.promoted, state.confirmed) == (events[0], events[1])
    assert roles(events) == ("a", None, {"a": "current"})


def test_lanes_do_not_touch_each_other():
    events = [event(1, "promote", "a"), event(2, "promote", "b", lane="vision", rollback="a")]
    assert roles(events)[:2] == ("a", None)
    assert roles(events, lane="vision")[:2] == ("b", "a")


def test_any_date_can_be_asked_for():
    events = [event(1, "promote", "a"), event(3, "promote", "b", rollback="a"), event(5, "promote", "c", rollback="b")]
    asked = {day: roles(events, START + timedelta(days=day - 1))[:2] for day in (0, 1, 2, 3, 4, 5, 9)}
    assert asked == {
        0: (None, None), 1: ("a", None), 2: ("a", None), 3: ("b", "a"), 4: ("b", "a"), 5: ("c", "b"), 9: ("c", "b"),
    }  # fmt: skip


def test_a_time_belongs_to_its_day():
    decided = Decision.model_validate(
        {"id": "d", "outcome": "reject", "lanes": ("t",), "recipe": "a", "at": "2026-09-11T23:59:59Z"}
    )
    assert day_of(decided.at) == date(2026, 9, 11)


# What the fold cannot follow ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("approval", "expected"), [(None, "error"), ("false", "error"), ({"unknown": "?"}, "error")])
def test_a_promotion_needs_a_human(approval, expected):
    assert faults([event(1, "promote", "a", human_approval=approval)]) == [("f1", "decisions/approval", expected)]


def test_what_a_source_leaves_open_is_a_warning():
    asked = event(1, "promote", "a", human_approval={"unknown": "not said"}, provenance=Provenance.TRANSCRIBED)
    refused = event(1, "promote", "a", human_approval="false", provenance=Provenance.TRANSCRIBED)
    assert faults([asked]) == [("f1", "decisions/approval", Severity.WARNING)]
    assert faults([refused]) == [("f1", "decisions/approval", Severity.ERROR)]


def test_the_current_recipe_is_not_its_own_rollback():
    events = [event(1, "promote", "a", rollback="a")]
    assert faults(events) == [("f1", "decisions/rollback", Severity.ERROR)]
    assert roles(events) == ("a", None, {"a": "current"})


def test_a_rejected_recipe_is_no_rollback():
    assert faults([event(1, "reject", "a"), event(2, "promote", "b", rollback="a")]) == [
        ("f2", "decisions/rollback", Severity.ERROR)
    ]


def test_only_what_is_current_is_retained():
    assert faults([event(1, "retain-baseline", "a")]) == [("f1", "decisions/baseline", Severity.ERROR)]
    events = [event(1, "promote", "b"), event(2, "retain-baseline", "a")]
    assert faults(events) == [("f2", "decisions/baseline", Severity.ERROR)]
    assert roles(events) == ("b", None, {"b": "current"})


@pytest.mark.parametrize("outcome", ["reject", "designate-challenger", "no-promotion", "watch-only"])
def test_what_is_current_is_not_labelled_otherwise(outcome):
    events = [event(1, "promote", "a"), event(2, outcome, "a")]
    assert faults(events) == [("f2", "decisions/current", Severity.ERROR)]
    assert roles(events) == ("a", None, {"a": "current"})


# Whatever is decided --------------------------------------------------------------------------------------------

OUTCOMES = [outcome.value for outcome in Outcome if outcome is not Outcome.WAIVE]
RECIPES = st.sampled_from("abcd")
LANES = st.sampled_from(["text", "vision"])


@st.composite
def sequences(draw):
    events, day = [], 1
    for _ in range(draw(st.integers(0, 14))):
        day += draw(st.integers(0, 2))
        outcome = draw(st.sampled_from(OUTCOMES))
        rollback = draw(st.none() | RECIPES) if outcome == "promote" else None
        events.append(event(day, outcome, draw(RECIPES), lane=draw(LANES), rollback=rollback))
    return events


@given(sequences())
def test_at_every_date_a_lane_has_one_current_and_one_rollback_at_most(events):
    for day in range(32):
        for state in History(events).at(START + timedelta(days=day)).lanes.values():
            by_role = [s.role for s in state.standings.values()]
            assert by_role.count(Role.CURRENT) == (state.current is not None)
            assert by_role.count(Role.ROLLBACK) == (state.rollback is not None)
            assert state.current is None or state.current != state.rollback
            assert state.current is None or state.role(state.current) is Role.CURRENT
            assert state.rollback is None or state.role(state.rollback) is Role.ROLLBACK


def told(folded):
    """The states as a reader sees them."""
    return {
        key: (s.current, s.rollback, s.promoted, s.confirmed, s.rolled, s.standings, s.events)
        for key, s in folded.lanes.items()
    }


@given(sequences(), st.integers(0, 30))
def test_a_date_is_what_its_events_alone_make(events, days):
    until = START + timedelta(days=days)
    alone = told(History([e for e in events if e.day <= until]).at())
    assert told(History(events).at(until)) == alone


@given(sequences())
def test_every_recipe_that_was_named_keeps_a_role(events):
    for key, state in History(events).at().lanes.items():
        retained = {"retain-baseline"}
        named = {e.decision.recipe for e in events if e.lane == key[1] and e.decision.outcome not in retained}
        accused = {f.finding for f in History(events).at().faults}
        named -= {e.decision.recipe for e in events if e.finding in accused}
        assert named <= set(state.standings)
