"""Quality suites: every item as often as all others, its whole answer decided by a program."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

import jsonschema_rs
from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from dossier.errors import UsageError
from dossier.model.base import Count, Line
from dossier.model.vocabulary import MeasurementClass
from dossier.runner.figure import Figure as Computed
from dossier.runner.journal import Entry
from dossier.runner.outcome import Outcome
from dossier.runner.probes.base import Cost, Probe, Reply, Sample, Spec, Thinking, failed, missed, passed, switched
from dossier.runner.sandbox import code_of, run_tests
from dossier.runner.scrub import unquoted
from dossier.runner.session import Session
from dossier.runner.suite import Check, load, schema_of, shipped

_PROMPT_TOKENS = 400
_LETTER = re.compile(r"\(?([A-H])\)?[.)]?")
_MOST_ANSWER = 20_000


class Suites(Spec):
    """A suite, by the name of a shipped one or by its path below the working folder."""

    probe: Literal["suite"]
    suite: Line
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = Field(
        None, description="Found when the plan is read; a plan that states it refuses any other suite."
    )
    items: Count = Field(0, description="Found when the plan is read.")
    reserve: Annotated[Count, Field(le=65_536, description="Output for reasoning, beside each item's own.")] = 0
    thinking: Thinking = "default"

    @model_validator(mode="before")
    @classmethod
    def _found(cls, data: Any) -> Any:
        """Look the suite up, unless the plan comes from a journal and says all."""
        if not isinstance(data, dict) or not isinstance(data.get("suite"), str):
            return data
        if data.get("sha256") and data.get("items"):
            return data
        try:
            suite, digest = load(data["suite"], data.get("sha256"))
        except UsageError as error:
            raise PydanticCustomError("plan/suite", "{text}", {"text": str(error)}) from None
        return data | {"sha256": digest, "items": str(len(suite.items))}

    @model_validator(mode="after")
    def _consistent(self) -> Suites:
        if self.items == 0 or self.requests % self.items:
            text = f"`requests` is a multiple of the {self.items} items of {self.suite}: each as often as all others"
            raise PydanticCustomError("plan/suite", "{text}", {"text": text})
        return self


async def ask_suite(session: Session, spec: Suites, index: int) -> Sample:
    """One item; all of them come once before any comes again."""
    suite, _ = load(spec.suite, spec.sha256)
    item = suite.items[index % len(suite.items)]
    body = session.body(item.prompt, item.max_tokens + spec.reserve, **switched(spec.thinking))
    sample = await judge(await session.stream(body), item.id, item.check)
    return sample if spec.suite in shipped() else _private(sample, item.prompt)


def _private(sample: Sample, prompt: str) -> Sample:
    """The operator's own prompts are published nowhere, not even where a reply or an error quotes them."""
    text, observed = (unquoted(said, prompt) if said else said for said in (sample.text, sample.observed))
    return replace(sample, text=text, observed=observed)


async def judge(reply: Reply, item: str, check: Check) -> Sample:
    """The whole visible answer, in a reply that ended by itself, against the item's check."""
    if reply.failure is not None:
        return failed(reply, reply.failure)
    wanted, facts = _wanted(check), {"item": item}
    if reply.finish != "stop":
        return missed(reply, "truncated", f"{item}: {reply.content} (finish {reply.finish})", wanted, **facts)
    if not reply.content.strip():
        return missed(reply, "answer-missing", f"{item}: {reply.reasoning}", wanted, **facts)
    if check.code is not None:
        return await _run(reply, item, check.code)
    if kind := _wrong(reply.content[:_MOST_ANSWER], check):
        return missed(reply, kind, f"{item}: {reply.content}", wanted, **facts)
    return passed(reply, **facts)


async def _run(reply: Reply, item: str, tests: str) -> Sample:
    ran = await run_tests(code_of(reply.content), tests)
    facts = {"item": item, "sandbox": " ".join(ran.held)}
    if ran.kind is None:
        return passed(reply, **facts)
    sample = missed(reply, ran.kind, f"{item}: {ran.told}", "code that passes the item's tests", **facts)
    # A sandbox that does not start says nothing about the code.
    return replace(sample, outcome=Outcome.FAILED) if ran.kind == "sandbox-failed" else sample


def _wrong(answer: str, check: Check) -> str | None:
    """Why an answer is not right; None where it is."""
    said = answer.strip()
    if check.choice is not None:
        letter = _LETTER.fullmatch(said.strip("*` "))
        return "no-choice" if letter is None else ("incorrect" if letter[1] != check.choice else None)
    if check.exact is not None:
        return None if _plain(said) == _plain(check.exact) else "incorrect"
    if check.pattern is not None:
        return None if re.fullmatch(check.pattern, said) else "incorrect"
    try:
        value = json.loads(said)
    except (ValueError, RecursionError):
        return "not-json"
    return None if jsonschema_rs.is_valid(schema_of(check), value) else "schema-violated"


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".")


def _wanted(check: Check) -> str:
    if check.structure is not None:
        return "JSON, and nothing else, valid under the item's schema"
    return check.choice or check.exact or f"an answer of the form {check.pattern}"


def stability(spec: Suites, samples: Sequence[Entry], _: Sequence[Entry]) -> list[Computed]:
    """How many items passed every time, and how many only sometimes; of a run in which each came as often."""
    if len(samples) != spec.requests or spec.requests == spec.items:
        return []
    right = [0] * spec.items
    for entry in samples:
        right[entry["index"] % spec.items] += entry["outcome"] == Outcome.PASSED
    repetitions = spec.requests // spec.items
    title = f"of {spec.items} items, {repetitions} times each"
    always, sometimes = right.count(repetitions), sum(0 < count < repetitions for count in right)
    return [
        Computed("stable_items", "total", always, "items", spec.items, title=f"Always right, {title}"),
        Computed("unstable_items", "total", sometimes, "items", spec.items, title=f"Sometimes right, {title}"),
    ]


def _facts(spec: Suites, samples: Sequence[Entry]) -> Mapping[str, Any]:
    held = sorted({word for entry in samples for word in entry.get("facts", {}).get("sandbox", "").split()})
    return {
        "suite": f"{spec.suite}, sha256:{spec.sha256}",
        "repetitions": spec.requests // spec.items,
        "thinking": spec.thinking,
        **({"protocol": f"code ran in a sandbox that held: {', '.join(held)}"} if held else {}),
    }


def _cost(spec: Suites) -> Cost:
    try:
        suite, _ = load(spec.suite, spec.sha256)
        longest = max(item.max_tokens + len(item.prompt) // 3 for item in suite.items)
    except UsageError:
        longest = _PROMPT_TOKENS
    return Cost(1, longest + _PROMPT_TOKENS + spec.reserve)


PROBES = (
    Probe(
        "suite", Suites, MeasurementClass.QUALITY,
        "The items of a suite of known digest, each as often as all others: the whole visible answer is decided by "
        "choice, exact text, a pattern, a schema, or by running its code against tests.",
        "Intelligence, or quality on other tasks: a small suite finds what is broken, and ranks nothing by a few "
        "items; answers in another form than asked for count as wrong. The sandbox for code guards against accidents "
        "only: it does not keep code from reading the runner's files.",
        _cost, ask_suite, figures=stability, facts=_facts,
    ),
)  # fmt: skip
