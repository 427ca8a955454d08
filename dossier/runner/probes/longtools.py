"""A tool call among many definitions, and after a long text: the right tool, with the right arguments."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from dossier.model.base import Count, Flag
from dossier.model.vocabulary import CacheMode, MeasurementClass
from dossier.runner.haystack import code, haystack
from dossier.runner.journal import Entry
from dossier.runner.probes.base import Cost, Probe, Reply, Sample, Spec, Wanted, judged, range_of
from dossier.runner.session import Session

_VERBS = ("open", "close", "lift", "move", "count", "paint", "clean", "lock", "weigh", "label", "store", "repair")
_NOUNS = (
    "lamp", "box", "chair", "rope", "barrel", "coat", "map", "bell", "net", "jar", "ladder", "basket", "clock", "crate",
    "door", "gate", "engine", "mirror", "pump", "sail", "shelf", "table", "valve", "wagon",
)  # fmt: skip
_UNITS = ("metric", "imperial")
_MOST = len(_VERBS) * len(_NOUNS)
_TOOL_TOKENS, _LEAST_TOOL_TOKENS = 160, 12
_TOLERANCE = 0.05


class LongTools(Spec):
    """Many tools, one question."""

    probe: Literal["long-tools"]
    definitions: Annotated[Count, Field(ge=1, le=_MOST, description="How many tools are offered.")] = 64
    prompt_tokens: Annotated[Count, Field(ge=128, le=4_000_000)] | None = Field(
        None, description="Least actual prompt tokens; a text of that size stands before the question."
    )
    stream: Flag = False
    max_tokens: Annotated[Count, Field(ge=16, le=65_536)] = 256


@dataclass(frozen=True, slots=True)
class Task:
    """One question and the only right call."""

    question: str
    name: str
    arguments: Mapping[str, str]


async def ask_long_tools(session: Session, spec: LongTools, index: int) -> Sample:
    """Offer all the tools and ask for one of them."""
    task = task_of(spec, f"{session.seed}/{spec.id}", index)
    text = haystack(f"{session.seed}/{spec.id}/{index}", session.sizes[spec.id]) + "\n\n" if spec.prompt_tokens else ""
    body = session.body(text + task.question, spec.max_tokens, tools=definitions(spec.definitions), tool_choice="auto")
    reply: Reply = await (session.stream(body) if spec.stream else session.whole(body))
    return judge(reply, spec, task)


def definitions(count: int) -> list[dict[str, Any]]:
    """So many different tools of one shape."""
    return [
        {
            "type": "function",
            "function": {
                "name": f"{verb}_{noun}",
                "description": f"{verb.capitalize()} one {noun} of the warehouse, by its id.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "id": {"type": "string", "description": f"The id of the {noun}, such as 1234-5678."},
                        "units": {"type": "string", "enum": list(_UNITS), "description": "Units of the report."},
                    },
                    "required": ["id", "units"],
                    "additionalProperties": False,
                },
            },
        }
        for verb, noun in _pairs(count)
    ]


def task_of(spec: LongTools, seed: str, index: int) -> Task:
    """The task of one request: tools take turns, from all over the list."""
    draw = random.Random(f"{seed}/task/{index}")  # noqa: S311 - text, not a secret
    verb, noun = draw.choice(_pairs(spec.definitions))
    item, units = code(draw), draw.choice(_UNITS)
    question = f"Please {verb} the {noun} with the id {item} and report in {units} units. Use the one tool for that."
    return Task(question, f"{verb}_{noun}", {"id": item, "units": units})


def _pairs(count: int) -> list[tuple[str, str]]:
    return [(verb, noun) for verb in _VERBS for noun in _NOUNS][:count]


def judge(reply: Reply, spec: LongTools, task: Task) -> Sample:
    """One call, of that tool, with those arguments."""
    return judged(reply, _wrongs(reply, spec, task))


def _wrongs(reply: Reply, spec: LongTools, task: Task) -> Iterator[tuple[str, str, str]]:
    prompt = reply.usage.prompt if reply.usage else None
    if spec.prompt_tokens is not None and (prompt is None or prompt < (1 - _TOLERANCE) * spec.prompt_tokens):
        yield "prompt-size", f"{prompt} tokens", f"at least {spec.prompt_tokens} tokens"
    if prompt is not None and prompt < _LEAST_TOOL_TOKENS * spec.definitions:
        # A template that knows no tools leaves them out, and the server says nothing of it.
        yield "definitions-dropped", f"{prompt} prompt tokens", f"{spec.definitions} definitions in the prompt"
    wanted = f"{task.name} {json.dumps(task.arguments)}"
    if not reply.tools:
        yield "no-call", f"{reply.content} (finish {reply.finish})", wanted
        return
    if len(reply.tools) > 1:
        yield "too-many-calls", ", ".join(str(call.name) for call in reply.tools), wanted
    call = reply.tools[0]
    if call.name != task.name:
        yield "wrong-tool", str(call.name), wanted
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError):
        yield "arguments-not-json", call.arguments, wanted
        return
    if arguments != task.arguments:
        yield "arguments-wrong", call.arguments, wanted
    if reply.finish != "tool_calls":
        yield "unexpected-finish", str(reply.finish), "tool_calls"


def _facts(spec: LongTools, samples: Sequence[Entry]) -> Mapping[str, Any]:
    return {
        "target_tokens": spec.prompt_tokens,
        "prompt_tokens": range_of(samples, "prompt"),
        "output_budget": spec.max_tokens,
        "cache": CacheMode.UNIQUE.value if spec.prompt_tokens else None,
    }


def _sizes(spec: LongTools) -> dict[str, Wanted]:
    return {} if spec.prompt_tokens is None else {spec.id: Wanted(spec.prompt_tokens, _TOLERANCE, haystack)}


PROBES = (
    Probe(
        "long-tools", LongTools, MeasurementClass.FUNCTIONAL,
        "A tool call among many definitions, after a long text where one is asked for: one call, of the right tool, "
        "with exactly the right arguments.",
        "That tools with other or deeper schemas, or several calls in a row, come out right at that size.",
        lambda spec: Cost(1, round(1.05 * (spec.prompt_tokens or 0)) + _TOOL_TOKENS * spec.definitions
                          + spec.max_tokens),
        ask_long_tools,
        lambda spec: Cost(14, 5 * spec.prompt_tokens + 2000) if spec.prompt_tokens else Cost(0, 0),
        _sizes, facts=_facts,
    ),
)  # fmt: skip
