"""Small pieces of HTML made in Python, where a page holds so many of them that a template would be slow."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from html import escape as escaped

from markupsafe import Markup

from dossier.derive.format import when


def html(template: str, *values: object) -> Markup:
    """Markup from a literal template with `%s` and values, which are escaped unless they are markup already."""
    made = template % tuple([str.__str__(v) if isinstance(v, Markup) else escaped(str(v)) for v in values])
    return str.__new__(Markup, made)


def safe(value: object) -> str:
    """Any value as HTML, for f-strings that are all ours but for such values."""
    # `str.__str__` takes the text out of a Markup, whose own methods escape whatever they touch, slowly.
    return str.__str__(value) if isinstance(value, Markup) else escaped(str(value))


def joined(between: str, pieces: Iterable[str]) -> Markup:
    """Pieces of HTML in one, with literal HTML between them."""
    return Markup(between.join(pieces))  # noqa: S704  (all of it is HTML already)


def figure(text: str) -> Markup:
    """A formatted figure that does not break over lines."""
    return html('<span class="dx-fig">%s</span>', text)


def quiet(text: str) -> Markup:
    """Words of less weight."""
    return html('<span class="dx-quiet">%s</span>', text)


def moment(value: date | datetime) -> Markup:
    """A day, or a UTC time."""
    return html('<time class="dx-date" datetime="%s">%s</time>', value.isoformat(), when(value))


def pin(digest: str, algorithm: str = "sha256") -> Markup:
    """A digest or a revision, whole, to be copied."""
    digits = digest.removeprefix("sha256:")
    return html(
        '<span class="dx-digest dx-digest-full"><span class="dx-unit">%s</span> <code>%s</code>'
        '<button class="dx-copy" type="button" data-copy="%s" aria-label="Copy %s %s" hidden></button></span>',
        algorithm, digits, digits, algorithm, digits[:12],
    )  # fmt: skip


def permalink(item_id: str) -> Markup:
    """The id of an item, linked to its own row."""
    return html('<a class="dx-quiet dx-unit" href="#i-%s">%s</a>', item_id, item_id)
