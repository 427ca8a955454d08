"""The reference server's schedule: what one reply holds and when each piece is due, chosen by the request."""

from __future__ import annotations

import random
from enum import StrEnum
from itertools import accumulate
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

NS_PER_MS = 1_000_000


class Fault(StrEnum):
    """Misbehaviour on demand; `fault_at` output chunks are sent first where that makes sense."""

    NONE = "none"
    RESET = "reset"
    """The connection is reset."""
    EOF = "eof"
    """The connection is closed in the middle of the body."""
    TRUNCATED = "truncated"
    """The body ends properly, with neither a finish reason nor `[DONE]`."""
    NO_DONE = "no-done"
    NO_FINISH = "no-finish"
    ERROR = "error"
    """An error object in the 200 stream, then `[DONE]`."""
    GARBAGE = "garbage"
    """An event whose data is not JSON."""
    DRIP = "drip"
    """Comment lines for ever, one a gap."""
    HANG = "hang"
    """Silence on an open connection."""
    SILENT = "silent"
    """No reply at all."""
    LEFT_OPEN = "left-open"
    """Everything is sent but the end of the HTTP body."""
    EMPTY = "empty"
    """A finish reason and usage, but no output."""
    WRONG_MODEL = "wrong-model"
    STATUS = "status"
    """An HTTP error, see `status` and `retry_after`."""
    REDIRECT = "redirect"
    """One 307 to the same path."""
    HTML = "html"
    """A web page with status 200."""
    JSON = "json"
    """A whole JSON reply although a stream was asked for."""
    BAD_HTTP = "bad-http"
    CLOSE_AFTER = "close-after"
    """A right reply; then the connection is closed without having said so."""


class Reasoning(StrEnum):
    """Under which name reasoning text is sent."""

    CONTENT = "reasoning_content"
    SHORT = "reasoning"


class ToolStyle(StrEnum):
    """How tool deltas are numbered."""

    FULL = "full"
    NO_INDEX = "no-index"
    NO_ID = "no-id"
    FROM_ONE = "from-one"
    ALL_ZERO = "all-zero"


class UsageStyle(StrEnum):
    """When usage is sent: as asked by `stream_options`, on the finish chunk, on every chunk, or never."""

    ASKED = "asked"
    LAST = "last"
    CONTINUOUS = "continuous"
    NEVER = "never"


class Role(StrEnum):
    """What the opening chunk holds besides the role; `none`: there is no opening chunk."""

    EMPTY = "empty"
    NULL = "null"
    NONE = "none"


class Newline(StrEnum):
    """How event lines end."""

    LF = "\n"
    CRLF = "\r\n"
    CR = "\r"


Count = Annotated[int, Field(ge=0, le=1_000_000)]
Millis = Annotated[float, Field(ge=0, le=600_000, allow_inf_nan=False)]


class Call(BaseModel):
    """One tool call; `arguments` is sent as it is, JSON or not."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    arguments: str


class Schedule(BaseModel):
    """One reply. Chunk i is due `ttft_ms + i * gap_ms` after the request was received, whatever was late before.

    The first `reasoning` tokens are reasoning, the rest visible text, `per_chunk` tokens a chunk; `tools` calls
    follow, two chunks each, those of `calls` where it names them. `jitter_ms` shifts each chunk by a seeded uniform
    draw from [0, jitter_ms]. `pad` adds that many bytes to every output event; `split` cuts every write into pieces
    of that many bytes.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    ttft_ms: Millis = 100.0
    gap_ms: Millis = 10.0
    tokens: Count = 64
    per_chunk: Annotated[int, Field(ge=1, le=10_000)] = 1
    text: str | None = None
    reasoning: Count = 0
    reasoning_field: Reasoning = Reasoning.CONTENT
    tools: Annotated[int, Field(ge=0, le=128)] = 0
    calls: tuple[Call, ...] = ()
    tool_style: ToolStyle = ToolStyle.FULL
    finish: str | None = None
    usage: UsageStyle = UsageStyle.ASKED
    cached: Count | None = None
    role: Role = Role.EMPTY
    jitter_ms: Millis = 0.0
    seed: int = 0
    newline: Newline = Newline.LF
    pings: bool = False
    named_event: bool = False
    gzip: bool = False
    pad: Annotated[int, Field(ge=0, le=64 * 1024 * 1024)] = 0
    split: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    fault: Fault = Fault.NONE
    fault_at: Count = 3
    status: Annotated[int, Field(ge=300, le=599)] = 503
    retry_after: str | None = None

    @property
    def chunks(self) -> int:
        """How many chunks carry output when nothing goes wrong."""
        visible = self.tokens - min(self.reasoning, self.tokens)
        reasoning = self.tokens - visible
        return -(-reasoning // self.per_chunk) + -(-visible // self.per_chunk) + 2 * self.tools

    def due_ns(self) -> list[int]:
        """When each output chunk is due, in nanoseconds after the request was received."""
        draw = random.Random(self.seed)  # noqa: S311 - a schedule, not a secret
        first, gap, jitter = (value * NS_PER_MS for value in (self.ttft_ms, self.gap_ms, self.jitter_ms))
        due = (round(first + index * gap + draw.uniform(0, jitter)) for index in range(self.chunks))
        return list(accumulate(due, max))
