"""Retrieval from long prompts: facts at stated depths, over a ladder of sizes that are found in the server's tokens."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from enum import StrEnum
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from dossier.model.base import Count, Figure
from dossier.model.vocabulary import CacheMode, MeasurementClass
from dossier.runner.figure import Figure as Computed
from dossier.runner.haystack import Fact, code, haystack, names
from dossier.runner.journal import Entry
from dossier.runner.outcome import Outcome
from dossier.runner.probes.base import (
    Cost,
    Probe,
    Reply,
    Sample,
    Share,
    Spec,
    Thinking,
    Wanted,
    judged,
    range_of,
    switched,
)
from dossier.runner.session import Session

_CODE = re.compile(r"(?<!\d)\d{4}-\d{4}(?!\d)")
_WHAT = "access code"
_SLACK = 8
_QUESTION_TOKENS = 200


class Kind(StrEnum):
    """What has to be found."""

    ONE = "one"
    """One fact."""
    MANY = "many"
    """All values of one name, spread over the text."""
    DISTRACTOR = "distractor"
    """One fact among others of the same form, with other names or another attribute."""
    LINK = "link"
    """A fact about a name that another fact gives."""


class Needle(Spec):
    """Facts hidden in prompts of one size or several; `requests` are spread evenly over sizes and depths."""

    probe: Literal["needle"]
    kind: Kind = Kind.ONE
    targets: Annotated[
        tuple[Annotated[Count, Field(ge=128, le=4_000_000)], ...],
        Field(min_length=1, max_length=20, description="Prompt sizes in the server's own tokens, rising."),
    ]
    depths: Annotated[tuple[Figure, ...], Field(min_length=1, max_length=20)] = (
        Decimal("0.1"), Decimal("0.5"), Decimal("0.9"),
    )  # fmt: skip
    values: Annotated[Count, Field(ge=2, le=32, description="With `many`: how many values one name has.")] = 4
    max_tokens: Annotated[Count, Field(ge=16, le=65_536)] = 256
    thinking: Thinking = "default"
    tolerance: Figure = Field(Decimal("0.05"), description="How far actual prompt tokens may lie off the target.")
    floor: Figure = Field(Decimal(80), description="Least pass rate in percent, for the effective context.")
    drop: Figure = Field(Decimal(20), description="Greatest loss against the first size, in points, for the same.")

    @model_validator(mode="after")
    def _consistent(self) -> Needle:
        if list(self.targets) != sorted(set(self.targets)):
            raise PydanticCustomError("plan/targets", "`targets` rise, and none stands there twice")
        if self.requests % len(self.targets):
            text = f"`requests` is a multiple of the {len(self.targets)} targets: as many for each"
            raise PydanticCustomError("plan/targets", "{text}", {"text": text})
        if any(not 0 <= depth <= 1 for depth in self.depths):
            raise PydanticCustomError("plan/depths", "a depth lies between 0 (the beginning) and 1 (the end)")
        return self

    @property
    def each(self) -> int:
        """Requests of one size."""
        return self.requests // len(self.targets)

    def target(self, index: int) -> int:
        """The size that request `index` asks for; warm-ups (below 0) ask for the first."""
        return self.targets[max(0, index) // self.each]

    def name(self, target: int) -> str:
        """The population of one size."""
        return self.id if len(self.targets) == 1 else f"{self.id}-{target}"


async def ask_needle(session: Session, spec: Needle, index: int) -> Sample:
    """One prompt of the size that was found, and the answer compared with what was hidden."""
    target = spec.target(index)
    words = session.sizes[spec.name(target)]
    text, expected = question(spec, f"{session.seed}/{spec.id}/{index}", words, index)
    body = session.body(text, spec.max_tokens, **switched(spec.thinking))
    return judge(await session.stream(body), spec, target, expected)


def question(spec: Needle, seed: str, words: int, index: int) -> tuple[str, tuple[str, ...]]:
    """The whole prompt, and the values that it asks for."""
    draw = random.Random(f"{seed}/facts")  # noqa: S311 - text, not a secret
    depth = float(spec.depths[(max(0, index) % spec.each) % len(spec.depths)])
    facts, asked, expected = _hidden(spec, draw, depth)
    many = f"Reply with all {len(expected)} codes, separated by commas, and nothing else."
    how = many if len(expected) > 1 else "Reply with the code and nothing else."
    text = f"{haystack(seed, words, facts)}\n\nFrom the text above: {asked} {how}"
    return text, expected


def _hidden(spec: Needle, draw: random.Random, depth: float) -> tuple[list[Fact], str, tuple[str, ...]]:
    own, keeper, *others = names(draw, 6)
    values = tuple(code(draw) for _ in range(spec.values if spec.kind is Kind.MANY else 1))
    match spec.kind:
        case Kind.MANY:
            facts = [Fact(_WHAT, own, value, (depth + n / len(values)) % 1) for n, value in enumerate(values)]
            return facts, f"What are the {_WHAT}s of {own}?", values
        case Kind.LINK:
            facts = [Fact("keeper", own, keeper, depth), Fact(_WHAT, keeper, values[0], 1 - depth)]
            return facts + _decoys(draw, others), f"What is the {_WHAT} of the keeper of {own}?", values
        case _:
            facts = [Fact(_WHAT, own, values[0], depth)]
            if spec.kind is Kind.DISTRACTOR:
                facts += [Fact("locker number", own, code(draw), 1 - depth), *_decoys(draw, others)]
            return facts, f"What is the {_WHAT} of {own}?", values


def _decoys(draw: random.Random, others: Sequence[str]) -> list[Fact]:
    return [Fact(_WHAT, name, code(draw), draw.random()) for name in others]


def judge(reply: Reply, spec: Needle, target: int, expected: tuple[str, ...]) -> Sample:
    """All the values and no other, in a reply that ends by itself, to a prompt of the stated size."""
    return judged(reply, _wrongs(reply, spec, target, expected))


def _wrongs(reply: Reply, spec: Needle, target: int, expected: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    prompt = reply.usage.prompt if reply.usage else None
    if prompt is None:
        yield "usage-missing", "no token counts", "prompt tokens"
    elif abs(prompt - target) > max(_SLACK, float(spec.tolerance) * target):
        yield "prompt-size", f"{prompt} tokens", f"{target} tokens"
    wanted, found = ", ".join(expected), list(dict.fromkeys(_CODE.findall(reply.content)))
    right = [value for value in expected if value in found]
    if reply.finish != "stop":
        yield "truncated", f"{reply.content or reply.reasoning} (finish {reply.finish})", wanted
    if not found:
        yield "not-retrieved", reply.content, wanted
    elif not right:
        yield "wrong-value", ", ".join(found), wanted
    elif len(right) < len(expected):
        yield "incomplete", f"{len(right)} of {len(expected)}: {', '.join(right)}", wanted
    elif len(found) > len(expected):
        yield "extra-value", ", ".join(found), wanted


def effective_context(spec: Needle, samples: Sequence[Entry]) -> Iterator[Computed]:
    """How far retrieval holds: the size before the first below the floor, or that lost more than the drop."""
    usable = [entry for entry in samples if "prompt" in entry.get("usage", {})]
    passed = [entry["usage"]["prompt"] for entry in usable if entry["outcome"] == Outcome.PASSED]
    if passed:
        yield Computed("largest_retrieved", "max", max(passed), "tokens", len(passed))
    if len(spec.targets) == 1 or len(samples) != spec.requests:
        return
    held: int | None = None
    first: float | None = None
    for target in spec.targets:
        bucket = [entry for entry in samples if spec.target(entry["index"]) == target]
        rate = 100 * sum(entry["outcome"] == Outcome.PASSED for entry in bucket) / spec.each
        first = rate if first is None else first
        if rate < spec.floor or first - rate > spec.drop:
            break
        held = min(entry["usage"]["prompt"] for entry in bucket if "prompt" in entry.get("usage", {}))
    if held is not None:
        title = f"Effective context: at least {spec.floor} % passed, at most {spec.drop} points lost"
        yield Computed("effective_context", "min", held, "tokens", len(samples), title=title)


def _sizes(spec: Needle) -> dict[str, Wanted]:
    return {spec.name(target): Wanted(target, float(spec.tolerance), partial(_sized, spec)) for target in spec.targets}


def _sized(spec: Needle, seed: str, words: int) -> str:
    return question(spec, seed, words, 0)[0]


def _shares(spec: Needle) -> list[Share]:
    if len(spec.targets) == 1:
        return []
    return [
        Share(
            spec.model_copy(update={"id": spec.name(target), "title": _titled(spec, target), "targets": (target,),
                                    "requests": spec.each, "warmups": 0}),
            range(number * spec.each, (number + 1) * spec.each),
        )
        for number, target in enumerate(spec.targets)
    ]  # fmt: skip


def _titled(spec: Needle, target: int) -> str:
    return f"{spec.title or 'Retrieval'}, {target} tokens"


def _facts(spec: Needle, samples: Sequence[Entry]) -> Mapping[str, Any]:
    return {
        "target_tokens": spec.targets[0] if len(spec.targets) == 1 else None,
        "prompt_tokens": range_of(samples, "prompt"),
        "output_tokens": range_of(samples, "completion"),
        "output_budget": spec.max_tokens,
        "cache": CacheMode.UNIQUE.value,
        "thinking": spec.thinking,
        "protocol": "chat-completions, streamed",
    }


def _cost(spec: Needle) -> Cost:
    mean = sum(spec.targets) / len(spec.targets)
    return Cost(1, round(mean * (1 + float(spec.tolerance))) + _SLACK + spec.max_tokens)


def _setup(spec: Needle) -> Cost:
    return Cost(14 * len(spec.targets), 5 * sum(spec.targets) + _QUESTION_TOKENS * 14 * len(spec.targets))


PROBES = (
    Probe(
        "needle", Needle, MeasurementClass.CONTEXT,
        "Facts hidden at stated depths of a long prompt are found: each value, no other, at the stated actual size.",
        "That a long prompt is understood, summarised or reasoned over, that real documents of the same length work, "
        "or that several such prompts fit at once; the effective context is of this task, its floor and its drop.",
        _cost, ask_needle, _setup, _sizes, shares=_shares, figures=lambda *seen: list(effective_context(*seen[:2])),
        facts=_facts,
    ),
)  # fmt: skip
