"""Long texts of our own with facts hidden in them: plain sentences from a seed, never the same twice.

A fact has one form, `The <attribute> of <name> is <value>.`, and no sentence of the filler has it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


def _listed(text: str, by: str | None = None) -> list[str]:
    return text.split(by)


_WHO = _listed(
    "porter miller gardener captain clerk baker doctor farmer painter teacher sailor tailor judge driver cook "
    "singer guard writer weaver smith"
)
_HOW = _listed("quiet old young tired clever careful cheerful lonely patient busy proud gentle")
_DID = _listed("carried moved counted painted mended washed sold lifted folded stored hid borrowed")
_MANY = _listed("two three four five six seven eight nine ten twelve twenty thirty")
_WHAT = _listed("lamps boxes letters chairs ropes books barrels coats maps bells nets jars ladders baskets keys clocks")
_WHERE = _listed(
    "past the mill;behind the harbour;near the bridge;under the tower;across the square;beside the river;"
    "into the cellar;through the garden;along the wall;outside the school",
    ";",
)
_WHEN = _listed("before noon;after lunch;at dawn;during the storm;late that evening;on market day;in early spring", ";")
_FIRST = _listed("Amber Silent Copper Hollow Northern Crimson Velvet Frozen Marble Distant Golden Broken")
_SECOND = _listed("Falcon Harbour Lantern Orchard Beacon Meadow Anchor Glacier Compass Willow Summit Raven")


@dataclass(frozen=True, slots=True)
class Fact:
    """One sentence to be found, at a depth from 0 (the beginning) to 1 (the end)."""

    attribute: str
    name: str
    value: str
    depth: float

    def __str__(self) -> str:
        return f"The {self.attribute} of {self.name} is {self.value}."


def names(draw: random.Random, count: int) -> list[str]:
    """So many different names; at most 144."""
    return draw.sample([f"{first} {second}" for first in _FIRST for second in _SECOND], count)


def code(draw: random.Random) -> str:
    """A value that no guess hits: eight digits with a dash."""
    return f"{draw.randrange(1000, 10_000)}-{draw.randrange(1000, 10_000)}"


def haystack(seed: str, words: int, facts: Sequence[Fact] = ()) -> str:
    """Sentences of at least so many words together, with the facts between them at their depths."""
    filler = list(_sentences(random.Random(seed), words))  # noqa: S311 - text, not a secret
    for fact in sorted(facts, key=lambda fact: fact.depth, reverse=True):
        filler.insert(round(fact.depth * len(filler)), str(fact))
    return " ".join(filler)


def _sentences(draw: random.Random, words: int) -> Iterator[str]:
    while words > 0:
        who, many, what = draw.choice(_WHO), draw.choice(_MANY), draw.choice(_WHAT)
        sentence = f"A {draw.choice(_HOW)} {who} {draw.choice(_DID)} {many} {what} {draw.choice(_WHERE)}"
        sentence += f" {draw.choice(_WHEN)}." if draw.random() < 0.6 else "."
        words -= sentence.count(" ") + 1
        yield sentence
