"""HTTP replies to failures: class by status and text, message from the four error shapes, Retry-After, hop."""

from __future__ import annotations

import email.utils
import json
import re
import time
from collections.abc import Callable, Mapping
from typing import Any

from dossier.wire.errors import Failure, FailureClass, bounded
from dossier.wire.events import Fault, fault_of

BODY_LIMIT = 4096

_BY_STATUS = {
    400: FailureClass.INVALID_REQUEST,
    401: FailureClass.AUTHENTICATION,
    403: FailureClass.AUTHORIZATION,
    404: FailureClass.NOT_FOUND,
    413: FailureClass.TOO_LARGE,
    422: FailureClass.INVALID_REQUEST,
    429: FailureClass.RATE_LIMITED,
    503: FailureClass.OVERLOADED,
}
_CONTEXT = re.compile(
    r"context[ _-]?(length|size|window)|maximum context|exceed_context|max_model_len|max_total_tokens"
    r"|longer than the model|`?inputs`? tokens \+ `?max_new_tokens`?",
    re.IGNORECASE,
)


def http_failure(status: int, headers: Mapping[str, str], body: bytes, now: Callable[[], float] = time.time) -> Failure:
    """The failure that a reply outside 2xx stands for."""
    fault = _fault(body)
    return Failure(
        kind=_kind(status, fault),
        message=bounded(fault.message or f"HTTP {status} without a body"),
        status=status,
        code=bounded(fault.code, 100) if fault.code else None,
        retry_after_s=_retry_after(headers.get("retry-after"), now),
        hop=_hop(headers),
    )


def parse_json(body: bytes) -> Any:
    """Parse JSON. Raises ValueError for anything that is not, absurdly deep nesting included."""
    try:
        return json.loads(body.decode("utf-8"))
    except RecursionError as error:
        raise ValueError("JSON is nested too deeply") from error


def _fault(body: bytes) -> Fault:
    try:
        payload = parse_json(body)
    except ValueError:
        payload = None
    fault = fault_of(payload) if isinstance(payload, Mapping) else None
    return fault or Fault(body[:BODY_LIMIT].decode("utf-8", "replace").strip())


def _kind(status: int, fault: Fault) -> FailureClass:
    if status in (400, 413, 422) and _CONTEXT.search(f"{fault.code or ''} {fault.message}"):
        return FailureClass.CONTEXT_EXCEEDED
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if 300 <= status < 400:
        return FailureClass.REDIRECT
    return FailureClass.SERVER_ERROR if status >= 500 else FailureClass.HTTP_ERROR


def _retry_after(value: str | None, now: Callable[[], float]) -> float | None:
    if value is None:
        return None
    if value.strip().isdigit():
        return float(value)
    try:
        when = email.utils.parsedate_to_datetime(value).timestamp()
    except (ValueError, OverflowError):
        return None
    return max(0.0, when - now())


def _hop(headers: Mapping[str, str]) -> str | None:
    parts = [f"{name}: {headers[name][:100]}" for name in ("server", "via") if headers.get(name)]
    return "; ".join(parts) or None
