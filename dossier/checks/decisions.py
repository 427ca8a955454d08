"""Decisions: one current recipe a lane, promoted by a human, on evidence that can carry it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, datetime
from functools import partial

from dossier.catalog import Catalog
from dossier.catalog.summary import Summary
from dossier.checks.registry import Placed, Wrong, catalog_rule, record_rule
from dossier.derive.items import Item, look_up
from dossier.derive.references import parse_evidence
from dossier.errors import Severity
from dossier.fold import Event, day_of
from dossier.model.decision import Decision
from dossier.model.finding import Finding
from dossier.model.vocabulary import Outcome, Provenance, Verdict

_CARRY_NOTHING = {Provenance.REPORTED, Provenance.EXTERNAL_PRIOR}
_MEASURE = set(Provenance) - _CARRY_NOTHING
# A miss may well be the reason for a refusal: what is excluded only cannot speak for a recipe.
_AGAINST = {Outcome.REJECT, Outcome.NO_PROMOTION, Outcome.WITHDRAW, Outcome.WATCH_ONLY, Outcome.WAIVE}


def _key(event: Event) -> tuple[str, str]:
    return Finding.FOLDER, event.finding


def _soft(provenance: Provenance) -> Severity:
    return Severity.WARNING if provenance is Provenance.TRANSCRIBED else Severity.ERROR


def _from_fold(rule: str, catalog: Catalog) -> Iterator[Placed]:
    for fault in catalog.now.faults:
        if fault.rule == rule:
            place = ("decisions", fault.index)
            yield (Finding.FOLDER, fault.finding), Wrong(place, fault.message, fault.severity)


_FOLDED = {
    "decisions/approval": "A machine proposes, a human promotes; who did is part of the record.",
    "decisions/rollback": "The way back is another recipe than the current one, and one that may be used.",
    "decisions/baseline": "Retaining a recipe that is not current would make two of them current at once.",
    "decisions/current": "What is current cannot at once be a candidate, a fallback or refused.",
}
for _id, _why in _FOLDED.items():
    catalog_rule(_id, _why, Finding.FOLDER)(partial(_from_fold, _id))


@record_rule("decisions/model", Finding)
def model_of_the_finding(finding: Finding, _: Catalog) -> Iterator[Wrong]:
    """A decision is about one model of its finding; with several models it has to say which."""
    for index, decision in enumerate(finding.decisions):
        if decision.model is None and len(finding.models) > 1 and decision.outcome is not Outcome.WAIVE:
            told = f"the finding has several models; write `model`, one of: {', '.join(finding.models)}"
            yield Wrong(("decisions", index), told)
        elif decision.model is not None and decision.model not in finding.models:
            told = f"{decision.model} is not among the finding's `models`: {', '.join(finding.models)}"
            yield Wrong(("decisions", index, "model"), told)


@record_rule("decisions/lane", Finding)
def lane_of_the_model(finding: Finding, catalog: Catalog) -> Iterator[Wrong]:
    """A lane that the model does not have would be decided, and shown nowhere."""
    for index, decision in enumerate(finding.decisions):
        subject = catalog.subject(decision.model or finding.models[0])
        known = [lane.id for lane in subject.lanes] if subject else []
        for number, lane in enumerate(decision.lanes if subject else ()):
            if lane not in known:
                told = f"{subject.id if subject else ''} has no lane {lane!r}; write one of: {', '.join(known)}"
                yield Wrong(("decisions", index, "lanes", number), told)
    for index, stated in enumerate(finding.stated_roles):
        lanes = {lane.id for m in finding.models if (s := catalog.subject(m)) is not None for lane in s.lanes}
        if lanes and stated.lane not in lanes:
            told = f"no model of this finding has a lane {stated.lane!r}; write one of: {', '.join(sorted(lanes))}"
            yield Wrong(("stated_roles", index, "lane"), told)


@record_rule("decisions/recipe", Finding)
def recipe_of_the_model(finding: Finding, catalog: Catalog) -> Iterator[Wrong]:
    """A recipe can hold a role only for a model that it serves."""
    for index, decision in enumerate(finding.decisions):
        model = decision.model or finding.models[0]
        for name in ("recipe", "rollback"):
            recipe = catalog.recipe(getattr(decision, name) or "")
            if recipe is not None and model not in recipe.models:
                told = f"{recipe.id} serves {', '.join(recipe.models)}, not {model}; name a recipe of {model}"
                yield Wrong(("decisions", index, name), told)


@record_rule("decisions/date", Finding)
def decided_in_time(finding: Finding, _: Catalog) -> Iterator[Wrong]:
    """A finding tells what was decided up to its date, on what had been seen by then."""
    for index, decision in enumerate(finding.decisions):
        if decision.at is None:
            continue
        day = day_of(decision.at)
        if day > finding.date:
            told = f"decided on {day}, after the finding's date {finding.date}; record it in a later finding"
            yield Wrong(("decisions", index, "at"), told)
        elif finding.observed is not None and _before(decision.at, finding.observed):
            told = f"decided on {day}, before what it rests on was observed ({finding.observed}); correct one"
            yield Wrong(("decisions", index, "at"), told)


def _before(one: date, other: date) -> bool:
    both = isinstance(one, datetime) and isinstance(other, datetime)
    return one < other if both else day_of(one) < day_of(other)


@record_rule("decisions/waiver", Finding)
def waived_by_a_human(finding: Finding, _: Catalog) -> Iterator[Wrong]:
    """Only a human sets a gate aside, and says so."""
    for index, decision in enumerate(finding.decisions):
        if decision.outcome is not Outcome.WAIVE or decision.human_approval is True:
            continue
        if decision.human_approval is False or decision.human_approval is None:
            yield Wrong(("decisions", index), "a waiver needs a human: write human_approval: true and by whom")
        else:
            told = f"who waived the gate is not known: {decision.human_approval.unknown}"
            yield Wrong(("decisions", index, "human_approval"), told, _soft(finding.provenance))


@record_rule("decisions/evidence", Finding)
def evidence_can_carry(finding: Finding, catalog: Catalog) -> Iterator[Wrong]:
    """What was only reported, or measured elsewhere, supports no decision; what is excluded speaks for no recipe."""
    for index, decision in enumerate(finding.decisions):
        place = ("decisions", index)
        if decision.outcome in {Outcome.WATCH_ONLY, Outcome.WAIVE}:
            continue
        if not decision.evidence and finding.provenance in _CARRY_NOTHING:
            told = f"a {finding.provenance} finding supports no decision; cite measured `evidence`, or use watch-only"
            yield Wrong(place, told)
        for number, target in enumerate(decision.evidence):
            told = _cannot_carry(target, decision, finding, catalog)
            if told:
                yield Wrong((*place, "evidence", number), f"{told}; cite other evidence")


def _cannot_carry(target: str, decision: Decision, finding: Finding, catalog: Catalog) -> str:
    reference = parse_evidence(target)
    if reference.record and not reference.item:
        whole = catalog.finding(reference.record)
        return f"{target} is {whole.provenance}" if whole is not None and whole.provenance in _CARRY_NOTHING else ""
    found = look_up(target, finding, catalog.finding)
    if found is None:
        return ""
    item, _ = found
    provenance = getattr(item.part, "provenance", None) or item.finding.provenance
    if provenance in _CARRY_NOTHING:
        return f"{target} is {provenance}"
    if decision.outcome not in _AGAINST and _excluded(item):
        return f"{target} is excluded and speaks for nothing"
    return ""


def _excluded(item: Item) -> bool:
    excluded = getattr(item.part, "excluded", None)
    if excluded is None:
        return False
    return not excluded.classes or getattr(item.part, "class_", None) in excluded.classes


def _promotions(catalog: Catalog) -> list[Event]:
    return [e for e in catalog.events() if e.decision.outcome is Outcome.PROMOTE]


@catalog_rule("decisions/unmeasured", folder=Finding.FOLDER)
def promoted_unmeasured(catalog: Catalog) -> Iterator[Placed]:
    """A recipe that nothing measured is not qualified, whatever its settings promise."""
    first: dict[str, date] = {}
    for summary in catalog.dated:
        if summary.id not in catalog.withdrawn and summary.provenance in _MEASURE:
            for recipe in summary.measured_recipes:
                first.setdefault(recipe, summary.date)
    for event in _promotions(catalog):
        recipe, day = event.decision.recipe or "", catalog.summaries[event.finding].date
        if recipe not in first or first[recipe] > day:
            told = f"no finding up to {day} measured {recipe}; give the arm that a population or figure belongs to"
            yield _key(event), Wrong(("decisions", event.index, "recipe"), told, _soft(event.provenance))


@catalog_rule("decisions/failed-gate", folder=Finding.FOLDER)
def promoted_past_a_gate(catalog: Catalog) -> Iterator[Placed]:
    """A gate that failed stops a promotion, unless a human has waived it by then, with a reason."""
    for event in _promotions(catalog):
        recipe = event.decision.recipe
        for source in _judging(event, catalog):
            for gate in source.gates:
                own = source.id == event.finding and gate.recipe is None
                if gate.verdict is not Verdict.FAIL or not (own or gate.recipe == recipe):
                    continue
                if not _waived(f"{source.id}#{gate.id}", event, catalog):
                    told = f"gate {source.id}#{gate.id} failed for {recipe} and is not waived"
                    told += "; add a decision `waive` with human approval, or do not promote"
                    yield _key(event), Wrong(("decisions", event.index), told)


def _judging(event: Event, catalog: Catalog) -> Iterable[Summary]:
    cited = [parse_evidence(target).record for target in event.decision.evidence]
    named = dict.fromkeys([event.finding, *cited])
    return [catalog.summaries[id_] for id_ in named if id_ in catalog.summaries]


def _waived(gate: str, event: Event, catalog: Catalog) -> bool:
    by = catalog.waived.get(gate)
    return by is not None and catalog.summaries[by[0]].date <= catalog.summaries[event.finding].date


@catalog_rule("decisions/two-currents", folder=Finding.FOLDER)
def two_currents(catalog: Catalog) -> Iterator[Placed]:
    """A lane has one current recipe: of two promotions on one day it must be plain which came last."""
    last: dict[tuple[str, str, date], Event] = {}
    for event in _promotions(catalog):
        before = last.setdefault((event.model, event.lane, event.day), event)
        last[event.model, event.lane, event.day] = event
        if before.decision.recipe == event.decision.recipe or catalog.is_after(event.finding, before.finding):
            continue
        both = f"{before.decision.recipe} and {event.decision.recipe}"
        told = f"{both} are promoted in lane {event.lane} on {event.day}"
        how = "keep one" if before.finding == event.finding else "the later finding says so with links.follows"
        yield _key(event), Wrong(("decisions", event.index, "recipe"), f"{told}; {how}")


@catalog_rule("decisions/withdrawn-evidence", folder=Finding.FOLDER)
def withdrawn_evidence(catalog: Catalog) -> Iterator[Placed]:
    """What was taken back carries nothing: neither a later decision, nor one that still holds."""
    for event in catalog.events():
        for number, target in enumerate(event.decision.evidence):
            by = catalog.withdrawn.get(parse_evidence(target).record)
            if by is not None and by.id != event.finding:
                yield from _resting(event, number, by, catalog)


def _resting(event: Event, number: int, by: Summary, catalog: Catalog) -> Iterator[Placed]:
    what = f"{event.finding}#{event.decision.id}"
    if by.date <= catalog.summaries[event.finding].date:
        told = f"{by.withdraws} was withdrawn by {by.id}; cite other evidence"
        yield _key(event), Wrong(("decisions", event.index, "evidence", number), told)
    elif _holds(event, catalog):
        told = (
            f"{what} rests on it and still holds in lane {event.lane}; decide again, on other evidence or to withdraw"
        )
        yield (Finding.FOLDER, by.id), Wrong(("links", "withdraws"), told)


def _holds(event: Event, catalog: Catalog) -> bool:
    state = catalog.lane(event.model, event.lane)
    return event in (state.promoted, state.rolled)
