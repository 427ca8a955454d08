"""Small pieces of HTML made in Python, where a page holds so many of them that a template would be slow."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from functools import lru_cache
from html import escape

from markupsafe import Markup

from dossier.derive.format import when

# The same ids, words and figures come again and again, in one finding and in the next.
escaped = lru_cache(maxsize=4096)(escape)
# Markup's own constructor asks every text whether it knows its HTML.
_as = str.__new__


def html(template: str, *values: object) -> Markup:
    """Markup from a literal template with `%s` and values, which are escaped unless they are markup already."""
    return _as(Markup, template % tuple([v if type(v) is Markup else escaped(str(v)) for v in values]))


def safe(value: object) -> str:
    """Any value as HTML, for f-strings that are all ours but for such values."""
    return value if type(value) is Markup else escaped(str(value))


def markup(finished: str) -> Markup:
    """Text that is HTML already."""
    return _as(Markup, finished)


def joined(between: str, pieces: Iterable[str]) -> Markup:
    """Pieces of HTML in one, with literal HTML between them."""
    return _as(Markup, between.join(pieces))


def figure(text: str) -> Markup:
    """A formatted figure that does not break over lines."""
    return _as(Markup, f'<span class="dx-fig">{safe(text)}</span>')


def quiet(text: str) -> Markup:
    """Words of less weight."""
    return _as(Markup, f'<span class="dx-quiet">{safe(text)}</span>')


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
    id_ = safe(item_id)
    return _as(Markup, f'<a class="dx-quiet dx-unit" href="#i-{id_}">{id_}</a>')
