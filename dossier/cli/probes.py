"""`dossier probes`: what can be asked of a server, how it is parametrised, and what it does not show."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

import click

from dossier.errors import UsageError, nearest
from dossier.runner.probes import PROBES
from dossier.runner.probes.base import Probe, Spec
from dossier.runner.suite import load, shipped

_WIDTH = 100


@click.command()
@click.argument("name", required=False)
def probes(name: str | None) -> None:
    """Say what a probe asks, what it does not show, and its parameters in a plan; without NAME, list all probes."""
    if name is None:
        click.echo("\n".join(f"{item.name:13} {textwrap.shorten(item.asks, _WIDTH)}" for item in PROBES.values()))
        return
    if name not in PROBES:
        raise UsageError(f"there is no probe {name!r}{nearest(name, PROBES) or '; `dossier probes` lists them'}")
    click.echo("\n".join(told(PROBES[name])))


def told(probe: Probe[Any]) -> Iterator[str]:
    """One probe for a terminal."""
    yield f"{probe.name} ({probe.class_.value})"
    yield ""
    yield textwrap.fill(probe.asks, _WIDTH)
    yield textwrap.fill(f"Not shown: {probe.not_shown}", _WIDTH)
    yield ""
    yield "Parameters, beside id, title, requests, warmups and concurrency of every population:"
    schema = probe.spec.model_json_schema()
    own = [field for field in probe.spec.model_fields if field not in {*Spec.model_fields, "probe"}]
    for field in own or ("none",):
        yield f"  {field}{_parameter(schema, field)}" if own else "  none"
    if probe.name == "suite":
        yield ""
        yield "Shipped suites:"
        for suite in shipped():
            read, digest = load(suite)
            yield f"  {suite}: {read.title}, {len(read.items)} items, sha256 {digest}"


def _parameter(schema: dict[str, Any], field: str) -> str:
    """What a parameter may be, what it is otherwise, and what it means."""
    told_of = schema["properties"][field]
    needed = " (needed)" if field in schema.get("required", ()) else ""
    default = "" if needed or told_of.get("default") in (None, "") else f" [{_shown(told_of['default'])}]"
    one_of = "|".join(_choices(told_of, schema.get("$defs", {})))
    what = told_of.get("description", "")
    return f"{': ' + one_of if one_of else ''}{default}{needed}{'  ' + what if what else ''}"


def _choices(part: dict[str, Any], defs: dict[str, Any]) -> list[str]:
    """The words of a closed list, wherever it stands in the schema of a parameter."""
    if "$ref" in part:
        return _choices(defs[part["$ref"].rsplit("/", 1)[-1]], defs)
    if "enum" in part:
        return [str(word) for word in part["enum"]]
    if "items" in part:
        return _choices(part["items"], defs)
    return [word for option in part.get("anyOf", ()) for word in _choices(option, defs)]


def _shown(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value).lower()
