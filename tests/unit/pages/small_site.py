"""A small evidence folder written from plain data, and its pages."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

from dossier.cache import Cache
from dossier.catalog import load_catalog
from dossier.pages.context import Site
from dossier.pages.environment import environment

PROJECT = Path(__file__).parents[3]

MODEL = {
    "schema": "dossier/model/v1", "id": "model-a", "name": "Model A", "scope": "All of it.",
    "lanes": [{"id": "text", "title": "Text lane"}, {"id": "vision", "title": "Vision lane"}],
}  # fmt: skip
IDENTITY = {
    "schema": "dossier/identity/v1", "id": "identity-a", "title": "Identity A",
    "artifacts": [{"role": "target", "revision": "a" * 40}],
}  # fmt: skip
HARDWARE = {"schema": "dossier/hardware/v1", "id": "hardware-a", "title": "Hardware A"}


def recipe(id_: str, **more: Any) -> dict[str, Any]:
    """A recipe with the least that one needs."""
    return {
        "schema": "dossier/recipe/v1", "id": id_, "title": f"Title of {id_}", "models": ["model-a"],
        "identity": "identity-a", "hardware": "hardware-a", **more,
    }  # fmt: skip


def finding(id_: str, **more: Any) -> dict[str, Any]:
    """A finding with the least that one needs; its date is in its id."""
    return {
        "schema": "dossier/finding/v1", "id": id_, "title": f"Title of {id_}", "date": id_[:10],
        "kind": "qualification", "provenance": "transcribed", "models": ["model-a"],
        "summary": "What came out.", **more,
    }  # fmt: skip


def site_of(folder: Path, *records: dict[str, Any]) -> Site:
    """The site of the model, identity and hardware above and some more records; a record given twice: the last."""
    names = {schema: f for f, schema in (("models", "model"), ("identities", "identity"), ("hardware", "hardware"),
                                         ("recipes", "recipe"), ("findings", "finding"))}  # fmt: skip
    for record in (MODEL, IDENTITY, HARDWARE, *records):
        file = folder / names[record["schema"].split("/")[1]] / f"{record['id']}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(_text(record), ensure_ascii=False, indent=1), "utf-8")
    catalog = load_catalog(folder, Cache(None))
    assert [str(p) for p in catalog.problems] == []
    return Site(catalog, environment(PROJECT))


def _text(value: Any) -> Any:
    """Every scalar as the text that an author writes."""
    if isinstance(value, dict):
        return {key: _text(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_text(inner) for inner in value]
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


def words(body: str) -> str:
    """What a reader reads: no tags, entities resolved, single spaces (a no-break space stays)."""
    return re.sub(r"[ \n]+", " ", html.unescape(re.sub(r"<[^>]*>", " ", body)))


def row(body: str, id_: str) -> str:
    """The words of the table row, or block, of that fragment."""
    found = re.search(rf'<(tr|div|li)[^>]* id="{re.escape(id_)}"[^>]*>(.*?)</\1>', body, re.DOTALL)
    assert found is not None, id_
    return words(found[2])
