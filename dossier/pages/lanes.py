"""Lanes as pages show them: what is current, on which evidence, what became of every decision, and at which date."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from markupsafe import Markup

from dossier.catalog.summary import Summary
from dossier.derive.items import Item, display
from dossier.derive.show import shown
from dossier.errors import RenderError
from dossier.fold import Event, LaneState, Standing, day_of
from dossier.model.decision import Decision
from dossier.model.finding import Finding
from dossier.model.gate import Gate
from dossier.model.measurement import Comparison, Measurement, Statistic
from dossier.model.recipe import Recipe
from dossier.model.subject import Lane, Subject
from dossier.model.vocabulary import Outcome, Provenance
from dossier.model.workload import Population
from dossier.pages.context import Site, View
from dossier.pages.fields import Writer

_SUPPORTS_NOTHING = {Provenance.REPORTED, Provenance.EXTERNAL_PRIOR}


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What holds in one lane now. `reviewed` is the day of the newest evidence about the current recipe."""

    subject: Subject
    lane: Lane
    state: LaneState
    replaced: str | None
    reviewed: date | None
    stale_days: int | None

    @property
    def event(self) -> Event | None:
        """The promotion that made the recipe current."""
        return self.state.promoted


@dataclass(frozen=True, slots=True)
class LaneNow:
    """What became, in one lane, of the recipe that a decision was about."""

    lane: str
    title: str
    standing: Standing | None
    replaced: str | None


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision in the timeline of a model."""

    day: date
    summary: Summary
    decision: Decision
    model: str
    lanes: tuple[LaneNow, ...]
    withdrawn_by: Summary | None

    @property
    def name(self) -> str:
        """The recipe's id, or the words for what has no record."""
        return self.decision.recipe or self.decision.subject or ""


@dataclass(frozen=True, slots=True)
class Held:
    """One lane at the end of a day, and whether its current recipe and its rollback are new on that day."""

    lane: Lane
    current: str | None
    rollback: str | None
    new_current: bool
    new_rollback: bool


@dataclass(frozen=True, slots=True)
class Cited:
    """A figure, or another piece of evidence, that a decision names."""

    label: Markup | str
    value: str
    href: str


def snapshots(site: Site, subject: Subject) -> list[Snapshot]:
    """Every lane of a model, in the order in which the model lists them."""
    reviews = _reviews(site)
    return [_snapshot(site, subject, lane, reviews) for lane in subject.lanes]


def _snapshot(site: Site, subject: Subject, lane: Lane, reviews: dict[str, date]) -> Snapshot:
    state = site.catalog.lane(subject.id, lane.id)
    days = [event.day for event in (state.promoted, state.confirmed) if event is not None]
    if state.current in reviews:
        days.append(reviews[state.current])
    reviewed = max(days, default=None) if state.current else None
    age = (site.newest - reviewed).days if site.newest is not None and reviewed is not None else 0
    stale = age if age > subject.stale_after_days else None
    replaced = _replaced(state, state.promoted) if state.promoted is not None else None
    return Snapshot(subject, lane, state, replaced, reviewed, stale)


def _reviews(site: Site) -> dict[str, date]:
    """Recipe -> day of the newest finding about it that can support a decision and stands."""
    return {
        recipe: summary.date
        for summary in site.catalog.dated
        if summary.provenance not in _SUPPORTS_NOTHING and summary.id not in site.catalog.withdrawn
        for recipe in summary.recipes
    }


def _replaced(state: LaneState, promotion: Event) -> str | None:
    """The recipe that was current until this promotion of another."""
    current: str | None = None
    for event in state.events:
        if event is promotion:
            break
        if event.decision.outcome is Outcome.PROMOTE:
            current = event.decision.recipe
        elif event.decision.outcome is Outcome.WITHDRAW and event.decision.recipe == current:
            current = None
    return current if current != promotion.decision.recipe else None


def decided(site: Site, model: str | None = None) -> list[Decided]:
    """Every decision about a model, or about any, newest first; a waiver has no lane role and is among them."""
    found = [
        _decided(site, summary, decision)
        for summary in site.catalog.dated
        for decision in summary.decisions
        if model is None or (decision.model or summary.models[0]) == model
    ]
    # The sort is stable: within a day what was decided last stands first.
    return sorted(found, key=lambda entry: entry.day)[::-1]


