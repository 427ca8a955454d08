"""References in prose: `[[target]]` and `[[target|words]]`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

REFERENCE = re.compile(r"\[\[([^\[\]|\n]{0,300})(?:\|([^\[\]\n]{0,300}))?\]\]")
_CODE = re.compile(r"^(```+|~~~+).*?(?:^\1|\Z)|(?<!`)(`+)(?!`).+?(?<!`)\2(?!`)", re.MULTILINE | re.DOTALL)
_DATED = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}-")


class Reference(NamedTuple):
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


def parse_evidence(text: str) -> Reference:
    """Split what a decision cites: a finding's id alone, which begins with its date, names the whole finding."""
    found = parse_reference(text)
    return Reference(text, "findings", text.strip(), "", "") if found.is_local and _DATED.match(found.item) else found


def references(text: str) -> Iterator[tuple[re.Match[str], Reference]]:
    """Every reference in a text outside Markdown code, with its match."""
    if "[[" not in text:
        return
    if "`" in text or "~~~" in text:
        text = _CODE.sub(lambda code: " " * len(code[0]), text)
    for match in REFERENCE.finditer(text):
        yield match, parse_reference(match[1], match[2] or "")
