"""Tool calls: offered, forced, streamed, several at once, continued with a result, and left alone."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field

from dossier.model.base import Count, Flag
from dossier.model.vocabulary import MeasurementClass
from dossier.runner.probes.base import Probe, Reply, Sample, Spec, budgeted, failed, missed, passed
from dossier.runner.session import Session
from dossier.wire.tools import ToolCall

NAME = "get_weather"
TOOL: Mapping[str, Any] = {
    "type": "function",
    "function": {
        "name": NAME,
        "description": "Get the current weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}
_CITIES = ("Oakland", "Lima", "Oslo", "Cairo", "Quito", "Hanoi", "Accra", "Perth")
_GARBAGE = re.compile(r"<<tool|<\||<tool_call|function=|\ufffd")
_PROMPT_TOKENS = 500


class Want(StrEnum):
    """How the tool is offered, and so what has to come."""

    AUTO = "auto"
    REQUIRED = "required"
    NAMED = "named"
    NONE = "none"
    PARALLEL = "parallel"
    RESULT = "result"


class Tools(Spec):
    """A weather tool and a question."""

    probe: Literal["tools"]
    want: Want = Want.AUTO
    calls: Annotated[Count, Field(ge=1, le=8, description="With `parallel`: how many cities are asked for.")] = 3
    stream: Flag = False
    max_tokens: Annotated[Count, Field(ge=1, le=65_536)] = 256


async def ask_tools(session: Session, spec: Tools, index: int) -> Sample:
    """Ask; verify calls by name and arguments, never by status."""
    cities = [_CITIES[(index + number) % len(_CITIES)] for number in range(spec.calls)]
    asked = cities if spec.want is Want.PARALLEL else cities[:1]
    messages: list[dict[str, Any]] = [{"role": "user", "content": _question(spec.want, asked)}]
    reply = await _send(session, spec, messages)
    first = verify(reply, spec.want, asked)
    if spec.want is not Want.RESULT or first.outcome != "passed":
        return first
    return await _continue(session, spec, [*messages, *_turn(reply.tools)], asked[0])


def _question(want: Want, cities: list[str]) -> str:
    if want is Want.NONE:
        return "What is two plus two? Answer in one word."
    return f"What is the weather now in {' and in '.join(cities)}? Use the tool for each city."


async def _send(session: Session, spec: Tools, messages: list[dict[str, Any]], choice: object = None) -> Reply:
    choices: dict[Want, object] = {
        Want.REQUIRED: "required",
        Want.NAMED: {"type": "function", "function": {"name": NAME}},
        Want.NONE: "none",
    }
    body = session.body("", spec.max_tokens, tools=[TOOL], tool_choice=choice or choices.get(spec.want, "auto"))
    body["messages"] = messages
    return await (session.stream(body) if spec.stream else session.whole(body))


def _turn(calls: tuple[ToolCall, ...]) -> list[dict[str, Any]]:
    """The assistant's calls as history, and a fixed result for each."""
    said = [
        {"id": call.id or f"call-{number}", "type": "function",
         "function": {"name": call.name, "arguments": call.arguments}}
        for number, call in enumerate(calls)
    ]  # fmt: skip
    result = json.dumps({"temperature": "72 F", "sky": "clear"})
    results = [{"role": "tool", "tool_call_id": call["id"], "content": result} for call in said]
    return [{"role": "assistant", "content": None, "tool_calls": said}, *results]


async def _continue(session: Session, spec: Tools, messages: list[dict[str, Any]], city: str) -> Sample:
    reply = await _send(session, spec, messages)
    if reply.failure is not None:
        return failed(reply, reply.failure)
    said = reply.content.casefold().replace(" ", "").replace("°", "")
    if city.casefold() not in said or "72" not in said:
        return missed(reply, "result-not-used", reply.content, f"{city} and 72 F")
    return passed(reply)


def verify(reply: Reply, want: Want, cities: list[str]) -> Sample:
    """Are the calls those that were asked for?"""
    if reply.failure is not None:
        return failed(reply, reply.failure)
    if not reply.tools and want in {Want.REQUIRED, Want.NAMED}:
        return missed(reply, "tool-choice-ignored", f"{reply.content} (finish {reply.finish})", f"a call of {NAME}")
    if _GARBAGE.search(reply.content):
        return missed(reply, "template-garbage", reply.content, "calls as calls, not as text")
    if want is Want.NONE:
        unwanted = ", ".join(str(call.name) for call in reply.tools)
        return missed(reply, "unwanted-call", unwanted, "no call") if unwanted else passed(reply)
    if not reply.tools:
        return missed(reply, "no-call", f"{reply.content} (finish {reply.finish})", f"a call of {NAME}")
    return _verify_calls(reply, want, cities)


def _verify_calls(reply: Reply, want: Want, cities: list[str]) -> Sample:
    for call in reply.tools:
        if told := _wrong(call):
            return missed(reply, *told)
    if want is Want.PARALLEL:
        seen = sorted(_arguments(call)["city"].casefold() for call in reply.tools)
        if not all(any(city.casefold() in text for text in seen) for city in cities) or len(seen) != len(cities):
            return missed(reply, "calls-missing", ", ".join(seen), ", ".join(cities))
    # A forced call may end with `stop` in several servers; a call that was not forced may not.
    forced = want in {Want.REQUIRED, Want.NAMED}
    if reply.finish != "tool_calls" and not (forced and reply.finish == "stop"):
        return missed(reply, "unexpected-finish", str(reply.finish), "tool_calls")
    return passed(reply)


def _wrong(call: ToolCall) -> tuple[str, str, str] | None:
    if call.name != NAME:
        return "wrong-tool", str(call.name), NAME
    arguments = _arguments(call)
    if not isinstance(arguments, dict):
        return "arguments-not-json", call.arguments, "a JSON object"
    city = arguments.get("city")
    if not isinstance(city, str) or not city.strip() or set(arguments) != {"city"}:
        return "arguments-invalid", call.arguments, 'an object with one text "city"'
    return None


def _arguments(call: ToolCall) -> Any:
    try:
        return json.loads(call.arguments)
    except (ValueError, RecursionError):
        return None


PROBES = (
    Probe(
        "tools", Tools, MeasurementClass.FUNCTIONAL,
        "Tool calls as asked for: name, arguments and finish reason are verified, and template text in the answer is "
        "looked for.",
        "That calls of other tools, deeper schemas or long histories come out right, or that the right moment for a "
        "call is found.",
        budgeted(_PROMPT_TOKENS, lambda spec: 2 if spec.want is Want.RESULT else 1),
        ask_tools,
    ),
)  # fmt: skip
