"""The probes by name; a plan's populations are told apart by `probe`."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from dossier.runner.probes import (
    agent,
    basic,
    budgets,
    canary,
    cell,
    client,
    controls,
    errors,
    external,
    images,
    longtools,
    needle,
    prefix,
    responses,
    sessions,
    soak,
    speculation,
    steps,
    structure,
    suites,
    tools,
)
from dossier.runner.probes.base import Probe, Spec

AnySpec = Annotated[
    basic.Health
    | basic.Chat
    | basic.Streaming
    | structure.StrictJson
    | structure.Structured
    | tools.Tools
    | longtools.LongTools
    | responses.Responses
    | controls.Controls
    | controls.ThinkingSwitch
    | errors.Refusals
    | cell.Cell
    | needle.Needle
    | canary.Canary
    | soak.Soak
    | steps.Steps
    | prefix.Prefix
    | speculation.Speculation
    | budgets.Budgets
    | sessions.Sessions
    | suites.Suites
    | images.Images
    | agent.Agent
    | client.Client
    | external.External,
    Field(discriminator="probe"),
]

_MODULES = (
    basic,
    structure,
    tools,
    longtools,
    responses,
    controls,
    errors,
    cell,
    needle,
    canary,
    soak,
    steps,
    prefix,
    speculation,
    budgets,
    sessions,
    suites,
    images,
    agent,
    client,
    external,
)

PROBES: dict[str, Probe[Any]] = {probe.name: probe for module in _MODULES for probe in module.PROBES}


def probe_of(spec: Spec) -> Probe[Any]:
    """The probe that a spec parametrises."""
    return PROBES[spec.probe]  # type: ignore[attr-defined]
