"""The JSON side of the site: every record, heads of findings by year, an index, schemas, an OpenAPI description.

A record's file is its canonical form (RFC 8785), so that the file's SHA-256 is the digest by which records name it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any

from dossier import __version__
from dossier.digest import canonical
from dossier.errors import RenderError
from dossier.model.json_schema import DIALECT, KINDS, schema_of
from dossier.pages.catalogue import of_year, years
from dossier.pages.context import Site
from dossier.pages.places import Derived, page_of
from dossier.pages.runrows import runs

ROOT = "api/v1/"
INDEX = f"{ROOT}index.json"
OPENAPI = f"{ROOT}openapi.json"
_LICENSE_NOTE = "The license of each record's subject stands in the record; the site's own is that of its project."


def record_path(folder: str, id_: str) -> str:
    """Where a record lies as JSON."""
    return f"{ROOT}{folder}/{id_}.json"


def year_path(name: str) -> str:
    """Where the heads of a year's findings lie."""
    return f"{ROOT}findings/year-{name}.json"


def schema_path(kind: str) -> str:
    """Where the schema of a kind of record lies."""
    return f"{ROOT}schema/{kind}.json"


def record_bytes(site: Site, folder: str, id_: str) -> bytes:
    """The canonical JSON of a record, defaults left out: the bytes that its digest is taken over."""
    record = site.catalog.record(folder, id_)
    if record is None:
        raise RenderError(f"{folder}/{id_}: there is no such record")
    return canonical(record.model_dump(mode="json", by_alias=True, exclude_defaults=True))


def record_file(site: Site, key: Callable[..., str], folder: str, id_: str) -> Derived:
    """The file of a record, to be made while the record is at hand. `key` makes a key of parts."""
    digest = site.catalog.digest((folder, id_))
    return Derived(record_path(folder, id_), key("record", digest), partial(record_bytes, site, folder, id_))


def year(site: Site, name: str, site_url: str) -> dict[str, Any]:
    """The heads of the findings of one year, oldest first."""
    return {"schema": "dossier/findings-of-year/v1", "year": name, "findings": list(_heads(site, name, site_url))}


def _heads(site: Site, name: str, site_url: str) -> Iterator[dict[str, Any]]:
    for run in runs(site, of_year(site, name)):
        s = run.summary
        yield {
            "id": s.id,
            "title": s.title,
            "date": s.date.isoformat(),
            "kind": s.kind,
            "provenance": s.provenance,
            "completion": s.completion,
            "models": list(s.models),
            "classes": list(s.classes),
            "recipes": list(s.recipes),
            "hardware": list(dict.fromkeys(s.hardware)),
            "outcomes": list(run.outcomes),
            "gates": dict(run.gates),
            "became": [{"word": word, "finding": later.id} for word, later in run.marks],
            "digest": site.catalog.digest(("findings", s.id)),
            "record": f"{site_url}{record_path('findings', s.id)}",
            "page": f"{site_url}{page_of('findings', s.id)}",
        }


def index(site: Site, site_url: str) -> dict[str, Any]:
    """Where everything lies: findings by year, every other record, schemas, feeds."""
    entries = site.catalog.entries
    others: dict[str, list[dict[str, str]]] = {}
    for folder, id_ in sorted(entries):
        if folder != "findings":
            place = {
                "id": id_,
                "digest": site.catalog.digest((folder, id_)),
                "record": f"{site_url}{record_path(folder, id_)}",
            }
            others.setdefault(folder, []).append(place)
    newest = site.newest
    return {
        "schema": "dossier/site-index/v1",
        "newest": newest.isoformat() if newest is not None else None,
        "findings": {
            "count": len(site.catalog.dated),
            "years": [
                {"year": y.name, "count": y.count, "heads": f"{site_url}{year_path(y.name)}"} for y in years(site)
            ],
        },
        "records": others,
        "schemas": {kind: f"{site_url}{schema_path(kind)}" for kind in sorted(KINDS)},
        "openapi": f"{site_url}{OPENAPI}",
        "feeds": {"atom": f"{site_url}feeds/all.xml", "json": f"{site_url}feeds/all.json"},
    }


def descriptions() -> Mapping[str, Callable[[str], object]]:
    """Path -> what makes it, for all that hangs on the package alone."""
    made: dict[str, Callable[[str], object]] = {schema_path(kind): partial(_schema, kind) for kind in KINDS}
    return {**made, OPENAPI: openapi}


@cache
def _schema_of(kind: str) -> dict[str, Any]:
    return schema_of(KINDS[kind])


def _schema(kind: str, site_url: str) -> dict[str, Any]:
    return {"$schema": DIALECT, **_schema_of(kind), **({"$id": site_url + schema_path(kind)} if site_url else {})}


def openapi(site_url: str) -> dict[str, Any]:
    """An OpenAPI 3.1 description of the JSON files, which a plain web server serves."""
    paths: dict[str, Any] = {f"/{INDEX}": _get("Where everything lies.", {"type": "object"})}
    paths[f"/{year_path('{year}')}"] = _get("The heads of a year's findings.", {"type": "object"}, "year")
    for kind, type_ in sorted(KINDS.items()):
        told = f"One {kind} in canonical JSON (RFC 8785): the SHA-256 of the file is the digest of the record."
        paths[f"/{record_path(type_.FOLDER, '{id}')}"] = _get(told, {"$ref": f"schema/{kind}.json"}, "id")
    return {
        "openapi": "3.1.0",
        "info": {"title": "Evidence records", "version": __version__, "description": _LICENSE_NOTE},
        "servers": [{"url": site_url.rstrip("/") or "../.."}],
        "paths": paths,
    }


def _get(summary: str, schema: dict[str, Any], parameter: str = "") -> dict[str, Any]:
    told = {"name": parameter, "in": "path", "required": True, "schema": {"type": "string"}}
    answer = {"description": summary, "content": {"application/json": {"schema": schema}}}
    return {
        "get": {
            "summary": summary,
            **({"parameters": [told]} if parameter else {}),
            "responses": {"200": answer, "404": {"description": "No such record."}},
        }
    }
