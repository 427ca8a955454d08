"""Where a run stands, read from its journal: what is finished, what was lost in flight, what was found before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from dossier.errors import UsageError
from dossier.runner.journal import Entry
from dossier.runner.plan import CANDIDATE, Plan

SCHEMA = "dossier/journal/v1"
MEASURED = "measured"
WARMUP = "warmup"

Key = tuple[str, str, int]
"""Population, phase, index."""


@dataclass(slots=True)
class State:
    """A fold over the entries. `sent` are requests without a sample: lost in flight, to be sent again.

    `identities` holds the first of each arm, `serving` the servers that the run has started and not stopped, `blocks`
    those that are over.
    """

    plan: Mapping[str, Any] = field(default_factory=dict)
    run: str = ""
    sessions: int = 0
    sampled: dict[Key, Entry] = field(default_factory=dict)
    sent: set[Key] = field(default_factory=set)
    sizes: dict[str, Entry] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)
    calibrated: set[int] = field(default_factory=set)
    identities: dict[str, Entry] = field(default_factory=dict)
    serving: dict[str, Entry] = field(default_factory=dict)
    blocks: set[int] = field(default_factory=set)
    void: set[int] = field(default_factory=set)
    repeats: dict[str, str] = field(default_factory=dict)
    ended: bool = False

    def take(self, entry: Entry) -> None:
        """Fold one entry in."""
        match entry["event"]:
            case "plan":
                self.plan, self.run = entry["plan"], entry["run"]
            case "session":
                self.sessions += 1
            case "sent" | "sample":
                self._request(entry)
            case "calibration":
                self.calibrated.add(entry["streams"])
            case "identity" if entry["phase"] == "before":
                self.identities.setdefault(entry.get("arm", CANDIDATE), entry)
            case "server-started" | "server-stopped" | "block-end" | "void":
                self._block(entry)
            case "end":
                self.ended = True
            case "sizing" | "done" | "repeat":
                self._population(entry)
            case _:
                pass

    def _request(self, entry: Entry) -> None:
        key = key_of(entry)
        if entry["event"] == "sent":
            self.sent.add(key)
        else:
            self.sampled[key] = entry
            self.sent.discard(key)

    def _block(self, entry: Entry) -> None:
        match entry["event"]:
            case "server-started":
                self.serving[entry["arm"]] = entry
            case "server-stopped":
                self.serving.pop(entry["arm"], None)
            case "void":
                self.void.add(entry.get("block", 1))
            case _:
                self.blocks.add(entry["block"])

    def _population(self, entry: Entry) -> None:
        match entry["event"]:
            case "sizing":
                self.sizes[entry["population"]] = entry
            case "done":
                self.done.add(entry["population"])
            case _:
                self.repeats[entry["population"]] = entry["of"]

    def missing(self, population: str, phase: str, requests: int) -> list[int]:
        """The indices that have no sample yet."""
        return [index for index in range(requests) if (population, phase, index) not in self.sampled]


def state_of(entries: Iterable[Entry]) -> State:
    """Fold a journal's entries."""
    state = State()
    for entry in entries:
        state.take(entry)
    return state


def key_of(entry: Entry) -> Key:
    """Which request an entry is about."""
    return entry["population"], entry["phase"], entry["index"]


def require_same_plan(state: State, plan: Plan) -> None:
    """A journal goes on under the plan that it began with. Raises UsageError."""
    if state.plan != plan.public:
        raise UsageError("the journal was begun under another plan; a changed plan is another run: name a new journal")
    if state.ended:
        raise UsageError("the run of this journal has ended; `dossier record` makes the finding of it")


def stamp(moment: datetime) -> str:
    """A UTC time to the millisecond."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
