"""Fields of records as markup: every field is shown by what its annotation says it means.

A page lists its fields from the model itself, so a field that a record gains is on its page at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache, cached_property
from typing import Any, get_args

from markupsafe import Markup, escape

from dossier.derive.format import NBSP, file_size, number
from dossier.derive.gates import Judged
from dossier.derive.items import Compared, Item, display, resolve
from dossier.derive.references import references
from dossier.derive.walk import mark_of
from dossier.model.base import Part, Quantity, Range, Unknown
from dossier.model.finding import Finding
from dossier.model.gate import Requirement
from dossier.model.measurement import Delta
from dossier.model.vocabulary import Word
from dossier.model.workload import Population
from dossier.pages.context import View
from dossier.pages.markup import figure, html, joined, moment, pin, quiet

Pairs = list[tuple[str, Markup]]

_PIN = re.compile(r"[0-9a-f]{40}|(?:sha256:)?[0-9a-f]{64}")
_CODE = frozenset({"path", "pointer", "repo", "served_name", "aliases", "upstream", "flags", "media_type", "labels"})
_RECORDS = frozenset({"models", "identities", "hardware", "recipes", "findings"})
_KINDS = {"prose": "wide", "formula": "mid", "item": "mid", "evidence": "mid", "recipes": "mid", "hardware": "mid"}
_SPELLED = {"os": "OS", "cpu": "CPU", "cuda": "CUDA", "kv": "KV", "sha256": "SHA-256", "url": "address"}
_ALIKE = (str, int, bool)
_LOCAL = frozenset({"prose", "formula", "item", "evidence"})
"""What a text of these means depends on the finding in which it stands."""
_DOT = ' <span class="dx-quiet" aria-hidden="true">·</span> '


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """One field of a record part: its name, its label on a page, how a column of it is set, what its text means.

    There is one object a field (`fields_of`).
    """

    name: str
    label: str
    kind: str
    target: str


@cache
def fields_of(kind: type[Part]) -> dict[str, Field]:
    """The fields of a part in the model's order, by name."""
    found = {}
    for name, info in kind.model_fields.items():
        mark = mark_of(info)
        target = mark.target if mark is not None else ""
        kind_ = _KINDS.get(target, "num" if _counts(info.annotation) else "")
        found[name] = Field(name, _label(info.alias or name), kind_, target)
    return found


def _label(name: str) -> str:
    words = " ".join(_SPELLED.get(word, word) for word in name.split("_"))
    return words if name == "n" else words[0].upper() + words[1:]


def _counts(annotation: Any) -> bool:
    if isinstance(annotation, type):
        return annotation in {int, Decimal, Quantity, Range}
    return any(_counts(inner) for inner in get_args(annotation))


@cache
def rest(kind: type[Part], *told: str) -> tuple[str, ...]:
    """The fields that are not told elsewhere, in the model's order."""
    return tuple(name for name in fields_of(kind) if name not in told)


