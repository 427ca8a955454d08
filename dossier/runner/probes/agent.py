"""Tool loops: a model works with tools that the harness owns, and each stage of the work is judged apart."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field

from dossier.model.base import Count
from dossier.model.vocabulary import MeasurementClass
from dossier.runner.figure import Figure as Computed
from dossier.runner.figure import statistics_of
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
from dossier.runner.warehouse import TOOLS, Task, Warehouse, warehouse
from dossier.runner.whole import Whole

_SAID = re.compile(r"\d+(?:-\d+)?")
_TOKENS = 700
STAGES = ("protocol", "calls", "recovery", "effects", "answer")
_KINDS = dict(
    zip(STAGES, ("protocol-failure", "calls-missing", "not-recovered", "wrong-effect", "wrong-answer"), strict=True)
)


class Agent(Spec):
    """Tasks in a small warehouse, in turn, each in a world of its own."""

    probe: Literal["agent"]
    tasks: Annotated[tuple[Task, ...], Field(min_length=1, max_length=20)] = tuple(Task)
    steps: Annotated[Count, Field(ge=1, le=50, description="Replies at most; a task that needs more has failed.")] = 8
    max_tokens: Annotated[Count, Field(ge=16, le=65_536, description="Output of each reply.")] = 512
    thinking: Thinking = "default"


async def ask_agent(session: Session, spec: Agent, index: int) -> Sample:
    """Ask, do the calls, tell the results, until an answer comes or the steps are used up."""
    world = warehouse(spec.tasks[index % len(spec.tasks)], f"{session.seed}/{spec.id}/{index}")
    messages: list[dict[str, Any]] = [{"role": "user", "content": world.question}]
    for step in range(1, spec.steps + 1):
        body = session.body("", spec.max_tokens, tools=list(TOOLS), tool_choice="auto", **switched(spec.thinking))
        reply = await session.whole(body | {"messages": messages})
        if reply.failure is not None:
            sample = failed(reply, reply.failure)
            return replace(sample, observed=f"{world.task}, step {step}: {sample.observed}")
        if not reply.tools:
            return judge(reply, world, step)
        messages = [*messages, *_done(reply, world, step)]
    facts = _facts_of(world, spec.steps, dict.fromkeys(STAGES, False))
    return missed(reply, "step-limit", f"{world.task}: no answer", f"an answer within {spec.steps} replies", **facts)


def _done(reply: Whole, world: Warehouse, step: int) -> list[dict[str, Any]]:
    """The assistant's turn as history, and the result of every call."""
    calls = [(call.id or f"call-{step}-{number}", call) for number, call in enumerate(reply.tools)]
    said = [
        {"id": id_, "type": "function", "function": {"name": call.name or "", "arguments": call.arguments}}
        for id_, call in calls
    ]
    results = [
        {"role": "tool", "tool_call_id": id_, "content": world.call(call.name, call.arguments)} for id_, call in calls
    ]
    return [{"role": "assistant", "content": reply.content or None, "tool_calls": said}, *results]


def judge(reply: Whole, world: Warehouse, steps: int) -> Sample:
    """Every stage apart; the first that is not met names the miss. A reading too many is counted and does no harm."""
    met = stages(reply, world)
    facts = _facts_of(world, steps, met)
    if reply.finish != "stop":
        told = f"{world.task}: {reply.content} (finish {reply.finish})"
        return missed(reply, "truncated", told, "an answer that ends by itself", **facts)
    wrong = next((stage for stage in STAGES if not met[stage]), None)
    if wrong is None:
        return passed(reply, **facts)
    observed, expected = _told(wrong, reply, world)
    return missed(reply, _KINDS[wrong], f"{world.task}: {observed}", expected, **facts)


def stages(reply: Whole, world: Warehouse) -> dict[str, bool]:
    """Which stages were met: well-formed calls, all that were needed, a retry, the right effects, the answer."""
    said = _SAID.findall(reply.content.replace(",", ""))
    wanted = [world.reservation[:2]] if world.reservation is not None else []
    return {
        "protocol": not world.wrong,
        "calls": all(call in world.made for call in world.needed) and (bool(world.needed) or not world.made),
        "recovery": not world.fails_once or world.recovered,
        "effects": world.reserved == wanted,
        "answer": bool(said) and said[-1] == world.answer,
    }


def _told(stage: str, reply: Whole, world: Warehouse) -> tuple[str, str]:
    made = ", ".join(f"{name} {what}" for name, what in world.made) or "no call"
    needed = ", ".join(f"{name} {what}" for name, what in world.needed) or "no call"
    return {
        "protocol": ("; ".join(world.wrong), "calls of the tools, by their schemas"),
        "calls": (made, needed),
        "recovery": (made, "the same call again after a passing error"),
        "effects": (
            f"reserved {world.reserved}",
            f"reserved {world.reservation[:2] if world.reservation else 'nothing'}",
        ),
        "answer": (reply.content, world.answer),
    }[stage]


def _facts_of(world: Warehouse, steps: int, met: Mapping[str, bool]) -> dict[str, Any]:
    extra = len(world.made) - len(world.needed)
    return {"task": world.task.value, "steps": steps, "calls": len(world.made), "extra": max(0, extra),
            "stages": [stage for stage in STAGES if met[stage]]}  # fmt: skip


def scores(_: Agent, samples: Sequence[Entry], __: Sequence[Entry]) -> list[Computed]:
    """How often each stage was met, and how many replies a passed task took."""
    told = [entry for entry in samples if entry["outcome"] != Outcome.FAILED and "facts" in entry]
    if not told:
        return []
    found = [
        Computed("stage_rate", "rate", 100 * sum(stage in entry["facts"]["stages"] for entry in told) / len(told), "%",
                 len(told), title=f"Stage {stage}", label=stage)
        for stage in STAGES
    ]  # fmt: skip
    steps = [entry["facts"]["steps"] for entry in told if entry["outcome"] == Outcome.PASSED]
    return found + statistics_of("model_requests", "requests", steps)


def _facts(spec: Agent, samples: Sequence[Entry]) -> Mapping[str, Any]:
    extra = sum(entry.get("facts", {}).get("extra", 0) for entry in samples)
    return {"output_budget": spec.max_tokens, "thinking": spec.thinking,
            "protocol": f"chat-completions with tools; {extra} readings beyond the needed ones"}  # fmt: skip


def _cost(spec: Agent) -> Cost:
    return conversation(spec.steps, _TOKENS + spec.max_tokens)


PROBES = (
    Probe(
        "agent", Agent, MeasurementClass.AGENTIC,
        "Tasks in a small warehouse of the harness, by tools: well-formed calls, the needed ones, a retry after a "
        "passing error, exactly the asked effects, and the right answer, each judged apart.",
        "Work with real tools, files, code or a long plan; a dozen small tasks rank no agents.",
        _cost, ask_agent, figures=scores, facts=_facts,
    ),
)  # fmt: skip
