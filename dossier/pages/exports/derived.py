"""The files that stand beside no page, each with the key of what it is made from."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial

from dossier.pages.catalogue import of_year, years
from dossier.pages.context import Site
from dossier.pages.exports import api
from dossier.pages.exports.feeds import Channel, atom, channels, json_feed
from dossier.pages.places import Derived
from dossier.pages.plan import Keys


def derived_files(site: Site, keys: Keys, site_url: str) -> Iterator[Derived]:
    """All of them, in a fixed order."""
    catalog = site.catalog
    for folder, id_ in catalog.entries:
        if folder == "metrics":  # all other records have a page of their own
            yield api.record_file(site, keys.of, folder, id_)
    for year in years(site):
        found = of_year(site, year.name)
        known = [(s.id, catalog.digest(("findings", s.id))) for s in found]
        key = keys.of("api-year", site_url, keys.rows(found), known)
        yield Derived(api.year_path(year.name), key, partial(_json, partial(api.year, site, year.name, site_url)))
    digests = {f"{folder}/{id_}": catalog.digest((folder, id_)) for folder, id_ in catalog.entries}
    key = keys.of("api-index", site_url, sorted(digests.items()), [(y.name, y.count) for y in years(site)])
    yield Derived(api.INDEX, key, partial(_json, partial(api.index, site, site_url)))
    for name, make in api.descriptions().items():
        yield Derived(name, keys.of("api-description", name, site_url), partial(_json, partial(make, site_url)))
    for channel in channels(site):
        yield from _feeds(site, keys, channel, site_url)


def _feeds(site: Site, keys: Keys, channel: Channel, site_url: str) -> Iterator[Derived]:
    key = keys.of("feed", site_url, repr(channel), [keys.records["findings", e.finding] for e in channel.entries])
    yield Derived(f"{channel.path}.xml", key, partial(atom, site, channel, site_url))
    yield Derived(f"{channel.path}.json", key, partial(json_feed, site, channel, site_url))


def _json(make: Callable[[], object]) -> bytes:
    return (json.dumps(make(), ensure_ascii=False, indent=1) + "\n").encode()
