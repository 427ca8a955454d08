"""What one stream event means, whatever the server's habits: Delta, Usage, Finish, Named, Fault.

A decoder takes the JSON of one SSE event and yields these; it keeps no state, so tool deltas still carry the
server's own index and id, or None where it sent none (`tools.ToolJoin` puts the pieces together).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolDelta:
    """A piece of one tool call, as sent."""

    index: int | None
    id: str | None
    name: str | None
    arguments: str


@dataclass(frozen=True, slots=True)
class Delta:
    """Output of one choice: visible text, reasoning text, tool-call pieces; all may be empty."""

    content: str = ""
    reasoning: str = ""
    tools: tuple[ToolDelta, ...] = ()
    choice: int = 0

    def __bool__(self) -> bool:
        return bool(self.content or self.reasoning or any(_says_something(tool) for tool in self.tools))


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts as the server states them; None where it does not."""

    prompt: int | None = None
    completion: int | None = None
    reasoning: int | None = None
    cached: int | None = None


@dataclass(frozen=True, slots=True)
class Finish:
    """The server's reason for ending one choice."""

    reason: str
    choice: int = 0


@dataclass(frozen=True, slots=True)
class Named:
    """What the reply says about itself; None where an event does not say."""

    id: str | None = None
    model: str | None = None
    fingerprint: str | None = None


@dataclass(frozen=True, slots=True)
class Terminal:
    """The event that ends a stream: `[DONE]`, `response.completed`, `response.incomplete`..."""

    name: str


@dataclass(frozen=True, slots=True)
class Fault:
    """An error that the server reports inside a stream whose status was 200."""

    message: str
    code: str | None = None


Event = Delta | Usage | Finish | Named | Terminal | Fault


def _says_something(tool: ToolDelta) -> bool:
    return bool(tool.id or tool.name or tool.arguments)


def usage_of(raw: object) -> Usage | None:
    """Read a `usage` object of any protocol; None when it is absent, null or says nothing."""
    if not isinstance(raw, dict):
        return None
    prompt_details = _mapping(raw, "prompt_tokens_details", "input_tokens_details")
    output_details = _mapping(raw, "completion_tokens_details", "output_tokens_details")
    usage = Usage(
        prompt=_count(raw, "prompt_tokens", "input_tokens"),
        completion=_count(raw, "completion_tokens", "output_tokens"),
        reasoning=_first(_count(output_details, "reasoning_tokens"), _count(raw, "reasoning_tokens")),
        cached=_count(prompt_details, "cached_tokens"),
    )
    return None if usage == Usage() else usage


def fault_of(payload: Json) -> Fault | None:
    """Read any of the known error shapes; None when the payload is no error.

    Shapes: `{"error": {"message", "type", "code"}}`, `{"object": "error", "message", ...}`,
    `{"error": "text", "error_type": "..."}`, `{"error": "text"}`, `{"detail": ...}` (FastAPI).
    """
    error = payload.get("error")
    if isinstance(error, dict):
        return Fault(_text(error.get("message")) or _text(dict(error)), _code(error))
    if error:
        return Fault(_text(error), _text(payload.get("error_type")) or None)
    if payload.get("object") == "error" or payload.get("type") == "error":
        return Fault(_text(payload.get("message")) or "error without a message", _code(payload))
    if "detail" in payload and "choices" not in payload:
        return Fault(_text(payload["detail"]))
    return None


def _mapping(raw: Json, *names: str) -> Json:
    for name in names:
        value = raw.get(name)
        if isinstance(value, dict):
            return value
    return {}


def _count(raw: Json, *names: str) -> int | None:
    for name in names:
        value = raw.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
    return None


def _first(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)


def _code(error: Json) -> str | None:
    for name in ("type", "code"):
        value = error.get(name)
        if value and value != "error":
            return _text(value)
    return None


def _text(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)
