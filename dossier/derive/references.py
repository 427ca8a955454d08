"""References in prose: `[[target]]` and `[[target|words]]`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_REFERENCE = re.compile(r"\[\[([^\[\]|\n]{1,300})(?:\|([^\[\]\n]{1,300}))?\]\]")


@dataclass(frozen=True, slots=True)
class Reference:
    """`[[item]]`, `[[finding-id#item]]`, `[[recipes/id]]`, `[[recipes/id#field]]`, each with `|words` or without."""

    text: str
    folder: str
    record: str
    item: str
    words: str

    @property
    def is_local(self) -> bool:
        """Does it point into the record it stands in?"""
        return not self.record


def parse_reference(text: str, words: str = "") -> Reference:
    """Split a reference's target; whether it resolves is another question."""
    place, hash_, item = text.strip().partition("#")
    folder, slash, record = place.partition("/")
    if slash:
        return Reference(text, folder, record, item, words)
    if hash_:
        return Reference(text, "findings", place, item, words)
    return Reference(text, "", "", place, words)


def references(text: str) -> Iterator[tuple[re.Match[str], Reference]]:
    """Every reference in a text, with its match."""
    for match in _REFERENCE.finditer(text):
        yield match, parse_reference(match[1], match[2] or "")
