"""Items: the parts of a finding that other texts refer to, each with the one way in which it is shown.

`[[strict-turnover]]` shows what the item of that id says; `[[strict-turnover.planned]]` one of its fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import NamedTuple

from dossier.derive.deltas import Difference, in_unit, like
from dossier.derive.format import number, quantity, span, when, with_unit
from dossier.derive.references import parse_reference
from dossier.model.base import Part, Quantity, Range, Record, Unknown
from dossier.model.finding import PART_LISTS, Finding
from dossier.model.gate import Requirement
from dossier.model.measurement import Comparison, Delta, Measurement
from dossier.model.metrics import METRICS, Metric
from dossier.model.workload import Population

Find = Callable[[str], Finding | None]
Metrics = Callable[[str], Metric | None]
Records = Callable[[str, str], Record | None]
"""Folder and id to a record."""


class Item(NamedTuple):
    """One part of one finding."""

    finding: Finding
    kind: str
    part: Part

    @property
    def id(self) -> str:
        """The id within its finding."""
        return str(getattr(self.part, "id", ""))


def items_of(finding: Finding) -> Iterator[tuple[tuple[str, int], Item]]:
    """Every item with its place in the file."""
    for name in PART_LISTS:
        for index, part in enumerate(getattr(finding, name)):
            yield (name, index), Item(finding, name.removesuffix("s"), part)


def find_item(finding: Finding, item_id: str) -> Item | None:
    """The item of that id."""
    found = finding.parts.get(item_id)
    return None if found is None else Item(finding, *found)


def resolve(target: str, here: Finding, find: Find) -> Item | None:
    """The item that `id` or `finding-id#id` names, seen from a finding."""
    finding_id, hash_, item_id = target.partition("#")
    if not hash_:
        return find_item(here, target)
    other = here if finding_id == here.id else find(finding_id)
    return find_item(other, item_id) if other is not None else None


def look_up(target: str, here: Finding | None, find: Find) -> tuple[Item, str] | None:
    """The item that a reference names, and the field after its last dot where the whole is no item's id."""
    place, _, item_id = target.strip().removeprefix("findings/").rpartition("#")
    finding = here if not place or (here is not None and here.id == place) else find(place)
    if finding is None:
        return None
    for name, field in ((item_id, ""), item_id.rpartition(".")[::2]):
        if (item := find_item(finding, name)) is not None:
            return item, field
    return None


def field_of(part: Part, name: str) -> object | None:
    """The value of one field by its name in the file; None where there is none, or it is no single value."""
    attribute = "class_" if name == "class" else name
    value = getattr(part, attribute) if attribute in type(part).model_fields else None
    return value if _is_plain(value) else None


def number_of(target: str, here: Finding | None, find: Find, record: Records) -> Decimal | None:
    """The bare number behind a reference, for arithmetic; None where it stands for none."""
    found = parse_reference(target)
    if found.record and found.folder != "findings":
        other = record(found.folder, found.record)
        value = field_of(other, found.item) if other is not None else None
    else:
        at = look_up(target, here, find)
        value = None if at is None else field_of(at[0].part, at[1] or "value")
    match value:
        case Quantity():
            return value.value
        case int() | Decimal() if not isinstance(value, bool):
            return Decimal(value)
    return None


def known(value: object) -> object | None:
    """The value, or None where it is absent or unknown."""
    return None if isinstance(value, Unknown) else value


def fraction(population: Population) -> str:
    """`58/60` passed of planned; `12/12` completed where nothing was graded; else what is known."""
    planned, passed, completed = (known(v) for v in (population.planned, population.passed, population.completed))
    top = passed if passed is not None else completed
    if top is None and planned is None:
        return "unknown"
    return f"{_count(top)}/{_count(planned)}"


def _count(value: object | None) -> str:
    return number(value) if isinstance(value, int) else "?"


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison with both sides resolved."""

    candidate: Item | None
    baseline: Item | None
    metric: Metric | None
    values: tuple[Quantity, Quantity] | None
    difference: Difference | None

    @property
    def computed(self) -> bool:
        """Does the difference follow from two values?"""
        return self.difference is not None


def compared(comparison: Comparison, here: Finding, find: Find, metrics: Metrics = METRICS.get) -> Compared:
    """Resolve both sides and compute the difference where both give a value."""
    sides = tuple(resolve(target, here, find) for target in (comparison.candidate, comparison.baseline))
    measured = [s.part for s in sides if s is not None and isinstance(s.part, Measurement)]
    metric_id = measured[0].metric if measured else comparison.metric
    metric = metrics(metric_id) if metric_id else None
    values = [m.value for m in measured if isinstance(m.value, Quantity)]
    if len(values) != 2:
        rates = [_rate(s.part) for s in sides if s is not None and isinstance(s.part, Population)]
        values = [r for r in rates if r is not None] if comparison.metric == "pass_rate" else []
    if len(values) != 2:
        return Compared(sides[0], sides[1], metric, None, None)
    unit = values[0].unit
    if comparison.stated is not None and in_unit(values[0], comparison.stated.unit, metric) is not None:
        unit = comparison.stated.unit
    candidate, baseline = (in_unit(value, unit, metric) for value in values)
    difference = None
    if candidate is not None and baseline is not None:
        difference = like(candidate, baseline, unit, comparison.stated)
    return Compared(sides[0], sides[1], metric, (values[0], values[1]), difference)


def _rate(population: Population) -> Quantity | None:
    passed, planned = known(population.passed), known(population.planned)
    if not isinstance(passed, int) or not isinstance(planned, int) or planned == 0:
        return None
    return Quantity(value=(Decimal(100 * passed) / planned).quantize(Decimal("0.01")), unit="%")


def difference_text(comparison: Comparison, result: Compared) -> str:
    """The computed difference; the stated one where no values are published."""
    if result.difference is not None:
        return result.difference.text
    if comparison.stated is not None:
        return stated_text(comparison)
    return "unknown"


def stated_text(comparison: Comparison) -> str:
    """The stated difference in the site's own notation."""
    delta = comparison.stated
    if delta is None:
        return ""
    sign = {"-": "−", "": ""}.get(delta.sign, delta.sign)
    return with_unit(f"{sign}{number(delta.size)}", delta.unit)


def display(value: object) -> str:
    """Any field as a reader sees it."""
    match value:
        case Quantity():
            text = quantity(value)
        case Range():
            text = span(value)
        case bool():
            text = "yes" if value else "no"
        case int() | Decimal():
            text = number(value)
        case Unknown():
            text = "unknown"
        case date():
            text = when(value)
        case _:
            text = str(value)
    return text


def _is_plain(value: object) -> bool:
    if isinstance(value, (Part, tuple, dict)):
        return isinstance(value, (Quantity, Range, Unknown, Requirement, Delta))
    return value is not None and not callable(value)
