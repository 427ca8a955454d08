"""What page templates may ask: links, resolved references, prose, roles, computed differences and verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any, TypeVar

from jinja2 import Environment, TemplateError, TemplateSyntaxError
from markupsafe import Markup, escape

from dossier.catalog import Catalog
from dossier.catalog.summary import Summary
from dossier.derive.gates import Judged, judge
from dossier.derive.items import Compared, Item, compared, display, resolve
from dossier.derive.references import parse_reference
from dossier.derive.show import shown
from dossier.errors import RenderError
from dossier.fold import Folded, Standing
from dossier.model.base import Record
from dossier.model.finding import Finding
from dossier.model.gate import Gate
from dossier.model.measurement import Comparison
from dossier.model.recipe import Recipe
from dossier.model.subject import Lane, Subject
from dossier.model.vocabulary import Completion, MeasurementClass, Outcome, Provenance, Role, Verdict, Word
from dossier.pages import prose as markdown
from dossier.pages.markup import html
from dossier.pages.places import anchor, difference_path, page_of, root_of

_BADGES: dict[type, str] = {
    Provenance: "provenance",
    MeasurementClass: "measurement_class",
    Verdict: "verdict",
    Role: "status",
    Outcome: "status",
}


V = TypeVar("V")
F = TypeVar("F")

Made = dict[tuple[type, object, object], Markup]
"""(type of a value, the value, the field that it stands in) -> how every page of one depth shows it."""

_MADE = 20_000
"""Values whose markup is kept: the same words, counts and links stand in many cells of many pages."""


@dataclass(frozen=True, slots=True)
class LaneRole:
    """A recipe's role in one lane of one model."""

    model: str
    lane: Lane
    standing: Standing


@dataclass
class Site:
    """The catalog and the templates: everything from which pages are made."""

    catalog: Catalog
    env: Environment

    def view(self, path: str) -> View:
        """The site as seen from one page."""
        root = root_of(path)
        return View(self, path, root, self._made.setdefault(root, {}))

    @cached_property
    def subjects(self) -> list[Subject]:
        """Every model, by id."""
        found = (self.catalog.subject(id_) for id_ in self.catalog.ids("models"))
        return [subject for subject in found if subject is not None]

    @cached_property
    def titles(self) -> dict[tuple[str, str], str]:
        """The title of every record."""
        titles = {("findings", s.id): s.title for s in self.catalog.dated}
        for folder, id_ in self.catalog.entries:
            if folder != "findings":
                record = self.catalog.record(folder, id_)
                titles[folder, id_] = str(getattr(record, "title", None) or getattr(record, "name", id_))
        return titles

    def recipes_on(self, folder: str, id_: str) -> list[Recipe]:
        """The recipes that serve an identity (`identities`) or run on a machine (`hardware`)."""
        return self._recipes_on.get((folder, id_), [])

    @cached_property
    def _recipes_on(self) -> dict[tuple[str, str], list[Recipe]]:
        found: dict[tuple[str, str], list[Recipe]] = {}
        for recipe in filter(None, map(self.catalog.recipe, self.catalog.ids("recipes"))):
            for folder, id_ in (("identities", recipe.identity), ("hardware", recipe.hardware)):
                if isinstance(id_, str):
                    found.setdefault((folder, id_), []).append(recipe)
        return found

    @cached_property
    def linked_from(self) -> dict[str, list[tuple[str, Summary]]]:
        """Finding id -> how later findings refer to it, as (word, their summary), in date order."""
        found: dict[str, list[tuple[str, Summary]]] = {}
        for summary in self.catalog.dated:
            for word, target in links_of(summary):
                found.setdefault(target, []).append((word, summary))
        return found

    def concluded_by(self, id_: str) -> Summary | None:
        """The later finding that ends one which was published while it was open: an addendum, or one in its place."""
        if self.catalog.summaries[id_].completion is not Completion.OPEN:
            return None
        later = [s for word, s in self.linked_from.get(id_, ()) if word in {"adds to", "supersedes"}]
        return next((s for s in reversed(later) if s.completion is not Completion.OPEN), None)

    def completion(self, id_: str) -> Completion:
        """How far the work of a finding went by now."""
        end = self.concluded_by(id_)
        return end.completion if end is not None else self.catalog.summaries[id_].completion

    def roles(self, recipe: str, until: date | None = None) -> list[LaneRole]:
        """The roles of a recipe in every lane that a decision named it for, at a date or now."""
        folded = self.catalog.now if until is None else self.folded(until)
        return [
            LaneRole(subject.id, lane, standing)
            for subject in self.subjects
            for lane in subject.lanes
            if (state := folded.lanes.get((subject.id, lane.id))) is not None
            if (standing := state.standings.get(recipe)) is not None
        ]

    def folded(self, until: date) -> Folded:
        """The lanes at the end of a day; each day is folded once."""
        if until not in self._folded:
            self._folded[until] = self.catalog.folded(until)
        return self._folded[until]

    def once(self, make: Callable[[Site], V]) -> V:
        """What a function makes of the site, made when first asked for and kept as long as the site."""
        if make not in self._kept:
            self._kept[make] = make(self)
        found: V = self._kept[make]
        return found

    @cached_property
    def _kept(self) -> dict[Callable[[Site], Any], Any]:
        return {}

    @cached_property
    def _folded(self) -> dict[date, Folded]:
        return {}

    @cached_property
    def parts(self) -> Any:
        """The macros of components.html.j2."""
        return self.env.get_template("components.html.j2").module

    @cached_property
    def _made(self) -> dict[str, Made]:
        return {}

    @cached_property
    def newest(self) -> date | None:
        """The day of the newest finding: what is stale is measured against it, never against the clock."""
        return self.catalog.dated[-1].date if self.catalog.dated else None


