"""Remembers an answer while the same is asked again: rule after rule looks at one record."""

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
A = TypeVar("A")


def latest(answer: Callable[P, A]) -> Callable[P, A]:
    """Give the last answer again where the arguments are, one by one, the very same objects as before."""
    last: tuple[tuple[object, ...], A] | None = None

    def ask(*args: P.args, **kwargs: P.kwargs) -> A:
        nonlocal last
        known = last
        if known is not None and len(known[0]) == len(args) and all(map(is_, known[0], args)):
            return known[1]
        found = answer(*args, **kwargs)
        last = (args, found)
        return found

    return ask
