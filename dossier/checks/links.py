"""Links: everything that a record points at is there, and addresses lead only where a reader may safely go."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from urllib.parse import SplitResult, urlsplit

from dossier.catalog import Catalog
from dossier.checks.registry import Wrong, record_rule
from dossier.derive.items import field_of, items_of, look_up
from dossier.derive.references import references
from dossier.derive.show import shown
from dossier.derive.walk import Pointer, pointers, prose
from dossier.errors import nearest
from dossier.model.base import Record
from dossier.model.finding import Finding
from dossier.model.metrics import METRICS
from dossier.model.parse import FOLDERS


def _named(pointer: Pointer) -> str:
    return f"[[{pointer.text[:90]}]]" if pointer.in_prose else repr(pointer.text[:90])


@record_rule("links/record", Record)
def record_exists(record: Record, catalog: Catalog) -> Iterator[Wrong]:
    """A record that is named has to be there, or nobody can follow what it says."""
    for pointer in pointers(record):
        if not pointer.folder:
            continue
        if pointer.folder not in FOLDERS:
            told = (
                f"{_named(pointer)}: there is no folder {pointer.folder!r}; write one of: {', '.join(sorted(FOLDERS))}"
            )
            yield Wrong(pointer.place, told)
        elif not catalog.exists(pointer.folder, pointer.record):
            near = nearest(pointer.record, catalog.ids(pointer.folder))
            how = near or f"; correct the id, or write that record first: `dossier new {_kind(pointer.folder)}`"
            yield Wrong(pointer.place, f"{_named(pointer)}: no record {pointer.folder}/{pointer.record[:90]}{how}")


def _kind(folder: str) -> str:
    return FOLDERS[folder].SCHEMA.split("/")[1]


@record_rule("links/arm", Finding)
def arm_exists(finding: Finding, _: Catalog) -> Iterator[Wrong]:
    """What was measured was measured on one of the arms."""
    for pointer in pointers(finding):
        if pointer.target == "arm" and pointer.item not in finding.arms:
            near = nearest(pointer.item, finding.arms)
            how = near or f"; add it: `arms: {{{pointer.item[:60]}: {{recipe: its-recipe}}}}`, or take this line out"
            yield Wrong(pointer.place, f"no arm {pointer.item!r}{how}")


@record_rule("links/metric", Record)
def metric_exists(record: Record, catalog: Catalog) -> Iterator[Wrong]:
    """A figure without a definition says nothing."""
    for pointer in pointers(record):
        if pointer.target != "metric" or pointer.item in METRICS or catalog.exists("metrics", pointer.item):
            continue
        near = nearest(pointer.item, [*METRICS, *catalog.ids("metrics")])
        told = f"no metric {pointer.item!r} in the dictionary{near}; or add metrics/{pointer.item}.yaml"
        yield Wrong(pointer.place, told)


@record_rule("links/item", Record)
def item_exists(record: Record, catalog: Catalog) -> Iterator[Wrong]:
    """A part of a finding that is named has to be there, and to be of the kind that is meant."""
    here = record if isinstance(record, Finding) else None
    for pointer in pointers(record):
        if here is not None and not pointer.record and _is_part(pointer, here):
            continue
        if not _names_item(pointer) or (pointer.folder and not _readable(pointer, catalog)):
            continue
        if here is None and not pointer.record:
            told = f"{_named(pointer)}: only a finding has items; write finding-id#item, or folder/id for a record"
            yield Wrong(pointer.place, told)
        elif told := _wrong_item(pointer, here, catalog):
            yield Wrong(pointer.place, f"{_named(pointer)}: {told}")


def _is_part(pointer: Pointer, here: Finding) -> bool:
    kind, _ = here.parts.get(pointer.item, ("", None))
    return bool(kind) and (not pointer.kinds or kind in pointer.kinds)


def _names_item(pointer: Pointer) -> bool:
    if pointer.target not in {"item", "evidence"} or pointer.folder not in {"", Finding.FOLDER}:
        return False
    return bool(pointer.item) or not pointer.folder


def _readable(pointer: Pointer, catalog: Catalog) -> bool:
    return (pointer.folder, pointer.record) in catalog.entries


def _wrong_item(pointer: Pointer, here: Finding | None, catalog: Catalog) -> str:
    found = look_up(pointer.text, here, catalog.finding)
    finding = catalog.finding(pointer.record) if pointer.record else here
    if found is None or (found[1] and not pointer.in_prose):
        ids = [item.id for _, item in items_of(finding)] if finding else []
        return f"no item {pointer.item[:90]!r} there{nearest(pointer.item, ids)}"
    if pointer.kinds and found[0].kind not in pointer.kinds:
        return f"{pointer.item} is {found[0].kind}, not {' or '.join(pointer.kinds)}"
    return ""


@record_rule("links/evidence", Finding)
def evidence_is_a_finding(finding: Finding, _: Catalog) -> Iterator[Wrong]:
    """Evidence is a finding or a part of one; a local id that is neither is most likely mistyped."""
    for pointer in pointers(finding):
        if pointer.target == "evidence" and pointer.folder not in {"", "findings"}:
            yield Wrong(pointer.place, f"{pointer.text[:90]!r} is no evidence; cite a finding, or finding-id#item")


@record_rule("links/field", Record)
def field_has_a_value(record: Record, catalog: Catalog) -> Iterator[Wrong]:
    """A reference in prose stands for a value: where there is none, the sentence would have a hole."""
    here = record if isinstance(record, Finding) else None
    for pointer in pointers(record):
        if not pointer.in_prose or not pointer.item:
            continue
        if pointer.record and pointer.folder != "findings":
            other = catalog.record(pointer.folder, pointer.record)
            if other is not None and field_of(other, pointer.item) is None:
                known = [info.alias or name for name, info in type(other).model_fields.items()]
                near = nearest(pointer.item, known)
                yield Wrong(pointer.place, f"{_named(pointer)}: {pointer.record} has no {pointer.item[:90]!r}{near}")
            continue
        found = look_up(pointer.text, here, catalog.finding)
        if found is not None and shown(*found, catalog.finding) is None:
            fields = [info.alias or name for name, info in type(found[0].part).model_fields.items()]
            told = f"{found[0].id} has no {found[1][:90]!r}{nearest(found[1], fields)}"
            yield Wrong(pointer.place, f"{_named(pointer)}: {told}")


@record_rule("links/url", Record)
def address_is_safe(record: Record, _: Catalog) -> Iterator[Wrong]:
    """An address on a page is followed by readers: https only, public, and without anybody's password."""
    for index, source in enumerate(record.sources):
        if source.url is not None and (told := _unsafe(source.url)):
            yield Wrong(("sources", index, "url"), told)
    for index, artifact in enumerate(record.artifacts if isinstance(record, Finding) else ()):
        if artifact.url is not None and (told := _unsafe(artifact.url)):
            yield Wrong(("artifacts", index, "url"), told)


