"""Put tool-call pieces together, from servers that leave out index or id, or use them wrongly."""

from __future__ import annotations

from dataclasses import dataclass, field

from dossier.wire.events import ToolDelta


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One whole tool call; `arguments` is the text as sent, valid JSON or not."""

    id: str | None
    name: str | None
    arguments: str


@dataclass(slots=True)
class _Slot:
    index: int | None
    id: str | None
    name: str | None = None
    arguments: list[str] = field(default_factory=list)


@dataclass(slots=True)
class ToolJoin:
    """Joins by index, else by id, else by position; what deviates from the OpenAI form is kept by name.

    `first_index` is the index that the first call must have (None: any, as in the responses protocol).
    """

    first_index: int | None = 0
    deviations: set[str] = field(default_factory=set)
    _slots: list[_Slot] = field(default_factory=list)

    def add(self, delta: ToolDelta) -> None:
        """Take one piece."""
        self._note(delta)
        slot = self._find(delta)
        if slot is None:
            slot = _Slot(delta.index, delta.id)
            self._slots.append(slot)
        slot.id = slot.id or delta.id
        slot.name = slot.name or delta.name
        slot.arguments.append(delta.arguments)

    def calls(self) -> tuple[ToolCall, ...]:
        """The calls so far, in order of appearance."""
        return tuple(ToolCall(slot.id, slot.name, "".join(slot.arguments)) for slot in self._slots)

    def all_deviations(self) -> set[str]:
        """What deviated, with what only the end can tell: a call that never had an id."""
        unnamed = {"tool-id-missing"} if any(slot.id is None for slot in self._slots) else set()
        return self.deviations | unnamed

    def _note(self, delta: ToolDelta) -> None:
        if delta.index is None:
            self.deviations.add("tool-index-missing")
        elif not self._slots and self.first_index is not None and delta.index != self.first_index:
            self.deviations.add("tool-index-base")

    def _find(self, delta: ToolDelta) -> _Slot | None:
        if delta.index is not None:
            return self._by_index(delta)
        if delta.id is not None:
            return next((slot for slot in self._slots if slot.id == delta.id), None)
        last = self._slots[-1] if self._slots else None
        starts_another = last is not None and delta.name is not None and last.name is not None
        return None if starts_another else last

    def _by_index(self, delta: ToolDelta) -> _Slot | None:
        same = [slot for slot in self._slots if slot.index == delta.index]
        if not same:
            return None
        if delta.id is None or delta.id == same[-1].id or same[-1].id is None:
            return same[-1]
        self.deviations.add("tool-index-reused")
        return next((slot for slot in same if slot.id == delta.id), None)
