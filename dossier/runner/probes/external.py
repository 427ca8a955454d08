"""Another harness, run as a command against the server; the file that it writes is the artifact."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from dossier.digest import sha256_hex
from dossier.model.base import Count, Line
from dossier.model.vocabulary import MeasurementClass
from dossier.runner.command import Ran, filled, require_public, run_command
from dossier.runner.evaluators import NotResultsError, Score, Tool, scores_of
from dossier.runner.figure import Figure as Computed
from dossier.runner.journal import Entry
from dossier.runner.outcome import Outcome
from dossier.runner.probes.base import Cost, Probe, Sample, Spec, excerpt
from dossier.runner.relay import Relay
from dossier.runner.session import Session

_NAMES = ("base_url", "model", "folder")
_MOST_KEPT = 256 << 10
_MOST_READ = 64 << 20


class External(Spec):
    """A command that grades the server; `{base_url}`, `{model}` and `{folder}` are put in. No shell, and no key."""

    probe: Literal["external"]
    tool: Tool
    version: Line = Field(description="The harness with its version, as published.")
    command: Annotated[tuple[Line, ...], Field(min_length=1, max_length=100)]
    results: Line = Field(description="The results file, as a pattern below {folder}: results/**/results_*.json")
    environment: tuple[Line, ...] = Field((), description="Names of variables that the command may see as well.")
    instances: tuple[Line, ...] = Field((), max_length=1000, description="What the report must name (swe-bench).")
    seconds: Annotated[Count, Field(ge=1, le=604_800)] = 3600
    most_requests: Annotated[Count, Field(ge=1, le=1_000_000, description="Sent on, at most.")] = 2000
    most_tokens: Annotated[Count, Field(ge=1, description="Of all these requests, for the dry run.")] = 2_000_000

    @model_validator(mode="after")
    def _consistent(self) -> External:
        try:
            filled(self.command, dict.fromkeys(_NAMES, ""))
            require_public(self.command)
        except ValueError as error:
            raise PydanticCustomError("plan/command", "{text}", {"text": str(error)}) from None
        if Path(self.results).is_absolute() or ".." in Path(self.results).parts:
            text = "`results` is a pattern below {folder}"
            raise PydanticCustomError("plan/results", "{text}", {"text": text})
        return self


async def ask_external(session: Session, spec: External, _: int) -> Sample:
    """Run the command through the relay, and read what it left."""
    with tempfile.TemporaryDirectory(prefix="dossier-external-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        async with Relay(session, spec.most_requests).serving() as relay:
            names = {"base_url": relay.base_url, "model": session.model, "folder": name}
            given = {"OPENAI_BASE_URL": relay.base_url, "OPENAI_API_KEY": "relayed"}
            ran = await run_command(filled(spec.command, names), folder, spec.seconds, spec.environment, given)
        files = sorted(folder.glob(spec.results))
        data = files[-1].read_bytes() if files and files[-1].stat().st_size <= _MOST_READ else None
    return judge(spec, ran, relay, data, session.model)


def judge(spec: External, ran: Ran, relay: Relay, data: bytes | None, model: str) -> Sample:
    """A harness that ended well, left its results, and asked this server for this model."""
    facts: dict[str, Any] = {"requests": len(relay.seen), "seconds": round(ran.seconds, 3), "status": ran.status}
    if data is not None:
        facts["artifact"] = _kept(data)
    others = sorted({item.model for item in relay.seen if item.model is not None} - {model})
    if ran.status != 0:
        kind = "harness-timeout" if ran.status is None else "harness-failed"
        return _failed(kind, f"exit status {ran.status}: {ran.output[-300:]}", facts)
    if others:
        return _failed("other-model", f"asked for {', '.join(others)}", facts)
    if not any(item.model == model and item.status == 200 for item in relay.seen):
        return _failed("server-not-used", f"{len(relay.seen)} requests, none answered for {model}", facts)
    if data is None:
        return _failed("no-results", f"no file {spec.results}", facts)
    try:
        scores = scores_of(spec.tool, data, spec.instances)
    except NotResultsError as error:
        return _failed("bad-results", str(error), facts)
    facts["scores"] = [[score.name, score.value, score.n] for score in scores]
    return Sample(Outcome.PASSED, facts=facts)


def _failed(kind: str, observed: str, facts: Mapping[str, Any]) -> Sample:
    return Sample(Outcome.FAILED, kind=kind, observed=excerpt(observed), facts=facts)


def _kept(data: bytes) -> dict[str, Any]:
    """The file as the journal keeps it: whole where it is small, else by its digest and size."""
    told: dict[str, Any] = {"sha256": sha256_hex(data), "bytes": len(data)}
    if len(data) <= _MOST_KEPT:
        told["text"] = data.decode("utf-8", "replace")
    return told


def scores(_: External, samples: Sequence[Entry], __: Sequence[Entry]) -> list[Computed]:
    """The scores as the harness states them, of its last whole run."""
    good = [entry for entry in samples if entry["outcome"] == Outcome.PASSED]
    if not good:
        return []
    told = [Score(*score) for score in good[-1]["facts"]["scores"]]
    return [
        Computed("score", "single", score.value, "", score.n or 1, title=score.name, label=score.label)
        for score in told
    ]


def results_name(population: str, index: int) -> str:
    """The artifact that holds the results of one sample."""
    return f"results-{population}-{index}.json"


def _facts(spec: External, samples: Sequence[Entry]) -> Mapping[str, Any]:
    kept = [entry["index"] for entry in samples if "artifact" in entry.get("facts", {})]
    artifact = {"artifact": f"file-{results_name(spec.id, kept[-1]).removesuffix('.json')}"} if kept else {}
    return {"suite": spec.version, **artifact}


PROBES = (
    Probe(
        "external", External, MeasurementClass.QUALITY,
        "Another harness, run as a command against the server through a relay that sees every request: it ends well, "
        "asks for this model only, and its own results file is kept and read.",
        "That the harness grades rightly, or that its suite shows more than its own scores; what else it asks of other "
        "services is not seen, and times through the relay are none of the server's.",
        lambda spec: Cost(spec.most_requests, spec.most_tokens), ask_external, figures=scores,
        facts=_facts,
    ),
)  # fmt: skip