def _unsafe(url: str) -> str:
    try:
        parts = urlsplit(url)
        host, _port = parts.hostname or "", parts.port
    except ValueError:
        return "not an address; write https://host/path"
    if parts.scheme.lower() != "https" or not host:
        return f"{_scheme(parts)} is not https; write https://host/path"
    if "@" in parts.netloc:
        return "the address carries a user name or password; take it out"
    if re.search(r"[\s<>\"\\^`{|}]", url):
        return "the address holds a blank or another character that no address may hold; percent-encode it"
    return f"{host} is not a public host; cite what every reader can reach" if _private(host) else ""


def _scheme(parts: SplitResult) -> str:
    return f"`{parts.scheme[:20]}:`" if parts.scheme else "an address without a scheme"


def _private(host: str) -> bool:
    name = host.rstrip(".").lower()
    try:
        return not ipaddress.ip_address(name).is_global
    except ValueError:
        ends = (".local", ".localhost", ".internal", ".lan", ".home", ".corp", ".home.arpa", ".test", ".invalid")
        # Browsers read 2130706433, 0x7f.1 and 127.1 as addresses of numbers.
        numeric = re.fullmatch(r"(?:0x[0-9a-f]*|[0-9]+)(?:\.(?:0x[0-9a-f]*|[0-9]+))*", name) is not None
        return "." not in name or name.endswith(ends) or numeric


@record_rule("links/prose", Record)
def links_in_prose(record: Record, _: Catalog) -> Iterator[Wrong]:
    """Prose is shown on several pages: records are linked by [[..]], the world by https or mailto, nothing else."""
    for place, text in prose(record):
        if "[" in text or "<" in text:
            yield from (Wrong(place, told) for told in _wrong_links(_without_references(text)))


def _without_references(text: str) -> str:
    for match, _ in references(text):
        text = text.replace(match[0], "x")
    return text


def _wrong_links(text: str) -> Iterator[str]:
    if "[" not in text and "<" not in text:
        return
    from dossier.checks.markup import tokens  # noqa: PLC0415  (loading it costs more than a thousand texts without links)

    for token in tokens(text):
        if token.type == "image":
            yield "a picture cannot stand in prose; list it among the `artifacts` and describe it"
        elif token.type == "link_open":
            url = str(token.attrGet("href") or "")
            if not url.lower().startswith("mailto:") and (told := _unsafe(url)):
                hint = (
                    "; a record is linked as [[folder/id]]" if not urlsplit(url[:1]).scheme and "://" not in url else ""
                )
                yield f"a link to {url[:60]!r}: {told}{hint}"
