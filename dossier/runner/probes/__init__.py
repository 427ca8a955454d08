"""The probes by name; a plan's populations are told apart by `probe`."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from dossier.runner.probes import basic, cell, controls, errors, responses, structure, tools
from dossier.runner.probes.base import Probe, Spec

AnySpec = Annotated[
    basic.Health
    | basic.Chat
    | basic.Streaming
    | structure.StrictJson
    | structure.Structured
    | tools.Tools
    | responses.Responses
    | controls.Controls
    | controls.ThinkingSwitch
    | errors.Refusals
    | cell.Cell,
    Field(discriminator="probe"),
]

PROBES: dict[str, Probe[Any]] = {
    probe.name: probe
    for module in (basic, structure, tools, responses, controls, errors, cell)
    for probe in module.PROBES
}


def probe_of(spec: Spec) -> Probe[Any]:
    """The probe that a spec parametrises."""
    return PROBES[spec.probe]  # type: ignore[attr-defined]
