"""Thinking budgets: with how much output in all does a thinking model still come to its answer?"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from dossier.model.base import Count
from dossier.model.vocabulary import MeasurementClass
from dossier.runner.figure import Figure as Computed
from dossier.runner.journal import Entry
from dossier.runner.outcome import Outcome
from dossier.runner.probes.base import Cost, Probe, Reply, Sample, Share, Spec, judged, range_of
from dossier.runner.session import Session

_NUMBER = re.compile(r"-?\d+")
_PROMPT_TOKENS = 200


class Budgets(Spec):
    """Sums that need some thought, at each of several output budgets, as many requests at each."""

    probe: Literal["budgets"]
    budgets: Annotated[
        tuple[Annotated[Count, Field(ge=16, le=65_536)], ...],
        Field(min_length=1, max_length=12, description="Output tokens in all, reasoning included, rising."),
    ] = (512, 2048, 8192)
    effort: Annotated[str, Field(pattern="^(none|minimal|low|medium|high|max|xhigh)$")] | None = Field(
        None, description="Sent as reasoning_effort; otherwise thinking is switched on."
    )

    @model_validator(mode="after")
    def _consistent(self) -> Budgets:
        if list(self.budgets) != sorted(set(self.budgets)):
            raise PydanticCustomError("plan/budgets", "`budgets` rise, and none stands there twice")
        if self.requests % len(self.budgets):
            text = f"`requests` is a multiple of the {len(self.budgets)} budgets: as many for each"
            raise PydanticCustomError("plan/budgets", "{text}", {"text": text})
        return self

    @property
    def each(self) -> int:
        """Requests at one budget."""
        return self.requests // len(self.budgets)


async def ask_budgets(session: Session, spec: Budgets, index: int) -> Sample:
    """One sum at the budget of its index; every budget has the same sums."""
    budget = spec.budgets[max(0, index) // spec.each]
    text, answer = question(f"{session.seed}/{spec.id}", index % spec.each)
    effort = {"reasoning_effort": spec.effort}
    switch = effort if spec.effort else {"chat_template_kwargs": {"enable_thinking": True}}
    return judge(await session.stream(session.body(text, budget, **switch)), answer, budget)


def question(seed: str, number: int) -> tuple[str, int]:
    """A small story with one right number."""
    draw = random.Random(f"{seed}/{number}")  # noqa: S311 - text, not a secret
    rows, seats, broken, guests = draw.randint(12, 29), draw.randint(13, 27), draw.randint(3, 11), draw.randint(40, 99)
    text = (
        f"A hall has {rows} rows of {seats} seats. {broken} seats are broken, and {guests} guests have come, each with "
        "one companion. How many good seats stay empty? End with the number alone on the last line."
    )
    return text, rows * seats - broken - 2 * guests


def judge(reply: Reply, answer: int, budget: int) -> Sample:
    """The right number, last, in a reply that ended by itself after some thought."""
    return judged(reply, _wrongs(reply, answer, budget))


def _wrongs(reply: Reply, answer: int, budget: int) -> Iterator[tuple[str, str, str]]:
    tokens = reply.usage.completion if reply.usage else None
    if tokens is not None and tokens > budget:
        yield "budget-exceeded", f"{tokens} tokens", f"at most {budget}"
    if not reply.reasoning:
        kind = "reasoning-in-answer" if "<think>" in reply.content else "thinking-not-on"
        yield kind, reply.content, "reasoning apart from the answer"
    if reply.finish != "stop":
        yield "truncated", f"{reply.content} (finish {reply.finish})", str(answer)
    numbers = _NUMBER.findall(reply.content.replace(",", ""))
    if not numbers or int(numbers[-1]) != answer:
        yield "incorrect", reply.content, str(answer)


def least(spec: Budgets, samples: Sequence[Entry], _: Sequence[Entry]) -> list[Computed]:
    """The smallest budget from which on everything passed."""
    if len(samples) != spec.requests:
        return []
    passed = [
        all(entry["outcome"] == Outcome.PASSED for entry in samples if entry["index"] // spec.each == number)
        for number in range(len(spec.budgets))
    ]
    enough = [budget for number, budget in enumerate(spec.budgets) if all(passed[number:])]
    return [Computed("least_budget", "min", enough[0], "tokens", len(samples))] if enough else []


def _shares(spec: Budgets) -> list[Share]:
    if len(spec.budgets) == 1:
        return []
    return [
        Share(
            spec.model_copy(update={"id": f"{spec.id}-{budget}", "budgets": (budget,), "requests": spec.each,
                                    "warmups": 0, "title": f"{spec.title or 'Thinking'}, {budget} tokens in all"}),
            range(number * spec.each, (number + 1) * spec.each),
        )
        for number, budget in enumerate(spec.budgets)
    ]  # fmt: skip


def _facts(spec: Budgets, samples: Sequence[Entry]) -> Mapping[str, Any]:
    return {
        "output_tokens": range_of(samples, "completion"),
        "output_budget": spec.budgets[0] if len(spec.budgets) == 1 else None,
        "thinking": f"effort {spec.effort}" if spec.effort else "on",
    }


PROBES = (
    Probe(
        "budgets", Budgets, MeasurementClass.FUNCTIONAL,
        "A thinking model gives the right number of a small story within an output budget that its reasoning shares; "
        "a budget that reasoning uses up is a failure of that class, not a wrong answer.",
        "That harder questions need no more, that the budget is divided as a client would like, or how well it thinks.",
        lambda spec: Cost(1, round(sum(spec.budgets) / len(spec.budgets)) + _PROMPT_TOKENS),
        ask_budgets, shares=_shares, figures=least, facts=_facts,
    ),
)  # fmt: skip
