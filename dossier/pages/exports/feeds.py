"""Atom (RFC 4287) and JSON Feed 1.1: of the whole site, of a model, of a lane.

Dates are those of the findings and of later ones about them, never the clock's; ids hang on the record's id alone.
"""

from __future__ import annotations

import json
import posixpath
import re
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from xml.etree import ElementTree as ET

from dossier.catalog.summary import Summary
from dossier.pages.context import Site
from dossier.pages.places import anchor, page_of

FOLDER = "feeds/"
_NEWEST = 50
_ATOM = "http://www.w3.org/2005/Atom"
_ABOUT = frozenset({"supersedes", "corrects", "adds to", "withdraws"})
"""What a later finding does to an earlier one that its readers should hear of."""
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SPACE = uuid.uuid5(uuid.NAMESPACE_URL, "dossier:evidence")


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: a finding, or one of its decisions in a lane."""

    finding: str
    day: date
    updated: date
    title: str
    item: str = ""
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Channel:
    """A feed before it is written: its path without ending, its title, the page it follows, entries newest first."""

    path: str
    title: str
    page: str
    entries: tuple[Entry, ...]


def channels(site: Site) -> Iterator[Channel]:
    """The feed of the whole, of every model, and of every lane."""
    dated = site.catalog.dated
    yield Channel(f"{FOLDER}all", "Every finding", "findings/", _of(site, dated))
    for subject in site.subjects:
        page = page_of("models", subject.id)
        own = [s for s in dated if subject.id in s.models]
        yield Channel(f"{FOLDER}models/{subject.id}", f"{subject.name}: findings", page, _of(site, own))
        for lane in subject.lanes:
            title = f"{subject.name}, {lane.title}: decisions"
            entries = tuple(_decisions(site, subject.id, lane.id))
            yield Channel(
                f"{FOLDER}lanes/{subject.id}/{lane.id}", title, f"{page}#lane-{lane.id}", entries[::-1][:_NEWEST]
            )


def _of(site: Site, summaries: Iterable[Summary]) -> tuple[Entry, ...]:
    found = [
        Entry(s.id, s.date, _updated(site, s), s.title, words=(s.kind, s.provenance, *s.classes)) for s in summaries
    ]
    # What a later finding corrected or withdrew comes up again.
    return tuple(sorted(found, key=lambda e: e.updated)[::-1][:_NEWEST])


def _updated(site: Site, summary: Summary) -> date:
    later = (other.date for word, other in site.linked_from.get(summary.id, ()) if word in _ABOUT)
    return max([summary.date, *later])


def _decisions(site: Site, model: str, lane: str) -> Iterator[Entry]:
    for event in site.catalog.lane(model, lane).events:
        name = event.decision.recipe or event.decision.subject or ""
        told = site.titles.get(("recipes", name), name)
        title = f"{event.decision.outcome.replace('-', ' ')}: {told}"
        yield Entry(event.finding, event.day, event.day, title, event.decision.id, (event.decision.outcome,))


def _said(_: Site) -> dict[str, str]:
    """Finding -> what it says in short; filled as feeds ask."""
    return {}


def _plain(site: Site, entry: Entry) -> str:
    """What the finding says in short, as plain text; it stands in several feeds and is made once."""
    held = site.once(_said)
    if entry.finding not in held:
        finding = site.catalog.finding(entry.finding)
        held[entry.finding] = site.view("").plain(finding.summary, finding) if finding is not None else ""
    return held[entry.finding]


def _id(entry: Entry) -> str:
    return uuid.uuid5(_SPACE, f"findings/{entry.finding}#{entry.item}").urn


def _time(day: date) -> str:
    return f"{day.isoformat()}T00:00:00Z"


def _href(channel: Channel, site_url: str, target: str) -> str:
    """An absolute address, or one relative to the feed where the site does not know its own."""
    path, hash_, fragment = target.partition("#")
    if site_url:
        return site_url + target
    relative = posixpath.relpath(path or ".", posixpath.dirname(channel.path))
    return f"{relative}/{hash_}{fragment}" if path.endswith("/") or not path else f"{relative}{hash_}{fragment}"


def _page(entry: Entry) -> str:
    return page_of("findings", entry.finding) + (f"#{anchor(entry.item)}" if entry.item else "")


def atom(site: Site, channel: Channel, site_url: str) -> bytes:
    """The feed as Atom."""
    feed = ET.Element("feed", {"xmlns": _ATOM, "xml:lang": "en"})
    _text(feed, "id", uuid.uuid5(_SPACE, channel.path).urn)
    _text(feed, "title", channel.title)
    newest = max((entry.updated for entry in channel.entries), default=date(1970, 1, 1))
    _text(feed, "updated", _time(newest))
    ET.SubElement(feed, "link", {"rel": "self", "href": _href(channel, site_url, f"{channel.path}.xml")})
    ET.SubElement(feed, "link", {"rel": "alternate", "href": _href(channel, site_url, channel.page)})
    _text(ET.SubElement(feed, "author"), "name", "dossier")
    for entry in channel.entries:
        made = ET.SubElement(feed, "entry")
        _text(made, "id", _id(entry))
        _text(made, "title", entry.title)
        _text(made, "published", _time(entry.day))
        _text(made, "updated", _time(entry.updated))
        ET.SubElement(made, "link", {"rel": "alternate", "href": _href(channel, site_url, _page(entry))})
        for word in dict.fromkeys(entry.words):
            ET.SubElement(made, "category", {"term": word})
        _text(made, "summary", _plain(site, entry))
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(feed, encoding="unicode")}\n'.encode()


def _text(parent: ET.Element, name: str, text: str) -> None:
    """Text as Atom's default type, which is plain; what XML cannot hold is shown as a replacement character."""
    ET.SubElement(parent, name).text = _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def json_feed(site: Site, channel: Channel, site_url: str) -> bytes:
    """The feed as JSON Feed 1.1."""
    feed: dict[str, object] = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": channel.title,
        "home_page_url": _href(channel, site_url, channel.page),
        "feed_url": _href(channel, site_url, f"{channel.path}.json"),
        "language": "en",
        "items": [
            {
                "id": _id(entry),
                "url": _href(channel, site_url, _page(entry)),
                "title": entry.title,
                "content_text": _plain(site, entry) or entry.title,
                "date_published": _time(entry.day),
                "date_modified": _time(entry.updated),
                "tags": list(dict.fromkeys(entry.words)),
            }
            for entry in channel.entries
        ],
    }
    return (json.dumps(feed, ensure_ascii=False, indent=1) + "\n").encode()
