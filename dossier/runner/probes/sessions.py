"""Sessions of many turns: the history grows, is read, and an early turn is remembered at the end."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import Field

from dossier.model.base import Count
from dossier.model.vocabulary import CacheMode, MeasurementClass
from dossier.runner.figure import Figure as Computed
from dossier.runner.haystack import code, haystack, names
from dossier.runner.journal import Entry
from dossier.runner.outcome import Outcome
from dossier.runner.probes.base import (
    Cost,
    Probe,
    Sample,
    Spec,
    Thinking,
    conversation,
    failed,
    missed,
    passed,
    switched,
)
from dossier.runner.session import Session
from dossier.wire.stream import StreamOutcome

_WORDS_A_TOKEN = 2
_ASK_TOKENS = 80


class Sessions(Spec):
    """One session a sample: facts are told turn by turn, and one of them is asked for at the end."""

    probe: Literal["session"]
    turns: Annotated[Count, Field(ge=2, le=100)] = 8
    words: Annotated[Count, Field(le=20_000, description="Words of other text in each turn.")] = 40
    max_tokens: Annotated[Count, Field(ge=8, le=65_536)] = 64
    thinking: Thinking = "default"


async def ask_session(session: Session, spec: Sessions, index: int) -> Sample:
    """All turns in order, each with the whole history; the facts keep prompt and cached tokens of every turn."""
    messages: list[dict[str, str]] = []
    replies: list[StreamOutcome] = []
    said, question, answer = script(spec, f"{session.seed}/{spec.id}/{index}")
    for text in (*said, question):
        messages.append({"role": "user", "content": text})
        body = session.body("", spec.max_tokens, **switched(spec.thinking)) | {"messages": messages}
        reply = await session.stream(body)
        if reply.failure is not None:
            sample = failed(reply, reply.failure)
            return replace(sample, observed=f"turn {len(replies) + 1}: {sample.observed}")
        replies.append(reply)
        messages = [*messages, {"role": "assistant", "content": reply.content}]
    return judge(replies, answer)


def script(spec: Sessions, seed: str) -> tuple[list[str], str, str]:
    """What the user says in every turn but the last, the last question, and its answer."""
    draw = random.Random(seed)  # noqa: S311 - text, not a secret
    people = names(draw, max(2, spec.turns - 1))
    codes = [code(draw) for _ in people]
    said = [
        f"{haystack(f'{seed}/{turn}', spec.words)} Note this: The locker number of {name} is {number}. "
        "Reply with exactly: noted"
        for turn, (name, number) in enumerate(zip(people, codes, strict=True))
    ][: spec.turns - 1]
    early = draw.randrange(max(1, len(said) // 2))
    return said, f"What is the locker number of {people[early]}? Reply with the number and nothing else.", codes[early]


def judge(replies: Sequence[StreamOutcome], answer: str) -> Sample:
    """A history that grew with every turn, and the right number at the end."""
    last = replies[-1]
    prompts = [reply.usage.prompt if reply.usage else None for reply in replies]
    facts = {"prompt": prompts, "cached": [reply.usage.cached if reply.usage else None for reply in replies]}
    counts = [count for count in prompts if count is not None]
    shown = ", ".join(map(str, prompts))
    if len(counts) < len(prompts):
        sample = missed(last, "usage-missing", shown, "prompt tokens of every turn")
    elif any(later <= sooner for sooner, later in pairwise(counts)):
        sample = missed(last, "history-dropped", f"prompt tokens by turn: {shown}", "more with every turn")
    elif last.finish != "stop":
        sample = missed(last, "truncated", f"{last.content} (finish {last.finish})", answer)
    elif answer not in last.content:
        sample = missed(last, "not-recalled", last.content, answer)
    else:
        sample = passed(last)
    return replace(sample, facts=facts)


def reuse(_: Sessions, samples: Sequence[Entry], __: Sequence[Entry]) -> list[Computed]:
    """The share of prompt tokens after the first turn that a cache held, as usage says."""
    told = [entry["facts"] for entry in samples if entry["outcome"] != Outcome.FAILED and "facts" in entry]
    pairs = [pair for facts in told for pair in list(zip(facts["cached"], facts["prompt"], strict=True))[1:]]
    if not pairs or any(cached is None or not prompt for cached, prompt in pairs):
        return []
    share = 100 * sum(cached for cached, _ in pairs) / sum(prompt for _, prompt in pairs)
    return [Computed("prefix_hit_rate", "rate", share, "%", len(pairs), title="Hit rate of turns after the first")]


def _facts(spec: Sessions, samples: Sequence[Entry]) -> Mapping[str, Any]:
    counts = [n for entry in samples for n in entry.get("facts", {}).get("prompt", ()) if n is not None]
    shown = f"{min(counts)}..{max(counts)}" if counts else {"unknown": "No reply stated prompt tokens."}
    return {"prompt_tokens": shown, "output_budget": spec.max_tokens, "cache": CacheMode.WARM.value,
            "thinking": spec.thinking, "protocol": "chat-completions, streamed, one session a sample"}  # fmt: skip


def _cost(spec: Sessions) -> Cost:
    return conversation(spec.turns, _WORDS_A_TOKEN * spec.words + _ASK_TOKENS + spec.max_tokens)


PROBES = (
    Probe(
        "session", Sessions, MeasurementClass.FUNCTIONAL,
        "A session of many turns: prompt tokens grow with each, every turn is answered, and a number from an early "
        "turn comes back at the end.",
        "That longer sessions, other kinds of memory or tool turns work; each sample is one session.",
        _cost, ask_session, figures=reuse, facts=_facts,
    ),
)  # fmt: skip
