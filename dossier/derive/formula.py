"""Planning arithmetic: `[[pool]] / 2`, `[[recipes/x#context_tokens]] - 2 * ([[prompt]] + 4096)`.

Whole numbers are exact; a figure written with digits after the point stands for the range that its rounding
leaves, and so does whatever is computed from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from dossier.derive.deltas import half_unit
from dossier.derive.references import references

_TOKEN = re.compile(r"\s*(?:(\[\[[^\[\]\n]+\]\])|([0-9]+(?:\.[0-9]+)?)|([-+*/()−×÷]))\s*")
_SAME = {"−": "-", "×": "*", "÷": "/"}
_MAX_DEPTH = 8


class FormulaError(ValueError):
    """The text is no formula; the message says where and why."""


@dataclass(frozen=True, slots=True)
class Span:
    """A computed value, and the range that the rounding of its operands leaves."""

    low: Fraction
    value: Fraction
    high: Fraction

    def agrees(self, stated: Decimal) -> bool:
        """Could the figure, rounded as written, be this value?"""
        half, seen = Fraction(half_unit(stated)), Fraction(stated)
        return self.low - half <= seen <= self.high + half

    def like(self, stated: Decimal) -> Decimal:
        """The value with as many digits as the stated figure."""
        places = max(0, -int(stated.as_tuple().exponent))
        return Decimal(round(self.value * 10**places)).scaleb(-places)


def compute(formula: str, value_of: Callable[[str], Decimal | None]) -> Span | None:
    """Evaluate a formula of numbers, references, `+ - * /` and parentheses.

    `value_of` gives the number behind a reference's target; where it gives None the result is None. Raises
    FormulaError for what is no formula, and for a division by zero.
    """
    values: dict[str, Span] = {}
    for match, reference in references(formula):
        value = value_of(reference.text)
        if value is None:
            return None
        values[match[0]] = _span(value)
    reader = _Reader(list(_tokens(formula)), values)
    result = reader.sum(0)
    if reader.peek():
        raise FormulaError(f"`{reader.peek()}` stands where the formula should end")
    return result


def _span(value: Decimal) -> Span:
    exact = Fraction(value)
    half = Fraction(half_unit(value)) if int(value.as_tuple().exponent) < 0 else Fraction(0)
    return Span(exact - half, exact, exact + half)


def _tokens(formula: str) -> Iterator[str]:
    at = 0
    while at < len(formula):
        match = _TOKEN.match(formula, at)
        if match is None:
            raise FormulaError(f"{formula[at : at + 20]!r} is neither a number, a [[reference]] nor one of + - * / ( )")
        yield match[1] or match[2] or _SAME.get(match[3], match[3])
        at = match.end()


class _Reader:
    """Reads sums of products, one token at a time."""

    def __init__(self, tokens: list[str], values: dict[str, Span]) -> None:
        self._tokens = tokens
        self._values = values

    def peek(self) -> str:
        """The next token; empty at the end."""
        return self._tokens[0] if self._tokens else ""

    def sum(self, depth: int) -> Span:
        """Products joined by plus and minus."""
        result = self._product(depth)
        while self.peek() in {"+", "-"}:
            sign = self._tokens.pop(0)
            result = _combined(sign, result, self._product(depth))
        return result

    def _product(self, depth: int) -> Span:
        result = self._operand(depth)
        while self.peek() in {"*", "/"}:
            sign = self._tokens.pop(0)
            result = _combined(sign, result, self._operand(depth))
        return result

    def _operand(self, depth: int) -> Span:
        if not self._tokens:
            raise FormulaError("the formula breaks off; a number or [[reference]] is missing at its end")
        word = self._tokens.pop(0)
        if word == "(":
            return self._group(depth)
        if word in self._values:
            return self._values[word]
        if not word[0].isdigit():
            raise FormulaError(f"`{word}` stands where a number or [[reference]] belongs")
        return _span(Decimal(word))

    def _group(self, depth: int) -> Span:
        if depth == _MAX_DEPTH:
            raise FormulaError(f"more than {_MAX_DEPTH} levels of parentheses; make a part a figure of its own")
        result = self.sum(depth + 1)
        if not self._tokens or self._tokens.pop(0) != ")":
            raise FormulaError("a parenthesis is not closed")
        return result


def _combined(sign: str, left: Span, right: Span) -> Span:
    if sign == "/" and right.low <= 0 <= right.high:
        raise FormulaError("a division by what may be zero")
    operate: Callable[[Fraction, Fraction], Fraction] = {
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
        "/": lambda a, b: a / b,
    }[sign]
    ends = [operate(a, b) for a in (left.low, left.high) for b in (right.low, right.high)]
    return Span(min(ends), operate(left.value, right.value), max(ends))
