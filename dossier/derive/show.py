"""The one way in which each item of a finding is shown where a text refers to it."""

from __future__ import annotations

import re
from collections.abc import Callable

from dossier.derive.gates import judge
from dossier.derive.items import Find, Item, compared, difference_text, display, field_of, fraction, look_up
from dossier.derive.references import Reference, references
from dossier.model.base import Part
from dossier.model.finding import Finding
from dossier.model.gate import Gate
from dossier.model.measurement import Comparison, Measurement
from dossier.model.workload import Population


def shown(item: Item, field: str, find: Find) -> str | None:
    """What a reference to the item, or to one field of it, shows; None where there is no such field."""
    if field:
        value = field_of(item.part, field)
        return None if value is None else display(value)
    return _SHOW[item.kind](item, find) if item.kind in _SHOW else _words(item.part)


def _words(part: Part) -> str:
    for name in ("title", "value", "what", "about"):
        if text := getattr(part, name, None):
            return str(text)
    return str(getattr(part, "id", ""))


def _show_measurement(item: Item, _: Find) -> str:
    assert isinstance(item.part, Measurement)  # noqa: S101  (the table below pairs kinds and types)
    about = "≈ " if item.part.approximate else ""
    return about + display(item.part.value)


def _show_population(item: Item, _: Find) -> str:
    assert isinstance(item.part, Population)  # noqa: S101
    return fraction(item.part)


def _show_comparison(item: Item, find: Find) -> str:
    assert isinstance(item.part, Comparison)  # noqa: S101
    return difference_text(item.part, compared(item.part, item.finding, find))


def _show_gate(item: Item, find: Find) -> str:
    assert isinstance(item.part, Gate)  # noqa: S101
    return judge(item.part, item.finding, find).verdict.replace("-", " ")


_SHOW: dict[str, Callable[[Item, Find], str]] = {
    "measurement": _show_measurement,
    "population": _show_population,
    "comparison": _show_comparison,
    "gate": _show_gate,
}


def in_words(text: str, here: Finding | None, find: Find) -> str:
    """Prose for a terminal: each reference as what it shows, a record as its words or its id."""

    def replaced(match: re.Match[str], reference: Reference) -> str:
        found = look_up(reference.text, here, find)
        words = shown(*found, find) if found is not None else None
        return reference.words or words or reference.record or match[0]

    for match, reference in references(text):
        text = text.replace(match[0], replaced(match, reference))
    return text
