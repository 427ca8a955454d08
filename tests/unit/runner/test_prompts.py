"""Prompts: as many of the server's own tokens as wanted, and shared only where that is the point."""

from __future__ import annotations

import asyncio

import pytest
from runner_support import session

from dossier.model.vocabulary import CacheMode
from dossier.runner.prompts import prompt, size
from dossier.runner.schedule import Schedule
from dossier.wire.dialect import Dialect


def text(words):
    return prompt("seed", 0, words, CacheMode.UNIQUE)


@pytest.mark.parametrize("dialect", [Dialect.UNKNOWN, Dialect.VLLM])
@pytest.mark.parametrize("target", [64, 1000, 20_000])
def test_the_size_is_found_by_usage_or_by_the_tokeniser(dialect, target):
    """The reference server counts words; those of the question are part of the prompt."""

    async def go():
        async with session(Schedule(ttft_ms=0, gap_ms=0), dialect) as here:
            return await size(here, text, target, 0.05)

    found = asyncio.run(go())
    assert abs(found.prompt_tokens - target) <= max(1, 0.01 * target)
    assert len(prompt("seed", 3, found.words, CacheMode.UNIQUE).split()) == found.prompt_tokens


def test_a_server_without_usage_gives_no_size():
    async def go():
        async with session(Schedule(ttft_ms=0, gap_ms=0, usage="never")) as here:
            return await size(here, text, 100, 0.05)

    assert asyncio.run(go()).prompt_tokens is None


def test_unique_prompts_differ_from_the_first_words_on():
    first, second = (prompt("seed", index, 200, CacheMode.UNIQUE).split() for index in (0, 1))
    assert first[:8] != second[:8]
    assert len(first) == len(second)


def test_shared_prompts_have_one_beginning_and_their_own_ends():
    first, second = (prompt("seed", index, 200, CacheMode.SHARED, 150).split() for index in (0, 1))
    assert first[:155] == second[:155]
    assert first[170:] != second[170:]


def test_warm_prompts_are_one_and_the_same():
    assert prompt("seed", 0, 50, CacheMode.WARM) == prompt("seed", -1, 50, CacheMode.WARM)


def test_a_prompt_is_the_same_every_time():
    assert prompt("seed", 7, 50, CacheMode.UNIQUE) == prompt("seed", 7, 50, CacheMode.UNIQUE)