_LINK_WORDS = {
    "follows": "follows",
    "supersedes": "supersedes",
    "see": "refers to",
    "erratum_for": "corrects",
    "addendum_to": "adds to",
    "withdraws": "withdraws",
}


def links_of(summary: Summary) -> Iterator[tuple[str, str]]:
    """(word, target finding) of every link that a finding declares."""
    for name, word in _LINK_WORDS.items():
        value = getattr(summary.links, name)
        targets = (value,) if isinstance(value, str) else value or ()
        yield from ((word, target) for target in targets)


@dataclass(frozen=True)
class View:
    """One page's way of looking at the site: every href is relative to it."""

    site: Site
    path: str
    root: str
    _made: Made

    def once(self, make: Callable[[V, F], Markup], value: V, field: F) -> Markup:
        """What `make` gives, kept for all pages that lie as deep: it may depend on nothing but what it is given."""
        key = (type(value), value, field)
        made = self._made.get(key)
        if made is None:
            if len(self._made) >= _MADE:
                self._made.clear()
            made = self._made[key] = make(value, field)
        return made

    def href(self, folder: str, id_: str, item: str = "") -> str:
        """The way to a record's page, or to an item on it."""
        page = page_of(folder, id_)
        fragment = f"#{anchor(item)}" if item else ""
        return fragment if fragment and page == self.path else f"{self.root}{page}{fragment}"

    def differs(self, folder: str, before: str, after: str) -> str:
        """The way to the page that shows how two records differ; one replaces the other or is changed from it."""
        return f"{self.root}{difference_path(folder, before, after)}"

    def link(self, folder: str, id_: str, words: str = "") -> Markup:
        """A link to a record, by its title or other words; plain text where no such record is."""
        title = words or self.site.titles.get((folder, id_), id_)
        if (folder, id_) not in self.site.titles:
            return escape(title)
        return html('<a href="%s">%s</a>', self.href(folder, id_), title)

    def word(self, word: Word) -> Markup:
        """A word of a closed list as a badge, with its meaning."""
        return self.once(self._badge, word, None)

    def _badge(self, word: Word, _: None) -> Markup:
        made: Markup = getattr(self.site.parts, _BADGES.get(type(word), "tag"))(word)
        return made

    def unknown(self, why: Markup | str) -> Markup:
        """`unknown: why`."""
        made: Markup = self.site.parts.unknown(why)
        return made

    def prose(self, text: str, finding: Finding | None = None) -> Markup:
        """Markdown blocks with references resolved as seen from a finding."""
        return markdown.prose(text, lambda target: self.reference(target, finding))

    def inline(self, text: str, finding: Finding | None = None) -> Markup:
        """One line of Markdown with references resolved."""
        return markdown.inline(text, lambda target: self.reference(target, finding))

    def plain(self, text: str, finding: Finding | None = None) -> str:
        """The words of some prose, for descriptions and search."""
        return markdown.plain(self.prose(text, finding))

    def reference(self, target: str, finding: Finding | None) -> Markup:
        """What stands for `[[target]]`: the formatted figure linked to its row, or a linked title."""
        place, _, words = target.partition("|")
        found = parse_reference(place, words)
        if found.record and not found.item:
            return self.link(found.folder, found.record, found.words)
        if found.record and found.folder != "findings":
            return self._field(found.folder, found.record, found.item, found.words)
        return self._item(place.strip(), finding, words)

    def _field(self, folder: str, id_: str, name: str, words: str) -> Markup:
        record = self.site.catalog.record(folder, id_)
        value = getattr(record, name, None)
        if value is None:
            raise RenderError(f"{folder}/{id_} has no {name}")
        return html('<a class="dx-fig" href="%s">%s</a>', self.href(folder, id_), words or display(value))

    def _item(self, target: str, finding: Finding | None, words: str) -> Markup:
        item, field = self.find(target, finding)
        text = shown(item, field, self.site.catalog.finding)
        if text is None:
            raise RenderError(f"{target} shows nothing")
        href = self.href("findings", item.finding.id, item.id)
        return html('<a class="dx-fig" href="%s">%s</a>', href, words or text)

    def find(self, target: str, finding: Finding | None) -> tuple[Item, str]:
        """The item that a reference names, and the field after its last dot where the whole is no item's id."""
        for name, field in ((target, ""), target.rpartition(".")[::2]):
            here = finding or self.site.catalog.finding(name.partition("#")[0])
            item = resolve(name, here, self.site.catalog.finding) if here is not None and name else None
            if item is not None:
                return item, field
        raise RenderError(f"[[{target}]] names nothing")

    def compared(self, comparison: Comparison, finding: Finding) -> Compared:
        """Both sides of a comparison and the computed difference."""
        return compared(comparison, finding, self.site.catalog.finding, self.site.catalog.metric)

    def judged(self, gate: Gate, finding: Finding) -> Judged:
        """A gate's verdict before any waiver."""
        return judge(gate, finding, self.site.catalog.finding, self.site.catalog.metric)

    def record(self, folder: str, id_: str) -> Record | None:
        """Any record."""
        return self.site.catalog.record(folder, id_)

    def render(self, template: str, **values: object) -> str:
        """Render a template with this view as `view`. Raises RenderError where a project's own template is wrong."""
        try:
            return self.site.env.get_template(template).render(view=self, site=self.site, **values)
        except TemplateSyntaxError as error:
            raise RenderError(f"templates/{error.name or template}:{error.lineno}: {error.message}") from error
        except TemplateError as error:
            raise RenderError(f"templates/{template}: {error.message}") from error
