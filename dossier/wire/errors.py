"""What can go wrong on the wire: failure classes, a bounded `Failure` value, and the errors that carry one.

WireError(DossierError)   a request that got no usable answer; `.failure` says why
BadTargetError(UsageError)     a base URL or proxy that cannot be used at all

An exchange that fails is a *value* in a population, so every call that makes a sample returns a `Failure`;
`WireError` lives only between the layers below.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from dossier.errors import DossierError, UsageError

TEXT_LIMIT = 2048


class FailureClass(StrEnum):
    """Why an exchange is not a sample. Text and numbering are stable: journals keep them."""

    CONNECT = "connect"
    TLS = "tls"
    PROXY = "proxy"
    DISCONNECTED = "disconnected"
    DEADLINE = "deadline"
    IDLE = "idle-timeout"
    CANCELLED = "cancelled"
    HTTP_PROTOCOL = "http-protocol"
    OVERSIZE_BODY = "oversize-body"
    REDIRECT = "redirect"
    INVALID_REQUEST = "invalid-request"
    CONTEXT_EXCEEDED = "context-exceeded"
    AUTHENTICATION = "authentication"
    AUTHORIZATION = "authorization"
    NOT_FOUND = "not-found"
    TOO_LARGE = "too-large"
    RATE_LIMITED = "rate-limited"
    OVERLOADED = "overloaded"
    SERVER_ERROR = "server-error"
    HTTP_ERROR = "http-error"
    NOT_A_STREAM = "not-a-stream"
    BAD_EVENT = "bad-event"
    BAD_JSON = "bad-json"
    OVERSIZE_EVENT = "oversize-event"
    STREAM_ERROR = "stream-error"
    TRUNCATED = "truncated"
    NO_TERMINAL = "no-terminal-event"
    NO_FINISH = "no-finish-reason"
    EMPTY = "empty"
    REASONING_ONLY = "reasoning-only"
    WRONG_MODEL = "wrong-model"


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed exchange: its class and bounded text.

    `status` is the HTTP status where one was read; `code` is the server's own error type or code;
    `retry_after_s` is its Retry-After in seconds; `hop` names who answered (`server` and `via` headers).
    """

    kind: FailureClass
    message: str
    status: int | None = None
    code: str | None = None
    retry_after_s: float | None = None
    hop: str | None = None


class WireError(DossierError):
    """A request that got no usable answer."""

    def __init__(self, kind: FailureClass, message: str) -> None:
        super().__init__(message)
        self.failure = Failure(kind, bounded(message))


class BadTargetError(UsageError):
    """A base URL, a proxy or a key that cannot be used; nothing was sent."""


def bounded(text: str, limit: int = TEXT_LIMIT) -> str:
    """Keep at most `limit` characters, saying how many were left out."""
    return text if len(text) <= limit else f"{text[:limit]}... [{len(text) - limit} characters more]"
