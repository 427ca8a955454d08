"""Take every figure, pin, date and identifier out of a seed page, and say which of them a text lacks.

A fact is `(kind, value)`, both text, the value in one normal form:

    digest 0f1c…   revision 319d…   short-revision 487ecf187   date 2026-09-02   time 09:45   version v0.4.3
    repo owner/name   path a/b   env NCCL_P2P_DISABLE=1   name EXL3   fraction 58/60   percent +33.0
    number 327680   quantity 38.908 tok/s

Digits stay as written (`95.00`, `3.0`): precision is part of a figure. Run as a script with the folder of the
seeds, it rewrites facts.txt.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

Fact = tuple[str, str]

HERE = Path(__file__).parent
SEEDS = ("dated-finding", "model-dossier")

# What a page need not say, and why. (kind, value) -> reason
NOT_FACTS: dict[Fact, str] = {
    ("name", "ยท"): "a middle dot, broken by a wrong character set",
}

# Names that no pattern for identifiers catches: a capital and small letters only.
PROPER_NAMES = (
    "Anvil Serving",
    "Blackwell",
    "Capability Gateway",
    "Cardillo",
    "Docker Desktop",
    "Grafana",
    "Hermes",
    "Pi",
    "PowerShell",
    "Prometheus",
    "Purtell",
    "Sol",
    "Windows 11",
)

WORDS = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
)

_UNITS = {
    "tok/s": r"tok(?:ens?)?(?:/s| per second)",
    "MiB": r"MiB(?:/card)?",
    "GiB": r"GiB",
    "GB": r"GB",
    "ms": r"ms",
    "s": r"s(?:ec(?:onds?)?)?",
    "minutes": r"min(?:utes?)?",
    "bpw": r"bpw",
    "times": r"[\u00d7x]|times",
}
_NUMBER = r"\d+(?:\.\d+)?"
_ANY_UNIT = "|".join(f"(?:{pattern})" for pattern in _UNITS.values())
_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)

# Taken in this order; what a pattern took, the next ones do not see.
_PATTERNS: tuple[tuple[str, str], ...] = (
    ("digest", r"\b[0-9a-f]{64}\b"),
    ("revision", r"\b[0-9a-f]{40}\b"),
    ("version", r"\b\d+\.\d+\.dev\d+\+g[0-9a-f]+\b"),
    ("path", r"\bconfigs(?:/[\w.-]+)+"),
    ("repo", r"\bghcr\.io/[\w.-]+/[\w.-]+"),
    ("repo", r"\bverdictai/[\w.-]+:[\w.-]+"),
    ("repo", r"\b(?:brandonmusic|incoai|ormandj|sgl-project|vllm-project|wrldsuksgo2mars)/[A-Za-z][\w.-]*\w"),
    ("short-revision", r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,9}\b"),
    ("name", r"\bglm53(?:-[\w.]+)+|\bglm-5\.3-flash\b|\bdjango__django-\d+"),
    ("env", r"\b\w*_\w+=\w+"),
    ("name", r"\b(?:llm|vision)\.[a-z]+\b|\b[A-Za-z]+_\w+\b"),
    ("date", r"\b\d{4}-\d\d-\d\d\b"),
    ("time", r"\b\d\d:\d\d\b"),
    ("version", r"\bv?\d+\.\d+\.\d+\b"),
    ("name", r"\bCC(?:-[A-Z]+)+-\d\.\d\b|\bGLM-5\.3-Flash\b|\bQwen3\.8 Flash Next\b|\bmaxseq16\b"),
    ("name", r"\bMMLU-Pro\b|\b[A-Za-z]+[Bb]ench Verified\b|\bMax-Q\b|\bMini-SWE-agent\b|\bgoal-closure\b"),
)


def facts_of(text: str) -> Counter[Fact]:
    """Count every fact of one seed page."""
    return Counter(fact for fact in _facts(plain(text)) if fact not in NOT_FACTS)


def missing(facts: Iterable[Fact], text: str) -> list[Fact]:
    """Return the facts that `text` (visible text, any layout) does not hold, in the order given."""
    page = plain(text)
    squeezed = re.sub(r"\s+", "", page)
    return [fact for fact in facts if not _holds(fact, page, squeezed)]


def read_facts(path: Path = HERE / "facts.txt") -> list[Fact]:
    """Read the distinct facts of both seeds from facts.txt, in its order."""
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if line)
    return list(dict.fromkeys((kind, value) for _, _, kind, value in rows))


def facts_file(texts: dict[str, str]) -> str:
    """Write the facts of the named seed texts as the text of facts.txt: seed, count, kind, value."""
    rows = [
        f"{seed}\t{count}\t{kind}\t{value}"
        for seed, text in texts.items()
        for (kind, value), count in sorted(facts_of(text).items())
    ]
    return "\n".join(rows) + "\n"


def plain(text: str) -> str:
    """Bring typography to one form: no invisible characters, a hyphen for minus, no thousands separators."""
    text = re.sub("[\u00ad\u200b\u200c\u200d\u2060\ufeff]", "", text)
    text = re.sub("(?<=\\d)[,\u2009\u202f](?=\\d{3}(?!\\d))", "", text)
    text = unicodedata.normalize("NFKC", text).replace("\u2212", "-").replace("\u2011", "-")
    return re.sub("[\u2013\u2014]", " ~ ", text)


def _facts(text: str) -> Iterator[Fact]:
    for kind, pattern in _PATTERNS:
        text, found = _take(pattern, text)
        yield from ((kind, value) for value in found)
    text, spelt = _take(rf"\b(?:{'|'.join(_MONTHS)}) \d+\b", text)
    yield from (("date", _date(value)) for value in spelt)
    text, proper = _take("|".join(rf"\b{name}\b" for name in PROPER_NAMES), text)
    yield from (("name", value) for value in proper)
    yield from _figures(text)


def _take(pattern: str, text: str) -> tuple[str, list[str]]:
    """Return the text with every match blanked, and the matches."""
    found = re.findall(pattern, text)
    return re.sub(pattern, " ", text), found


def _date(words: str) -> str:
    month, day = words.split()
    return f"2026-{_MONTHS.index(month) + 1:02}-{int(day):02}"


def _figures(text: str) -> Iterator[Fact]:
    text = re.sub(r"\bn=?(\d+)\b|\bbatch(\d+)\b", r" \1\2 ", text)
    text = re.sub(r"\b(TP|DCP)=(\d)", r"\1\2", text)
    text, lists = _take(rf"(?:{_NUMBER}/)+{_NUMBER} of \d+\b", text)
    for entry in lists:
        parts, total = entry.split(" of ")
        yield from (("fraction", f"{part}/{total}") for part in parts.split("/"))
    text, signed = _take(rf"[+-]?{_NUMBER}(?: ~ {_NUMBER}| ?[/,] ?[+-]?{_NUMBER}%?)*%", text)
    for entry in signed:
        yield from (("percent", value) for value in re.findall(rf"[+-]?{_NUMBER}", entry))
    text, pairs = _take(r"(?<![\w./])\d{1,3}/\d{1,3}(?![\w./]*/\d|\.\d)", text)
    yield from (("fraction", pair) for pair in pairs)
    text, runs = _take(rf"{_NUMBER}(?:(?:/| ~ | → | versus ){_NUMBER})*[ -](?:{_ANY_UNIT})(?!\w)", text)
    for run in runs:
        yield from _quantities(run)
    text, factors = _take(rf"{_NUMBER}\u00d7", text)
    yield from (("quantity", f"{factor[:-1]} times") for factor in factors)
    yield from _tokens(text)


def _quantities(run: str) -> Iterator[Fact]:
    """Give each number of a run its unit: `0.1/0.2 s` is two quantities."""
    written = re.split(r"[ -]", run)[-1]
    unit = next(name for name, pattern in _UNITS.items() if re.fullmatch(pattern, written))
    return (("quantity", f"{value} {unit}") for value in re.findall(_NUMBER, run))


def _tokens(text: str) -> Iterator[Fact]:
    for token in re.findall(r"[^\W_]+(?:\.\d+)*", text):
        if re.fullmatch(_NUMBER, token):
            yield "number", token
        elif token.lower() in WORDS:
            yield "number", str(WORDS.index(token.lower()))
        elif re.fullmatch(r"[a-zA-Z]\d+|\d+[KM]", token):
            yield "name", token.upper()
        elif _is_identifier(token):
            yield "name", token


def _is_identifier(token: str) -> bool:
    """Is this a name by its form: a digit or a capital inside, `EXL3`, `TileLang`, `PCIe`, `macOS`?"""
    return any(c.isdigit() or c.isupper() for c in token[1:]) and any(c.isalpha() for c in token)


def _holds(fact: Fact, page: str, squeezed: str) -> bool:
    kind, value = fact
    if kind in ("digest", "revision"):
        return value in squeezed
    if kind in ("repo", "path", "env", "name", "short-revision", "version"):
        return _has_name(value, page) or (kind in ("repo", "path", "env") and value in squeezed)
    return re.search(_figure_pattern(kind, value), page) is not None


def _has_name(value: str, page: str) -> bool:
    spaced = re.sub(r"(?<=[A-Za-z])\\?(?=\d+$)", r"[ =]?", re.escape(value))
    return re.search(rf"(?<![A-Za-z0-9]){spaced}(?![A-Za-z0-9]|\.\d)", page, re.IGNORECASE) is not None


def _figure_pattern(kind: str, value: str) -> str:
    before, after = r"(?<![\w.])(?<!\d[,/])", r"(?!\w|[.,/]\d)"
    if kind == "percent":
        sign = re.escape(value[0]) if value[0] in "+-" else "[+-]?"
        return rf"(?<![\w.]){sign}{re.escape(value.lstrip('+-'))}\s*%"
    if kind == "fraction":
        done, of = value.split("/")
        return rf"(?<![\w./]){done}\s*(?:/|of)\s*{of}(?![\w/]|\.\d)"
    if kind == "quantity":
        number, unit = value.split(" ")
        return rf"{before}[+-]?{re.escape(number)}(?:\s*|-)(?:{_UNITS[unit]})(?!\w)"
    if kind == "number" and value.isdigit() and int(value) < len(WORDS):
        return rf"{before}[+-]?{value}{after}|(?i:\b{WORDS[int(value)]}\b)"
    return rf"(?<![\w.])[+-]?{re.escape(value)}(?!\d|[.,]\d)"


def main(folder: Path) -> None:
    """Rewrite facts.txt from the seed pages in `folder`."""
    texts = {seed: (folder / f"{seed}.txt").read_text(encoding="utf-8") for seed in SEEDS}
    (HERE / "facts.txt").write_text(facts_file(texts), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
