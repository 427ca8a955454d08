"""Every page of the site, each with the key of what it is made from: a page whose key stands is not made again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from dossier.cache import Cache
from dossier.catalog import Key
from dossier.catalog.summary import Summary, dump
from dossier.digest import sha256_hex
from dossier.fold import Event
from dossier.pages.artifacts import artifact_index
from dossier.pages.asof import day_page, day_path, snapshots_in_time
from dossier.pages.catalogue import catalogue, of_year, year_page, year_path, years
from dossier.pages.compare import PATH as COMPARE
from dossier.pages.compare import compare_page
from dossier.pages.context import Site
from dossier.pages.data import PATH as DATA
from dossier.pages.data import data_page
from dossier.pages.decisions import decision_page
from dossier.pages.difference import difference_page, pairs
from dossier.pages.environment import template_folders
from dossier.pages.exports.api import record_file
from dossier.pages.exports.feeds import channels
from dossier.pages.finding import finding_page, outside
from dossier.pages.hardware import hardware_index, hardware_page
from dossier.pages.home import home_page
from dossier.pages.identity import identity_index, identity_page
from dossier.pages.methodology import methodology_page
from dossier.pages.model import dossier_fragments, model_page, models_index, shown_whole
from dossier.pages.news import PATH, news_page
from dossier.pages.outside import index_of
from dossier.pages.places import Derived, Page, difference_path, page_of
from dossier.pages.recipe import recipe_index, recipe_page
from dossier.pages.rules import described_rules, rule_page, rule_path
from dossier.stamp import code_stamp

_NEWEST = 30
"""More findings than the home page shows as new."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A page to be made, or to be left as it is, and the files that are made from the same record."""

    path: str
    key: str
    make: Callable[[], Page]
    beside: tuple[Derived, ...] = ()


@dataclass
class Keys:
    """Digests of what pages are made from."""

    site: Site
    stamp: str

    @cached_property
    def records(self) -> dict[Key, str]:
        """Of every record and those it names."""
        catalog = self.site.catalog
        return {key: catalog.dependency(key) for key in catalog.entries}

    @cached_property
    def _heads(self) -> dict[str, str]:
        """Of every finding as indexes show it: without its prose."""
        bare = {s.id: s.model_copy(update={"summary": "-"}) for s in self.site.catalog.dated}
        return {id_: sha256_hex(dump(summary)) for id_, summary in bare.items()}

    @cached_property
    def others(self) -> list[tuple[str, str, str]]:
        """Of all records but the findings."""
        return sorted((*key, value) for key, value in self.records.items() if key[0] != "findings")

    @cached_property
    def heads(self) -> str:
        """Of all records as indexes show them."""
        return self.of([*self._heads.values()], self.others)

    def rows(self, summaries: list[Summary]) -> str:
        """Of some findings as rows of a table: what later findings made of them included."""
        later = [(word, s.id, str(s.date), s.title) for one in summaries for word, s in self._later(one.id)]
        waived = sorted(set(self.site.catalog.waived) & {f"{s.id}#{g.id}" for s in summaries for g in s.gates})
        return self.of([self._heads[s.id] for s in summaries], later, waived, self.others)

    def _later(self, id_: str) -> list[tuple[str, Summary]]:
        return self.site.linked_from.get(id_, [])

    @cached_property
    def decided(self) -> str:
        """Of the findings that decide something and of what they cite, and of the newest ones."""
        dated = self.site.catalog.dated
        shown = [s.id for s in dated if s.decisions] + [s.id for s in dated[-_NEWEST:]]
        return self.of([self.records["findings", id_] for id_ in shown])

    @cached_property
    def recipes(self) -> str:
        """Of all recipes and models: which recipe uses what, and what they are called."""
        return self.of(sorted((*key, v) for key, v in self.records.items() if key[0] in {"recipes", "models"}))

    def around(self, folder: str, id_: str) -> str:
        """Of what a page of a record shows beyond that record: the findings it lists and the roles of its recipes."""
        index = index_of(self.site)
        if folder == "recipes":
            events = [(e.index, self.records["findings", e.finding]) for e in self._events.get(id_, ())]
            return self.of(_heads(index.recipes.get(id_, [])), events, repr(self.site.roles(id_)))
        if folder == "hardware":
            return self.of(_heads(index.hardware.get(id_, [])), self._roles)
        return self._roles

    @cached_property
    def _roles(self) -> str:
        """Of the role of every recipe in every lane now."""
        return self.of([(recipe, repr(self.site.roles(recipe))) for recipe in self.site.catalog.ids("recipes")])

    @cached_property
    def _events(self) -> dict[str, list[Event]]:
        found: dict[str, list[Event]] = {}
        for state in self.site.catalog.now.lanes.values():
            for event in state.events:
                for name in {event.decision.recipe, event.decision.rollback} - {None}:
                    found.setdefault(str(name), []).append(event)
        return found

    def of(self, *parts: object) -> str:
        """One digest of several parts, of the templates and of this code."""
        return sha256_hex(json.dumps([self.stamp, *parts], sort_keys=True, default=str).encode())


