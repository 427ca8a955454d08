"""Acceptance of a real client: it reads a file by its own tools, through the server, and gives back what stands there.

First with the server cut off: a client that answers then has another source, and has not been tested at all.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from dossier.model.base import Count, Line
from dossier.model.vocabulary import MeasurementClass
from dossier.runner.command import Ran, filled, require_public, run_command
from dossier.runner.figure import Figure as Computed
from dossier.runner.figure import statistics_of
from dossier.runner.journal import Entry
from dossier.runner.outcome import Outcome
from dossier.runner.probes.base import Cost, Probe, Sample, Spec
from dossier.runner.relay import Relay, Relayed
from dossier.runner.session import Session

_NAMES = ("base_url", "model", "prompt", "nonce_file", "folder")
_GENERATES = ("completions", "responses", "messages")


class Client(Spec):
    """A command that asks the server; `{base_url}`, `{model}`, `{prompt}`, `{nonce_file}`, `{folder}` are put in.

    No shell is started, and no key is given: the address is of a relay that holds it.
    """

    probe: Literal["client"]
    client: Line = Field(description="The client's name and version, as published.")
    command: Annotated[tuple[Line, ...], Field(min_length=1, max_length=100)]
    environment: tuple[Line, ...] = Field((), description="Names of variables that the command may see as well.")
    seconds: Annotated[Count, Field(ge=1, le=86_400)] = 300
    most_requests: Annotated[Count, Field(ge=1, le=10_000, description="Requests that are sent on, at most.")] = 50
    most_tokens: Annotated[Count, Field(ge=1, description="Of all these requests, for the dry run.")] = 500_000

    @model_validator(mode="after")
    def _consistent(self) -> Client:
        try:
            filled(self.command, dict.fromkeys(_NAMES, ""))
            require_public(self.command)
        except ValueError as error:
            raise PydanticCustomError("plan/command", "{text}", {"text": str(error)}) from None
        if not any("{prompt}" in part or "{nonce_file}" in part for part in self.command):
            text = "the command is given {prompt}, or {nonce_file}"
            raise PydanticCustomError("plan/command", "{text}", {"text": text})
        return self


async def ask_client(session: Session, spec: Client, _: int) -> Sample:
    """Once with the server cut off, then through it; neither run knows the other's nonce."""
    cut, dark, told = await _run(session, spec, cut=True)
    if told in cut.output:
        return _missed(
            "control-answered", "the marker came though the server was cut off", "no marker without a server"
        )
    ran, relay, told = await _run(session, spec, cut=False)
    return judge(ran, relay, told, session.model, len(dark.seen))


async def _run(session: Session, spec: Client, *, cut: bool) -> tuple[Ran, Relay, str]:
    nonce = f"NONCE-{secrets.token_hex(8)}"
    with tempfile.TemporaryDirectory(prefix="dossier-client-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        file = folder / "nonce.txt"
        file.write_text(nonce + "\n", "utf-8")
        prompt = "Read the file nonce.txt in the working folder with your tools, and answer with its content alone."
        async with Relay(session, spec.most_requests, cut, nonce).serving() as relay:
            names = {"base_url": relay.base_url, "model": session.model, "prompt": prompt, "nonce_file": str(file),
                     "folder": name}  # fmt: skip
            given = {"OPENAI_BASE_URL": relay.base_url, "OPENAI_API_KEY": "relayed"}
            ran = await run_command(filled(spec.command, names), folder, spec.seconds, spec.environment, given)
        return ran, relay, nonce


def judge(ran: Ran, relay: Relay, nonce: str, model: str, control_requests: int) -> Sample:
    """The marker, by way of this server and of no other. The client's words are not kept."""
    asked = [item for item in relay.seen if item.path.partition("?")[0].endswith(_GENERATES)]
    facts = {"requests": len(asked), "control_requests": control_requests, "seconds": round(ran.seconds, 3),
             "status": ran.status}  # fmt: skip
    wrong = next(_wrongs(ran, asked, nonce, model), None)
    return _missed(*wrong, facts) if wrong is not None else Sample(Outcome.PASSED, facts=facts)


def _wrongs(ran: Ran, asked: Sequence[Relayed], nonce: str, model: str) -> Iterator[tuple[str, str, str]]:
    if ran.status is None:
        yield "client-timeout", f"no end within {ran.seconds:.0f} s", "an end in time"
    if ran.status != 0:
        yield "client-failed", f"exit status {ran.status}", "exit status 0"
    others = sorted({str(item.model) for item in asked} - {model})
    if others:
        yield "other-model", ", ".join(others), f"only {model}"
    if not any(item.status == 200 for item in asked):
        told = ", ".join(str(item.status) for item in asked) or "no request"
        yield "server-not-used", told, "an answered request through the server"
    if not any(item.held for item in asked):
        yield "file-not-sent", f"{len(asked)} requests, none with the file's content", "its content"
    if nonce not in ran.output:
        yield "marker-missing", "the output does not hold the file's content", "the file's content"


def _missed(kind: str, observed: str, expected: str, facts: Mapping[str, Any] | None = None) -> Sample:
    return Sample(Outcome.MISSED, kind=kind, observed=observed, expected=expected, facts=facts or {})


def requests(_: Client, samples: Sequence[Entry], __: Sequence[Entry]) -> list[Computed]:
    """How many requests a passed task took."""
    good = [entry["facts"]["requests"] for entry in samples if entry["outcome"] == Outcome.PASSED]
    return statistics_of("model_requests", "requests", good)


PROBES = (
    Probe(
        "client", Client, MeasurementClass.CLIENT_ACCEPTANCE,
        "A real client, run as a command, reads a file of random content with its own tools through the server under "
        "test and gives the content back; it must fail to with the server cut off, and every request must name the "
        "model.",
        "That the client works with real tasks, long sessions or streams: replies are relayed whole. What else the "
        "client asks of other services is not seen.",
        lambda spec: Cost(spec.most_requests, spec.most_tokens), ask_client, figures=requests,
        facts=lambda spec, _: {"client": spec.client},
    ),
)  # fmt: skip
