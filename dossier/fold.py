"""The decision fold: events in date order make the one state of every lane, at any date.

A lane has one current recipe at most and one immediate rollback at most. Promotion displaces: the displaced recipe
becomes former, and the rollback is the one that the promotion names; where it names none there is none until one
is designated. Every other role is what the last event about that recipe made it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date, datetime

from dossier.errors import Severity
from dossier.model.decision import Decision
from dossier.model.vocabulary import Outcome, Provenance, Role

LaneKey = tuple[str, str]
"""(model id, lane id)"""


@dataclass(frozen=True, slots=True)
class Event:
    """One decision for one lane, with the finding that holds it."""

    model: str
    lane: str
    day: date
    finding: str
    index: int
    provenance: Provenance
    decision: Decision


@dataclass(frozen=True, slots=True)
class Standing:
    """The role of one recipe in one lane, since which event."""

    role: Role
    since: date
    finding: str
    decision: str
    until: date | None = None
    successor: str | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """An event that the fold cannot follow as it stands."""

    finding: str
    index: int
    rule: str
    message: str
    severity: Severity = Severity.ERROR


@dataclass(slots=True)
class LaneState:
    """What holds in one lane after the events so far. `standings` is keyed by recipe id or subject text."""

    model: str
    lane: str
    current: str | None = None
    rollback: str | None = None
    promoted: Event | None = None
    confirmed: Event | None = None
    rolled: Event | None = None
    standings: dict[str, Standing] = field(default_factory=dict)
    log: list[Event] = field(default_factory=list, repr=False)
    seen: int = 0

    @property
    def events(self) -> list[Event]:
        """The events that made this state, in order."""
        return self.log[: self.seen]

    def role(self, recipe: str) -> Role | None:
        """The recipe's one role here, or None where no event named it."""
        standing = self.standings.get(recipe)
        return standing.role if standing else None


@dataclass(slots=True)
class Folded:
    """All lanes, and what could not be followed."""

    lanes: dict[LaneKey, LaneState]
    faults: list[Fault]


def day_of(moment: date | datetime) -> date:
    """The UTC day of a day or a time."""
    return moment.date() if isinstance(moment, datetime) else moment


class History:
    """Every state that each lane went through, from one pass over the events.

    Asking for many dates then costs a search each, not a fold each.
    """

    def __init__(self, events: Iterable[Event]) -> None:
        self.faults: list[Fault] = []
        self._states: dict[LaneKey, list[LaneState]] = {}
        self._days: dict[LaneKey, list[date]] = {}
        for event in events:
            key = (event.model, event.lane)
            states = self._states.setdefault(key, [])
            state = replace(states[-1], standings=dict(states[-1].standings)) if states else LaneState(*key)
            self.faults.extend(_apply(state, event))
            # All states of a lane share one list; each knows how much of it was there.
            state.seen += 1
            state.log.append(event)
            states.append(state)
            self._days.setdefault(key, []).append(event.day)

    def at(self, until: date | None = None) -> Folded:
        """All lanes at the end of a day, or after every event. The faults are those of all events."""
        found = {}
        for key, states in self._states.items():
            count = len(states) if until is None else bisect_right(self._days[key], until)
            if count:
                found[key] = states[count - 1]
        return Folded(found, self.faults)


_LABELS = {
    Outcome.NO_PROMOTION: Role.NO_PROMOTION,
    Outcome.REJECT: Role.REJECTED,
    Outcome.DESIGNATE_FALLBACK: Role.FALLBACK,
    Outcome.DESIGNATE_ALTERNATE: Role.ALTERNATE,
    Outcome.DESIGNATE_CHALLENGER: Role.CHALLENGER,
    Outcome.DESIGNATE_CONTROL: Role.CONTROL,
    Outcome.WATCH_ONLY: Role.WATCH_ONLY,
    Outcome.WITHDRAW: Role.WITHDRAWN,
}
_NO_WAY_BACK = {Role.REJECTED, Role.WITHDRAWN}
_ENDS_ROLLBACK = {Outcome.REJECT, Outcome.WITHDRAW, Outcome.WATCH_ONLY, Outcome.NO_PROMOTION}