def stamp(project: Path) -> str:
    """A digest of the code and of every template, the project's own included."""
    digest = hashlib.sha256(code_stamp().encode())
    for folder in template_folders(project):
        for file in sorted(folder.rglob("*.j2")) if folder.is_dir() else ():
            digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def _heads(summaries: list[Summary]) -> list[str]:
    """What a list of findings shows of each."""
    return [repr((s.id, s.title, s.date, s.kind, s.provenance, s.classes)) for s in summaries]


def plan(site: Site, keys: Keys, cache: Cache) -> Iterator[Planned]:
    """Every derived page."""
    catalog = site.catalog
    for path, make, key in (
        ("", home_page, keys.of(keys.heads, keys.decided)),
        ("findings/", catalogue, keys.heads),
        ("models/", models_index, keys.of(keys.heads, keys.decided)),
        ("recipes/", recipe_index, keys.heads),
        ("identities/", identity_index, keys.heads),
        ("hardware/", hardware_index, keys.heads),
        ("artifacts/", artifact_index, keys.heads),
        ("decisions/", decision_page, keys.of(keys.heads, keys.decided)),
        ("methodology/", methodology_page, keys.heads),
    ):
        yield Planned(path, keys.of(path, key), partial(make, site))
    for year in years(site):
        key = keys.of("year", [(y.name, y.count) for y in years(site)], keys.rows(of_year(site, year.name)))
        yield Planned(year_path(year.name), key, partial(year_page, site, year.name))
    states = snapshots_in_time(site)
    news = keys.of("news", keys.heads, repr(states), repr(list(channels(site))))
    yield Planned(PATH, news, partial(news_page, site, states))
    made = [(pair, *(site.titles.get((pair.folder, id_)) for id_ in (pair.before, pair.after))) for pair in pairs(site)]
    yield Planned(DATA, keys.of("data"), partial(data_page, site))
    yield Planned(COMPARE, keys.of("compare", repr(made)), partial(compare_page, site))
    for state in states:
        named = [site.titles.get(("findings", lane.finding), "") for lane in state.lanes]
        key = keys.of("as-of", repr(state), named, keys.others)
        yield Planned(day_path(state.day), key, partial(day_page, site, state))
    for doc in described_rules():
        yield Planned(rule_path(doc.id), keys.of(doc.id), partial(rule_page, site, doc.id))
    for summary in catalog.dated:
        key = keys.of("finding", keys.records["findings", summary.id], repr(outside(site, summary.id)))
        beside = (record_file(site, keys.of, "findings", summary.id),)
        yield Planned(page_of("findings", summary.id), key, partial(finding_page, site, summary.id), beside)
    for pair in pairs(site):
        sides = [keys.records[pair.folder, id_] for id_ in (pair.before, pair.after)]
        path = difference_path(pair.folder, pair.before, pair.after)
        yield Planned(path, keys.of("difference", *sides), partial(difference_page, site, pair))
    for folder, one in (("recipes", recipe_page), ("identities", identity_page), ("hardware", hardware_page)):
        for id_ in catalog.ids(folder):
            key = keys.of(folder, keys.records[folder, id_], keys.recipes, keys.around(folder, id_))
            beside = (record_file(site, keys.of, folder, id_),)
            yield Planned(page_of(folder, id_), key, partial(one, site, id_), beside)
    for id_ in catalog.ids("models"):
        ids = [s.id for s in catalog.dated if id_ in s.models]
        shown = [(keys.records["findings", i], repr(outside(site, i))) for i in ids]
        key = keys.of("model", keys.records["models", id_], keys.recipes, shown, repr(site.newest))
        beside = (record_file(site, keys.of, "models", id_),)
        yield Planned(page_of("models", id_), key, partial(_dossier, site, keys, cache, id_), beside)


def _dossier(site: Site, keys: Keys, cache: Cache, model_id: str) -> Page:
    """A dossier. A finding's contributions come from the cache where neither it nor what it names has changed."""
    family, path = f"fragment-{model_id}/{code_stamp()}", page_of("models", model_id)
    wanted = {s.id: keys.of(path, keys.records["findings", s.id]) for s in shown_whole(site, model_id)}
    known = cache.get_many(family, wanted.values())
    fresh: dict[str, bytes] = {}

    def fragments(finding_id: str) -> Mapping[str, str]:
        key = wanted[finding_id]
        if key in known:
            found: dict[str, str] = json.loads(known[key])
            return found
        made = dossier_fragments(site, site.view(path), finding_id)
        fresh[key] = json.dumps(made).encode()
        return made

    page = model_page(site, model_id, fragments)
    cache.put_many(family, fresh, wanted.values())
    return page
