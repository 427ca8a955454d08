"""Prompts of a wanted size in the server's own tokens, unique unless sharing is the point.

A prompt is common words in random order, each of which most tokenisers hold as one token. How many words make the
wanted number of tokens is found by asking: the server's tokeniser where there is one, else its usage.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from dossier.model.vocabulary import CacheMode
from dossier.runner.session import Session
from dossier.wire import api

_TEXT = (
    "the of and to in is it you that he was for on are with as his they be at one have this from or had by hot word "
    "but what some we can out other were all there when up use your how said an each she which do their time if will "
    "way about many then them write would like so these her long make thing see him two has look more day could go "
    "come did number sound no most people my over know water than call first who may down side been now find"
)
_WORDS = _TEXT.split()
_ASK = "Continue this list of words with as many more words as you can:"
_SAMPLE_WORDS = 64
_ROUNDS = 6
_CLOSE = 0.01


@dataclass(frozen=True, slots=True)
class Sizing:
    """How many words make the target, and what the server counted for such a prompt; None where it counts nothing."""

    words: int
    prompt_tokens: int | None
    how: str


def prompt(seed: str, index: int, words: int, cache: CacheMode, shared_words: int = 0) -> str:
    """The prompt of one request. Unique ones differ from the first word on, shared ones after `shared_words`."""
    own = random.Random(f"{seed}/{index}")  # noqa: S311 - text, not a secret
    if cache is CacheMode.WARM:
        return f"{_ASK} {_text(random.Random(seed), words)}"  # noqa: S311
    if cache is CacheMode.SHARED:
        prefix = _text(random.Random(f"{seed}/shared"), shared_words)  # noqa: S311
        return f"{_ASK} {prefix} {_text(own, max(1, words - shared_words))}"
    return f"{_text(own, words)} {_ASK}"


def _text(draw: random.Random, words: int) -> str:
    return " ".join(draw.choices(_WORDS, k=words))


async def size(session: Session, text: Callable[[int], str], target: int, tolerance: float) -> Sizing:
    """Find the words of `text(words)` for a target of prompt tokens. A few requests of one output token each."""
    first = await _usage(session, text(_SAMPLE_WORDS))
    if first is None:
        return Sizing(target, None, "the server states no prompt tokens")
    tokenized = await _tokenized(session, text(_SAMPLE_WORDS))
    if tokenized is None:
        return await _by_usage(session, text, target, first)
    overhead = first - tokenized

    async def count(words: int) -> int | None:
        tokens = await _tokenized(session, text(words))
        return None if tokens is None else tokens + overhead

    words = await _search(count, target, first)
    actual = await _usage(session, text(words))
    if actual is not None and abs(actual - target) > tolerance * target:
        return await _by_usage(session, text, target, first)
    return Sizing(words, actual, "tokenize endpoint, confirmed by usage")


async def _by_usage(session: Session, text: Callable[[int], str], target: int, first: int) -> Sizing:
    async def count(words: int) -> int | None:
        return await _usage(session, text(words))

    words = await _search(count, target, first, rounds=2)
    return Sizing(words, await _usage(session, text(words)), "usage of requests for one token")


async def _search(count: Callable[[int], Awaitable[int | None]], target: int, first: int, rounds: int = _ROUNDS) -> int:
    """Secant steps from the sample's count towards the target."""
    at, tokens = _SAMPLE_WORDS, first
    words = max(1, round(at * target / max(1, tokens)))
    for _ in range(rounds):
        found = await count(words)
        if found is None or abs(found - target) <= max(1.0, _CLOSE * target):
            break
        slope = (found - tokens) / (words - at) if words != at else 1.0
        at, tokens = words, found
        words = max(1, words + round((target - found) / max(slope, 0.25)))
    return words


async def _usage(session: Session, text: str) -> int | None:
    whole = await session.whole(session.body(text, 1))
    return whole.usage.prompt if whole.usage else None


async def _tokenized(session: Session, text: str) -> int | None:
    endpoint = session.detection.habits.tokenize
    if endpoint is None:
        return None
    session.budget.request()
    reply = await api.count_tokens(session.client, endpoint, text)
    return reply.data if reply.failure is None else None