def _decided(site: Site, summary: Summary, decision: Decision) -> Decided:
    model = decision.model or summary.models[0]
    day = day_of(decision.at) if decision.at is not None else summary.date
    lanes = tuple(_lane_now(site, model, lane, summary, decision) for lane in decision.lanes)
    return Decided(day, summary, decision, model, lanes, site.catalog.withdrawn.get(summary.id))


def _lane_now(site: Site, model: str, lane: str, summary: Summary, decision: Decision) -> LaneNow:
    state = site.catalog.lane(model, lane)
    name = decision.recipe or decision.subject or ""
    replaced = None
    if decision.outcome is Outcome.PROMOTE:
        own = (e for e in state.events if e.finding == summary.id and e.decision.id == decision.id)
        event = next(own, None)
        replaced = _replaced(state, event) if event is not None else None
    return LaneNow(lane, lane_title(site, model, lane), state.standings.get(name), replaced)


def lane_title(site: Site, model: str, lane: str) -> str:
    """The title of a model's lane."""
    subject = site.catalog.subject(model)
    lanes = subject.lanes if subject is not None else ()
    return next((each.title for each in lanes if each.id == lane), lane)


def as_of(site: Site, subject: Subject) -> list[tuple[date, list[Held]]]:
    """The current recipe and the rollback of every lane at the end of each day of decision, newest first."""
    days = sorted({entry.day for entry in decided(site, subject.id) if entry.lanes})
    rows: list[tuple[date, list[Held]]] = []
    for day in days:
        before = {held.lane.id: held for held in rows[-1][1]} if rows else {}
        rows.append((day, [_held(site, subject, lane, day, before.get(lane.id)) for lane in subject.lanes]))
    return rows[::-1]


def _held(site: Site, subject: Subject, lane: Lane, day: date, before: Held | None) -> Held:
    state = site.folded(day).lanes.get((subject.id, lane.id)) or LaneState(subject.id, lane.id)
    was = before or Held(lane, None, None, new_current=False, new_rollback=False)
    return Held(
        lane,
        state.current,
        state.rollback,
        new_current=state.current != was.current,
        new_rollback=state.rollback != was.rollback,
    )


def show(view: View, value: object, finding: Finding | None = None) -> Markup | str:
    """Any field for a reader: nothing where it is absent, `unknown: why` where it is not known."""
    return Writer(view, finding).value(value) or ""


def in_short(view: View, recipe: Recipe) -> list[str]:
    """The settings by which a recipe is told from another: context, requests at once, cache format, speculation."""
    context, at_once = recipe.context_tokens, recipe.concurrency
    method = getattr(recipe.speculation, "method", None)
    depth = getattr(recipe.speculation, "depth", None)
    found = [
        f"{display(context)} tokens" if isinstance(context, int) else "",
        f"C{at_once}" if isinstance(at_once, int) else "",
        f"KV {recipe.kv_dtype}" if isinstance(recipe.kv_dtype, str) else "",
        f"speculation: {method}{f' {depth}' if isinstance(depth, str) else ''}" if isinstance(method, str) else "",
        view.site.titles.get(("hardware", str(recipe.hardware)), ""),
    ]
    return [text for text in found if text]


def cited(view: View, decision: Decision, finding: Finding) -> Iterator[Cited]:
    """What a decision names as its evidence, figures with their values."""
    for target in decision.evidence:
        try:
            item, _ = view.find(target, finding)
        except RenderError:
            title = view.site.titles.get(("findings", target), target)
            yield Cited(title, "", view.href("findings", target))
            continue
        value = shown(item, "", view.site.catalog.finding) or ""
        href = view.href("findings", item.finding.id, item.id)
        match item.part:
            case Population() | Measurement() | Comparison():
                yield Cited(label(view, item), value, href)
            case Gate():
                yield Cited(label(view, item), view.judged(item.part, item.finding).verdict, href)
            case _:
                yield Cited(label(view, item), getattr(item.part, "value", None) or "", href)


def label(view: View, item: Item) -> Markup | str:
    """What an item is called: its title, its metric and statistic, its words, or its id."""
    part = item.part
    if title := getattr(part, "title", None):
        return str(title)
    if isinstance(part, Measurement):
        metric = view.site.catalog.metric(part.metric)
        name = metric.name if metric is not None else part.metric
        return name if part.statistic is Statistic.UNSTATED else f"{name}, {part.statistic}"
    if what := getattr(part, "what", None):
        return view.inline(str(what), item.finding)
    return str(getattr(part, "about", None) or item.id)
