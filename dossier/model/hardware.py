"""hardware/: a machine as it was when something was measured on it."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from dossier.model.base import Count, Line, Maybe, Part, Prose, Quantity, Record
from dossier.model.vocabulary import Relation


class Gpu(Part):
    """Equal cards of one kind."""

    name: Line
    count: Maybe[Count]
    memory: Maybe[Quantity] | None = Field(None, description="Of one card.")
    power_limit: Maybe[Quantity] | None = None
    ids: tuple[Line, ...] = Field((), description="Stable ids, where they may be published.")
    note: Prose | None = None


class Link(Part):
    """A way between cards, and whether it could be used."""

    kind: Line = Field(description="PCIe, NVLink, P2P, IPC ...")
    state: Maybe[Line]
    note: Prose | None = None


class Host(Part):
    """The computer that holds the cards."""

    os: Maybe[Line] | None = None
    virtualization: Maybe[Line] | None = Field(None, description="native, WSL2, a hypervisor ...")
    container: Maybe[Line] | None = None
    cpu: Maybe[Line] | None = None
    memory: Maybe[Quantity] | None = None
    swap: Maybe[Quantity] | None = None
    driver: Maybe[Line] | None = None
    cuda: Maybe[Line] | None = None


class Resident(Part):
    """A service that shared the machine."""

    what: Line
    relation: Relation
    note: Prose | None = None


class Hardware(Record):
    """Cards, links and host."""

    FOLDER: ClassVar[str] = "hardware"
    SCHEMA: ClassVar[str] = "dossier/hardware/v1"

    schema_: Literal["dossier/hardware/v1"] = Field(alias="schema")
    title: Line
    gpus: tuple[Gpu, ...] = ()
    links: tuple[Link, ...] = ()
    host: Maybe[Host] | None = None
    reserve: Maybe[Quantity] | None = Field(None, description="Memory a card must keep free by policy.")
    co_resident: tuple[Resident, ...] = ()
    client: Maybe[Line] | None = Field(None, description="Where the measuring client ran.")
