"""Claims in words: what a sentence says of a figure that it refers to has to be what the figure shows.

Only sentences that refer to a comparison or a measurement are read, by `[[..]]`; the words are looked up in small
lists, so a sentence is judged by what it plainly says and not by what it may mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dossier.catalog import Catalog
from dossier.checks.claims import PERCENTILES, TIME_UNITS, population_of, severity_of
from dossier.checks.registry import Wrong, record_rule
from dossier.derive.intervals import rates_difference
from dossier.derive.items import Item, compared, known, look_up, resolve
from dossier.derive.latest import latest
from dossier.derive.paired import ratio, significance
from dossier.derive.references import references
from dossier.derive.walk import Place, prose
from dossier.errors import Severity
from dossier.model.finding import Finding
from dossier.model.measurement import Comparison, Measurement, Replicate
from dossier.model.vocabulary import Attribution, Load
from dossier.model.workload import Population

_END = re.compile(r"(?<=[.!?])\s+|\n\s*\n")
_NOT = re.compile(r"(?i)\b(?:no|not|never|neither|nor|none|cannot|without|descriptive(?:ly)?|whether)\b|n't\b")
_BETTER = re.compile(
    r"(?i)\b(?:faster|quicker|slower|better|worse|improve(?:s|d|ment)?|regress(?:es|ed|ion)?|outperform(?:s|ed)?"
    r"|speed[- ]?up|gains?|wins?)\b"
)
_EQUAL = re.compile(
    r"(?i)\b(?:equivalent|equivalence|indistinguishable|identical speed|same (?:speed|rate|latency)|on (?:a )?par"
    r"|as (?:fast|good) as|no (?:measurable |significant )?(?:difference|loss|cost|regression))\b"
)
_CAUSE = re.compile(
    r"(?i)\b(?:due to|because(?: of)?|caused by|causes?|owing to|thanks to|attribut(?:ed|able) to"
    r"|results? from|explained by|explains|responsible for)\b"
)
_START = re.compile(r"(?i)\bthis (?:one )?(?:server )?start\b")
_STARTS = 3
"""Starts of the server that a claim about a configuration takes on each side."""
_ALPHA = 0.05
_TAIL = re.compile(
    r"(?i)\b(?:service(?:'s)? tail|tail of (?:the|a) service|tail latenc(?:y|ies)|users (?:wait|see|meet)|sl[ao]s?"
    r"|service p9[059])\b"
)
# Over folded text: a pattern that ignores case takes three times as long.
_ANY = re.compile("|".join(words.pattern.removeprefix("(?i)") for words in (_BETTER, _EQUAL, _CAUSE, _TAIL)))


@dataclass(frozen=True, slots=True)
class _Said:
    """One sentence, where it stands, and the figures that it refers to."""

    place: Place
    text: str
    comparisons: tuple[Item, ...]
    percentiles: tuple[Item, ...]


def _sentences(words: re.Pattern[str], finding: Finding, catalog: Catalog) -> Iterator[_Said]:
    """Sentences with one of these words, that refer to a figure."""
    for place, text in _telling(finding):
        if words.search(text) is None:
            continue
        for sentence in _END.split(text):
            items = [look_up(ref.text, finding, catalog.finding) for _, ref in references(sentence)]
            found = [item[0] for item in items if item is not None]
            compared = tuple(item for item in found if isinstance(item.part, Comparison))
            tails = tuple(i for i in found if isinstance(i.part, Measurement) and i.part.statistic in PERCENTILES)
            if compared or tails:
                yield _Said(place, _bare(sentence), compared, tails)


@latest
def _telling(finding: Finding) -> list[tuple[Place, str]]:
    """Texts that refer to a figure, with any of the words: one look for all rules."""
    if not (finding.comparisons or finding.measurements):
        return []
    return [(place, text) for place, text in prose(finding) if "[[" in text and _ANY.search(text.casefold())]


def _bare(sentence: str) -> str:
    for match, reference in references(sentence):
        sentence = sentence.replace(match[0], reference.words or "…")
    return sentence


def _bound(item: Item) -> bool:
    """Does a stated limit of its finding say how far the comparison goes?"""
    return any(item.id in limit.binds for limit in item.finding.limits)


def _parts(items: tuple[Item, ...]) -> Iterator[tuple[Item, Comparison]]:
    return ((item, item.part) for item in items if isinstance(item.part, Comparison))


@record_rule("claims/direction", Finding)
def better_is_shown(finding: Finding, catalog: Catalog) -> Iterator[Wrong]:
    """Faster or better is a claim about the next run as well: the interval of the difference has to leave out zero."""
    for said in _sentences(_BETTER, finding, catalog):
        word = _BETTER.search(said.text)
        if word is None or _NOT.search(said.text):
            continue
        for item, comparison in _parts(said.comparisons):
            interval = _interval(comparison, item.finding, catalog)
            if told := _not_shown(interval) or _one_of_many(comparison, item.finding, catalog):
                soft = severity_of(finding) if interval is None else Severity.ERROR
                how = "say what was seen and add a `limits` entry that `binds` it, or call it descriptive"
                if interval is not None or not _bound(item):
                    yield Wrong(said.place, f"`{word[0]}` of {item.id}: {told}; {how}", soft)


def _interval(comparison: Comparison, here: Finding, catalog: Catalog) -> tuple[str, float, float, int] | None:
    """The interval as shown, its bounds, and where no difference lies: stated, of pairs, or of two pass rates."""
    stated = comparison.interval
    if stated is not None:
        same = 1 if comparison.stated is not None and comparison.stated.unit == "x" else 0
        return f"{stated.low:f}..{stated.high:f}", float(stated.low), float(stated.high), same
    paired = ratio(comparison, here, catalog.finding)
    if paired is not None:
        return f"of paired ratios, {paired.low:.4f}..{paired.high:.4f},", paired.low, paired.high, 1
    rates = rates_difference(comparison, here, catalog.finding) if comparison.metric == "pass_rate" else None
    return (f"{rates.low:.3f}..{rates.high:.3f}", rates.low, rates.high, 0) if rates is not None else None


def _not_shown(interval: tuple[str, float, float, int] | None) -> str:
    if interval is None:
        return "the difference has no `interval`"
    shown, low, high, same = interval
    return f"its interval {shown} holds {same}, no difference" if low <= same <= high else ""


def _one_of_many(comparison: Comparison, here: Finding, catalog: Catalog) -> str:
    """Why a difference is not shown beside the others of its family; empty where it is."""
    found = significance(comparison, here, catalog.finding)
    if found is None or found.adjusted <= _ALPHA:
        return ""
    return f"p = {found.p:.3f}, but {found.adjusted:.3f} among the {found.size} of {comparison.family} (Holm)"


@record_rule("claims/replication", Finding)
def speed_is_of_so_many_starts(finding: Finding, catalog: Catalog) -> Iterator[Wrong]:
    """Tuning, memory layout and clocks differ from start to start: what one start shows holds for that start."""
    for said in _sentences(_BETTER, finding, catalog):
        word = _BETTER.search(said.text)
        if word is None or _NOT.search(said.text) or _START.search(said.text):
            continue
        for item, comparison in _parts(said.comparisons):
            starts = _starts(comparison, item.finding, catalog)
            metric = compared(comparison, item.finding, catalog.finding, catalog.metric).metric
            if starts is None or starts >= _STARTS or metric is None or metric.unit not in TIME_UNITS or _bound(item):
                continue
            told = f"`{word[0]}` of {item.id}, over {starts} start{'' if starts == 1 else 's'} of the server; it takes"
            how = f"{_STARTS} on each side, or say `in this server start`, or bind it by a `limits` entry"
            yield Wrong(said.place, f"{told} {how}", severity_of(finding))


def _starts(comparison: Comparison, here: Finding, catalog: Catalog) -> int | None:
    """The fewest server starts that stand behind a side; None where no side says."""
    found = []
    for target in (comparison.candidate, comparison.baseline):
        side = resolve(target, here, catalog.finding)
        part = side.part if side is not None else None
        if side is None or not isinstance(part, Measurement | Population):
            continue
        each = getattr(part, "each", None)
        population = population_of(part, side.finding)
        arm = side.finding.arms.get(part.arm or (population.arm if population is not None else None) or "")
        told = [known(owner.server_starts) for owner in (population, arm) if owner is not None]
        given = [len(each.values)] if each is not None and each.of is Replicate.SERVER_START else told
        found += [count for count in given if isinstance(count, int)][:1]
    return min(found, default=None)


@record_rule("claims/equal-words", Finding)
def equal_is_shown(finding: Finding, catalog: Catalog) -> Iterator[Wrong]:
    """Equal is a claim of its own, with a band that was declared; a difference that was not found is none."""
    for said in _sentences(_EQUAL, finding, catalog):
        word = _EQUAL.search(said.text)
        for item, comparison in _parts(said.comparisons) if word is not None else ():
            if comparison.band is None and not _judged_within(item):
                told = f"`{word[0] if word else ''}` of {item.id}, which has no `band`; declare one and test it, or say"
                yield Wrong(said.place, f"{told} what was seen", severity_of(finding))


def _judged_within(item: Item) -> bool:
    gates = (gate for gate in item.finding.gates if gate.subject == item.id and gate.require is not None)
    return any(gate.require is not None and gate.require.test == "within" for gate in gates)


@record_rule("claims/cause", Finding)
def cause_is_the_one_variable(finding: Finding, catalog: Catalog) -> Iterator[Wrong]:
    """Where several things were varied together, a difference is due to all of them or to any."""
    for said in _sentences(_CAUSE, finding, catalog):
        word = _CAUSE.search(said.text)
        if word is None or _NOT.search(said.text):
            continue
        for item, comparison in _parts(said.comparisons):
            if not _single(item.finding) or comparison.differs:
                told = f"`{word[0]}` of {item.id}, but more than one thing may have made it; say what was seen, or"
                yield Wrong(
                    said.place, f"{told} vary one thing and write attribution: single-variable", severity_of(finding)
                )


def _single(finding: Finding) -> bool:
    boundary = finding.boundary
    return boundary is not None and boundary.attribution is Attribution.SINGLE_VARIABLE and len(boundary.varied) == 1


@record_rule("claims/tail", Finding)
def closed_loop_has_no_tail(finding: Finding, catalog: Catalog) -> Iterator[Wrong]:
    """A client that waits for a slow reply sends less while it waits: it never meets what users of a service do."""
    for said in _sentences(_TAIL, finding, catalog):
        word = _TAIL.search(said.text)
        if word is None or _NOT.search(said.text):
            continue
        for item in said.percentiles:
            population = population_of(item.part, item.finding) if isinstance(item.part, Measurement) else None
            if population is not None and population.load is not Load.OPEN:
                told = f"`{word[0]}` of {item.id}, which was not measured under an open load"
                how = "call it the percentile of these requests"
                yield Wrong(said.place, f"{told}; {how}, or measure with load: open", severity_of(finding))
