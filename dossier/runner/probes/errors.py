"""Refusals: what must not be answered is refused with a clear 4xx, and the server lives on."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from dossier.model.vocabulary import MeasurementClass
from dossier.runner.outcome import Outcome
from dossier.runner.probes.base import Cost, Probe, Sample, Spec, excerpt, failed
from dossier.runner.session import Session
from dossier.wire import api
from dossier.wire.client import Request
from dossier.wire.decode import Protocol
from dossier.wire.errors import Failure, FailureClass, WireError
from dossier.wire.receive import Body
from dossier.wire.status import http_failure
from dossier.wire.trace import Trace

_UNKNOWN_MODEL = "dossier-no-such-model"
_DEFAULT_CONTEXT = 131_072


class Wrong(StrEnum):
    """What is wrong with the request."""

    MODEL = "model"
    LENGTH = "length"
    JSON = "json"


class Refusals(Spec):
    """A request that must be refused."""

    probe: Literal["errors"]
    wrong: Wrong


_EXPECTED = {
    Wrong.MODEL: frozenset({FailureClass.NOT_FOUND, FailureClass.INVALID_REQUEST}),
    Wrong.LENGTH: frozenset({FailureClass.CONTEXT_EXCEEDED, FailureClass.TOO_LARGE, FailureClass.INVALID_REQUEST}),
    Wrong.JSON: frozenset({FailureClass.INVALID_REQUEST}),
}


async def ask_errors(session: Session, spec: Refusals, _: int) -> Sample:
    """Send what is wrong, expect the refusal, then see that the server still lists its models."""
    sample = await _send(session, spec.wrong)
    if sample.outcome is not Outcome.PASSED:
        return sample
    session.budget.request()
    reply, _served = await api.models(session.client)
    return failed(None, reply.failure) if reply.failure is not None else sample


async def _send(session: Session, wrong: Wrong) -> Sample:
    if wrong is Wrong.JSON:
        return _judge(await _raw(session, b'{"model": "x", "messages": ['), wrong, "")
    body = session.body("Reply with one word.", 8)
    if wrong is Wrong.MODEL:
        body["model"] = _UNKNOWN_MODEL
    else:
        words = " word" * ((session.context or _DEFAULT_CONTEXT) + 1000)
        body["messages"] = [{"role": "user", "content": words}]
    session.budget.request()
    reply = await api.generate(session.client, Protocol.CHAT, body)
    said = reply.data if isinstance(reply.data, dict) else {}
    return _judge(reply.failure, wrong, f"answered as {said.get('model')!r}")


async def _raw(session: Session, sent: bytes) -> Failure | None:
    session.budget.request()
    receiver, trace = Body(session.client.limits.max_body), Trace()
    request = Request("POST", session.client.target.api + Protocol.CHAT, sent)
    try:
        await session.client.send(request, receiver, trace)
    except WireError as error:
        return error.failure
    status = trace.status or 0
    if 200 <= status < 300:
        return None
    return session.client.scrub(http_failure(status, trace.headers, bytes(receiver.data)))


def _judge(failure: Failure | None, wrong: Wrong, said: str) -> Sample:
    wanted = " or ".join(sorted(_EXPECTED[wrong]))
    if failure is None:
        kind = {Wrong.MODEL: "wrong-model-accepted", Wrong.LENGTH: "overlong-accepted"}.get(wrong, "bad-json-accepted")
        return Sample(Outcome.MISSED, kind=kind, observed=excerpt(said or "HTTP 200"), expected=wanted)
    if failure.status is None:
        return failed(None, failure)
    if failure.kind not in _EXPECTED[wrong]:
        told = f"{failure.kind}: {failure.message} (HTTP {failure.status})"
        return Sample(Outcome.MISSED, kind="unclear-refusal", observed=excerpt(told), expected=wanted)
    return Sample(Outcome.PASSED, observed=excerpt(f"{failure.kind} (HTTP {failure.status}): {failure.message}"))


PROBES = (
    Probe(
        "errors", Refusals, MeasurementClass.COMPATIBILITY,
        "A request that must be refused (unknown model, prompt beyond the context, broken JSON) gets a 4xx that says "
        "so, and the server still answers.",
        "That every malformed request is refused, or that unknown fields are.",
        lambda _: Cost(2, 0), ask_errors,
    ),
)  # fmt: skip
