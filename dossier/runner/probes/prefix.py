"""The prefix cache, by what usage says was cached: of a prompt that is new, of the same again, and of another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import Field

from dossier.model.base import Count, Figure
from dossier.model.vocabulary import CacheMode, MeasurementClass
from dossier.runner.figure import Figure as Computed
from dossier.runner.haystack import haystack
from dossier.runner.journal import Entry
from dossier.runner.outcome import Outcome
from dossier.runner.probes.base import Cost, Probe, Reply, Sample, Spec, Wanted, failed, missed, passed
from dossier.runner.probes.cell import is_warm
from dossier.runner.session import Session
from dossier.stats import paired_ratio
from dossier.wire.stream import Expect, StreamOutcome

_OUTPUT = 8
_LEAST_SHARE = 0.5


class Prefix(Spec):
    """Three requests a sample: a new prompt, the same text with another question, and another new prompt."""

    probe: Literal["prefix"]
    expect: Annotated[str, Field(pattern="^(on|off)$", description="Is a prefix cache to be there?")] = "on"
    prompt_tokens: Annotated[Count, Field(ge=256, le=4_000_000)] = 2048
    tolerance: Figure = Decimal("0.05")


async def ask_prefix(session: Session, spec: Prefix, index: int) -> Sample:
    """Cold, again, and another; the sample's facts keep what was cached of each, and when its output began."""
    words, seed = session.sizes[spec.id], f"{session.seed}/{spec.id}/{index}"
    texts = (_prompt(seed, words, 1), _prompt(seed, words, 2), _prompt(f"{seed}/other", words, 1))
    replies: list[StreamOutcome] = []
    for text in texts:
        reply = await session.stream(session.body(text, _OUTPUT), Expect(frozenset({session.model}), visible=False))
        if reply.failure is not None:
            return failed(reply, reply.failure)
        replies.append(reply)
    return judge(replies, spec.expect)


def judge(replies: Sequence[StreamOutcome], expect: str) -> Sample:
    """What usage says was cached is what a cache, or none, must have done."""
    cold, again, _ = replies
    wrong = next(_wrongs(replies, expect), None)
    facts = {
        "prompt": [_prompt_tokens(reply) for reply in replies],
        "cached": [reply.usage.cached if reply.usage else None for reply in replies],
        "ttft_ns": [reply.arrivals[0].at_ns - reply.trace.start_ns for reply in (cold, again)],
    }
    sample = missed(again, *wrong) if wrong is not None else passed(again)
    return replace(sample, text=None, facts=facts)


def _wrongs(replies: Sequence[StreamOutcome], expect: str) -> Iterator[tuple[str, str, str]]:
    cached = [reply.usage.cached if reply.usage else None for reply in replies]
    told = ", ".join(str(value) for value in cached)
    if expect == "off":
        if any(is_warm(_prompt_tokens(reply), value) for reply, value in zip(replies, cached, strict=True)):
            yield "cached-though-off", f"cached of each: {told}", "nothing cached"
        return
    cold, again, other = cached
    if again is None:
        yield "cached-not-stated", "usage says nothing about cached tokens", "cached tokens in usage"
        return
    if is_warm(_prompt_tokens(replies[0]), cold) or is_warm(_prompt_tokens(replies[2]), other):
        yield "new-prompt-cached", f"cached of each: {told}", "new prompts that no cache holds"
    if again < _LEAST_SHARE * _prompt_tokens(replies[1]):
        yield "not-cached", f"{again} of {_prompt_tokens(replies[1])} tokens", "most of a prompt that came before"


def reuse(_: Prefix, samples: Sequence[Entry], __: Sequence[Entry]) -> list[Computed]:
    """The hit rate of repeated prompts, and how much sooner their output began."""
    told = [entry["facts"] for entry in samples if entry["outcome"] != Outcome.FAILED and "facts" in entry]
    found: list[Computed] = []
    known = [facts for facts in told if facts["cached"][1] is not None and facts["prompt"][1]]
    if known and len(known) == len(told):
        share = 100 * sum(facts["cached"][1] for facts in known) / sum(facts["prompt"][1] for facts in known)
        found.append(Computed("prefix_hit_rate", "rate", share, "%", len(known), title="Hit rate of repeated prompts"))
    pairs = [facts["ttft_ns"] for facts in told if min(facts["ttft_ns"]) > 0]
    ratio = paired_ratio([again for _, again in pairs], [cold for cold, _ in pairs]) if pairs else None
    if ratio is not None:
        method = "t, of logarithms of paired ratios"
        found.append(Computed("warm_ttft_ratio", "mean", ratio.ratio, "x", ratio.n, ratio.low, ratio.high, method))
    return found


def _prompt(seed: str, words: int, question: int) -> str:
    return f"{haystack(seed, words)}\n\nQuestion {question}: how many sentences are there?"


def _prompt_tokens(reply: Reply) -> int:
    return (reply.usage.prompt if reply.usage else None) or 0


def _facts(spec: Prefix, samples: Sequence[Entry]) -> Mapping[str, Any]:
    counts = [count for entry in samples for count in entry.get("facts", {}).get("prompt", ())]
    shown = f"{min(counts)}..{max(counts)}" if counts else {"unknown": "No reply stated prompt tokens."}
    return {"target_tokens": spec.prompt_tokens, "prompt_tokens": shown, "output_budget": _OUTPUT,
            "cache": CacheMode.MIXED.value}  # fmt: skip


PROBES = (
    Probe(
        "prefix", Prefix, MeasurementClass.FUNCTIONAL,
        "A prompt that is new, the same again with another question, and another new one: usage says that only the "
        "repeated text came from a cache (or, with `expect: off`, that none did).",
        "That the cache helps under load, survives other traffic, or that cached text gives the same answers; a server "
        "may cache and not say so.",
        lambda spec: Cost(3, 3 * (round((1 + float(spec.tolerance)) * spec.prompt_tokens) + _OUTPUT)), ask_prefix,
        lambda spec: Cost(14, 5 * spec.prompt_tokens + 2000),
        lambda spec: {spec.id: Wanted(spec.prompt_tokens, float(spec.tolerance), lambda s, w: _prompt(s, w, 1))},
        figures=reuse, facts=_facts,
    ),
)  # fmt: skip