def _apply(state: LaneState, event: Event) -> Iterator[Fault]:
    decision = event.decision
    name = decision.recipe or decision.subject or ""
    match decision.outcome:
        case Outcome.PROMOTE:
            yield from _approval(event)
            yield from _promote(state, event, name)
        case Outcome.DESIGNATE_ROLLBACK:
            yield from _roll(state, event, name)
        case Outcome.RETAIN_BASELINE:
            yield from _retain(state, event, name)
        case _:
            yield from _label(state, event, name)


def _promote(state: LaneState, event: Event, name: str) -> Iterator[Fault]:
    if state.current is not None and state.current != name:
        _end(state, state.current, Role.FORMER, event, name)
    if state.rollback is not None and state.rollback != event.decision.rollback:
        _end(state, state.rollback, Role.FORMER_ROLLBACK, event, name)
    state.current, state.rollback, state.rolled = name, None, None
    state.promoted = state.confirmed = event
    _stand(state, name, Role.CURRENT, event)
    if event.decision.rollback is not None:
        yield from _roll(state, event, event.decision.rollback)


def _roll(state: LaneState, event: Event, name: str) -> Iterator[Fault]:
    if name == state.current:
        yield _fault(
            event,
            "decisions/rollback",
            f"{name} is current in lane {state.lane}; it cannot be its own rollback",
        )
        return
    if state.role(name) in _NO_WAY_BACK:
        told = f"{name} is {state.role(name)} in lane {state.lane} on {event.day}; name a recipe that may be used"
        yield _fault(event, "decisions/rollback", told, lenient=True)
    if state.rollback is not None and state.rollback != name:
        _end(state, state.rollback, Role.FORMER_ROLLBACK, event, name)
    state.rollback, state.rolled = name, event
    _stand(state, name, Role.ROLLBACK, event)


def _retain(state: LaneState, event: Event, name: str) -> Iterator[Fault]:
    if name == state.current:
        state.confirmed = event
        return
    holds = f"{state.current} is" if state.current else "nothing is"
    how = "retain that one, or promote this one" if state.current else "a finding that promotes it has to come first"
    message = f"retains {name}, but {holds} current in lane {state.lane} on {event.day}; {how}"
    yield _fault(event, "decisions/baseline", message, lenient=True)


def _label(state: LaneState, event: Event, name: str) -> Iterator[Fault]:
    outcome = event.decision.outcome
    if name == state.current:
        if outcome is not Outcome.WITHDRAW:
            told = f"{name} is current in lane {state.lane} on {event.day}; promote another first, or withdraw it"
            yield _fault(event, "decisions/current", f"{outcome}: {told}")
            return
        state.current = state.promoted = state.confirmed = None
    if name == state.rollback and outcome in _ENDS_ROLLBACK:
        state.rollback = state.rolled = None
    if name != state.rollback:
        _stand(state, name, _LABELS[outcome], event)


def _approval(event: Event) -> Iterator[Fault]:
    approval = event.decision.human_approval
    if approval is True:
        return
    if approval is False or approval is None:
        told = "a promotion needs a human: write human_approval: true and by whom"
        yield _fault(event, "decisions/approval", told)
        return
    told = f"human approval of this promotion is not known: {approval.unknown}"
    yield _fault(event, "decisions/approval", told, lenient=True)


def _stand(state: LaneState, name: str, role: Role, event: Event) -> None:
    state.standings[name] = Standing(role, event.day, event.finding, event.decision.id)


def _end(state: LaneState, name: str, role: Role, event: Event, successor: str) -> None:
    before = state.standings[name]
    state.standings[name] = Standing(role, before.since, before.finding, before.decision, event.day, successor)


def _fault(event: Event, rule: str, message: str, *, lenient: bool = False) -> Fault:
    """A fault; what a transcribed source leaves open is a warning, in evidence of our own it is an error."""
    soft = lenient and event.provenance is Provenance.TRANSCRIBED
    return Fault(event.finding, event.index, rule, message, Severity.WARNING if soft else Severity.ERROR)
