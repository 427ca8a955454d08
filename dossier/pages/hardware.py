"""The page of a machine: cards, links, host, and what was measured on it; and the list of machines."""

from __future__ import annotations

from markupsafe import Markup

from dossier.derive.items import display
from dossier.errors import RenderError
from dossier.model.base import Part, Quantity
from dossier.model.hardware import Gpu, Hardware, Host, Link, Resident
from dossier.pages.context import Site
from dossier.pages.fields import Pairs, Writer, rest
from dossier.pages.markup import html, joined
from dossier.pages.outside import index_of
from dossier.pages.places import Page, page_of
from dossier.pages.records import finding_list, record_facts, record_head, record_search
from dossier.pages.tables import grid


def hardware_page(site: Site, id_: str) -> Page:
    """The whole page. Raises RenderError where there is no such valid machine."""
    hardware = site.catalog.hardware(id_)
    if hardware is None:
        raise RenderError(f"hardware/{id_}: there is no such record")
    path = page_of("hardware", id_)
    view = site.view(path)
    writer = Writer(view)
    body = view.render(
        "hardware.html.j2", r=hardware, w=writer,
        gpus=grid(writer, hardware.gpus, rest(Gpu, "name"), head=("Card", lambda gpu: gpu.name)),
        links=grid(writer, hardware.links, rest(Link, "kind"), head=("Link", lambda link: link.kind)),
        host=_host(writer, hardware), policy=writer.facts(hardware, ("reserve", "client")),
        residents=grid(writer, hardware.co_resident, rest(Resident, "what"), head=("Service", lambda one: one.what)),
        recipes=site.recipes_on("hardware", id_),
        findings=finding_list(writer, index_of(site).hardware.get(id_, [])), record=record_facts(writer, hardware),
    )  # fmt: skip
    told = f"Hardware {hardware.title}: cards, links, host, and the recipes and findings on it."
    return Page(path, "Hardware", hardware.title, told, body, record_search(view, path, hardware))


def _host(writer: Writer, hardware: Hardware) -> Pairs:
    host = hardware.host
    if isinstance(host, Host):
        return writer.facts(host)
    shown = writer.value(host)
    return [("Host", shown)] if shown is not None else []


def hardware_index(site: Site) -> Page:
    """Every machine in one table."""
    view = site.view("hardware/")
    writer = Writer(view)
    machines = [found for id_ in site.catalog.ids("hardware") if (found := site.catalog.hardware(id_)) is not None]
    used = index_of(site).hardware
    table = grid(
        writer, machines, ("cards", "links", "os", "virtualization", "recipes", "findings"),
        head=record_head(view, "hardware", "Machine"),
        cells={
            "cards": lambda h: joined("<br>", [_card(writer, gpu) for gpu in h.gpus]) or None,
            "links": lambda h: joined("<br>", [_state(writer, link) for link in h.links]) or None,
            "os": lambda h: h.host.os if isinstance(h.host, Host) else h.host,
            "virtualization": lambda h: h.host.virtualization if isinstance(h.host, Host) else None,
            "recipes": lambda h: len(site.recipes_on("hardware", h.id)),
            "findings": lambda h: len(used.get(h.id, [])),
        },
        labels={"cards": ("Cards", "wide"), "links": ("Links", "wide"), "os": ("System", "mid"),
                "virtualization": ("Virtualization", ""), "recipes": ("Recipes", "num"),
                "findings": ("Findings", "num")},
    )  # fmt: skip
    lede = "Machines as they were when something was measured on them."
    body = view.render(
        "records.html.j2", title="Hardware", lede=lede, table=table, noun="machine"
    )  # fmt: skip
    return Page("hardware/", "Hardware", "Hardware", lede, body)


def _card(writer: Writer, gpu: Gpu) -> Markup:
    """`2 × name, 96 GB`."""
    count = writer.value(gpu.count) or ""
    memory = f", {display(gpu.memory)}" if isinstance(gpu.memory, Quantity) else ""
    return html("%s × %s%s", count, gpu.name, memory)


def _state(writer: Writer, link: Link) -> Markup:
    state = writer.value(link.state) if isinstance(link.state, Part) else link.state
    return html('<span class="dx-quiet">%s</span> %s', link.kind, state)