class Writer:
    """Writes the values of records as markup, as seen from one page and, for local names, from one finding."""

    def __init__(self, view: View, finding: Finding | None = None) -> None:
        self.view = view
        self.finding = finding

    @property
    def parts(self) -> Any:
        """The macros of components.html.j2."""
        return self.view.site.parts

    @cached_property
    def compared(self) -> dict[str, Compared]:
        """Each comparison of the finding with both sides and the computed difference, by id."""
        here = self.finding
        return {c.id: self.view.compared(c, here) for c in here.comparisons} if here is not None else {}

    @cached_property
    def judged(self) -> dict[str, Judged]:
        """The verdict of each gate of the finding before any waiver, by id."""
        here = self.finding
        return {g.id: self.view.judged(g, here) for g in here.gates} if here is not None else {}

    def facts(self, part: Part, names: Iterable[str] = (), *, but: Iterable[str] = ()) -> Pairs:
        """(label, value) of each named field that has a value; of every field where none is named."""
        plan = fields_of(type(part))
        left_out = frozenset(but)
        chosen = [plan[name] for name in names or plan if name not in left_out]
        found = ((field.label, self.field(part, field)) for field in chosen)
        return [(label, value) for label, value in found if value is not None]

    def field(self, part: Part, field: Field) -> Markup | None:
        """One field, shown by what it means."""
        return self.value(getattr(part, field.name), field)

    def value(self, value: object, field: Field | None = None) -> Markup | None:
        """Any value; None where there is none."""
        if value is None or (not value and isinstance(value, str | tuple | dict)):
            return None
        if isinstance(value, Markup):
            return value
        if type(value) in _ALIKE and (field is None or field.target not in _LOCAL):
            return self.view.once(self._shown, value, field)
        return self._shown(value, field)

    def _shown(self, value: object, field: Field | None) -> Markup:
        if isinstance(value, str):
            return self.word(value) if isinstance(value, Word) else self._text(value, field)
        return self._single(value, field) or self._compound(value, field)

    def _single(self, value: object, field: Field | None) -> Markup | None:
        match value:
            case Unknown():
                return self.unknown(value)
            case bool() | int() | Decimal() | Quantity() | Range() | Delta() | Requirement():
                return _bytes(value) if field is not None and field.name == "bytes" else figure(display(value))
            case date():
                return moment(value)
        return None

    def _compound(self, value: object, field: Field | None) -> Markup:
        match value:
            case tuple():
                inner = [made for each in value if (made := self.value(each, field)) is not None]
                blocks = isinstance(value[0], Part) or (field is not None and field.target == "prose")
                return _bullets(inner) if blocks else joined(_DOT, inner)
            case dict():
                return _bullets([html("<code>%s</code>: %s", k, self.value(v, field)) for k, v in value.items()])
            case Part():
                return self._nested(value)
        return escape(str(value))

    def _nested(self, part: Part) -> Markup:
        made = []
        for field in fields_of(type(part)).values():
            value = getattr(part, field.name)
            short = isinstance(value, str) and field.target == "prose"
            shown = self.view.inline(value, self.finding) if short else self.value(value, field)
            if shown is not None:
                named = field.name in {"what", "method"}
                made.append(shown if named else html("%s %s", quiet(field.label.lower()), shown))
        return joined(_DOT, made)

    def _text(self, text: str, field: Field | None) -> Markup:
        target = field.target if field is not None else ""
        if target in _RECORDS:
            return self.view.link(target, text)
        if target in _TARGETS:
            return _TARGETS[target](self, text)
        if _PIN.fullmatch(text):
            return self.pin(text)
        if field is not None and field.name == "url" and text.lower().startswith("https://"):
            return html('<a href="%s" rel="noopener">%s</a>', text, text)
        if field is not None and field.name in _CODE:
            return html("<code>%s</code>", text)
        return escape(str(text))

    def unknown(self, value: Unknown) -> Markup:
        """`unknown: why`."""
        return self.view.unknown(self.view.inline(value.unknown, self.finding))

    def word(self, word: Word) -> Markup:
        """A word of a closed list, with its meaning."""
        return self.view.word(word)

    def pin(self, digits: str) -> Markup:
        """A digest or a revision, whole, to be copied."""
        return pin(digits, "git" if len(digits) == 40 else "sha256")

    def prose(self, text: str) -> Markup:
        """Markdown blocks."""
        return self.view.prose(text, self.finding)

    def metric(self, id_: str) -> Markup:
        """The name of a metric, linked to its definition."""
        return self.view.once(self._metric, id_, "metric")

    def _metric(self, id_: str, _: str) -> Markup:
        metric = self.view.site.catalog.metric(id_)
        name = metric.name if metric is not None else id_
        return html('<a href="%s">%s</a>', self.view.href("metrics", id_), name)

    def arm(self, name: str) -> Markup:
        """The name of an arm of the finding, linked to its row."""
        return html('<a href="#arm-%s">%s</a>', name, name)

    def item(self, target: str, words: str = "") -> Markup:
        """An item of this or of another finding, by its title or other words, linked to its row."""
        found = self.find(target)
        if found is None:
            return escape(target)
        href = self.view.href("findings", found.finding.id, found.id)
        return html('<a href="%s">%s</a>', href, words or label_of(found))

    def find(self, target: str) -> Item | None:
        """The item that a target names."""
        here = self.finding
        return resolve(target, here, self.view.site.catalog.finding) if here is not None else None

    def evidence(self, target: str) -> Markup:
        """A finding, or an item."""
        if self.view.record("findings", target) is not None:
            return self.view.link("findings", target)
        return self.item(target)

    def formula(self, text: str) -> Markup:
        """Arithmetic with its operands shown and linked."""
        made, start = [], 0
        for match, _ in references(text):
            made += [escape(text[start : match.start()]), self.view.reference(match[0][2:-2], self.finding)]
            start = match.end()
        return joined("", [*made, escape(text[start:])])


_TARGETS: dict[str, Callable[[Writer, str], Markup]] = {
    "prose": Writer.prose,
    "formula": Writer.formula,
    "metric": Writer.metric,
    "arm": Writer.arm,
    "item": Writer.item,
    "evidence": Writer.evidence,
}


def label_of(item: Item) -> str:
    """How an item is called where it is linked; equal titles are told apart by their cell."""
    part = item.part
    title = str(getattr(part, "title", None) or getattr(part, "about", None) or item.id)
    cell = part.target if isinstance(part, Population) else None
    return f"{title}, {cell}" if cell and cell not in title else title


def _bytes(count: object) -> Markup:
    if not isinstance(count, int):
        return figure(display(count))
    exact = f"{number(count)}{NBSP}bytes"
    return figure(exact if count < 1024 else f"{file_size(count)} ({exact})")


def _bullets(inner: Sequence[Markup]) -> Markup:
    return html("<ul>%s</ul>", joined("", [html("<li>%s</li>", each) for each in inner]))
