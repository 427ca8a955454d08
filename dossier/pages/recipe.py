"""The page of a recipe: what was set, its roles, and the findings that used it; and the list of recipes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from dossier.errors import RenderError
from dossier.fold import Event
from dossier.model.identity import Identity, Runtime
from dossier.model.recipe import Recipe
from dossier.model.vocabulary import Outcome
from dossier.pages.context import LaneRole, Site
from dossier.pages.fields import Pairs, Writer
from dossier.pages.markup import html, joined
from dossier.pages.outside import index_of
from dossier.pages.places import Page, page_of
from dossier.pages.records import finding_list, record_facts, record_head, record_search
from dossier.pages.tables import grid

_TOLD = ("schema_", "id", "title", "notes", "sources", "identity", "hardware", "derived_from")


@dataclass(frozen=True, slots=True)
class Step:
    """One decision that names the recipe, with the lanes it is for; `as_rollback` where it promotes another."""

    event: Event
    lanes: list[str]
    as_rollback: bool

    @property
    def outcome(self) -> Outcome:
        """What the decision does to this recipe."""
        return Outcome.DESIGNATE_ROLLBACK if self.as_rollback else self.event.decision.outcome


def recipe_page(site: Site, id_: str) -> Page:
    """The whole page. Raises RenderError where there is no such valid recipe."""
    recipe = site.catalog.recipe(id_)
    if recipe is None:
        raise RenderError(f"recipes/{id_}: there is no such record")
    path = page_of("recipes", id_)
    view = site.view(path)
    writer = Writer(view)
    roles = site.roles(id_)
    body = view.render(
        "recipe.html.j2", r=recipe, w=writer, roles=roles, steps=_steps(site, id_),
        settings=writer.facts(recipe, but=_TOLD), pins=pins(writer, recipe.identity),
        models=[site.titles.get(("models", model), model) for model in recipe.models],
        findings=finding_list(writer, index_of(site).recipes.get(id_, [])),
        derived=[other for other in _recipes(site) if other.derived_from == id_],
        record=record_facts(writer, recipe),
    )  # fmt: skip
    told = f"Recipe {recipe.title}: {_in_short(roles)}."
    return Page(path, "Recipes", recipe.title, told, body, record_search(view, path, recipe))


def _in_short(roles: list[LaneRole]) -> str:
    return "; ".join(f"{r.standing.role} in {r.lane.title}" for r in roles) or "no decision names it"


def _steps(site: Site, id_: str) -> list[Step]:
    """Every decision that names the recipe, in order."""
    steps: dict[tuple[str, int], Step] = {}
    for subject in site.subjects:
        for lane in subject.lanes:
            state = site.catalog.now.lanes.get((subject.id, lane.id))
            for event in state.events if state is not None else ():
                decision = event.decision
                if id_ in {decision.recipe, decision.rollback}:
                    step = Step(event, [], as_rollback=decision.recipe != id_)
                    steps.setdefault((event.finding, event.index), step).lanes.append(lane.title)
    return sorted(steps.values(), key=lambda step: step.event.day)


def _recipes(site: Site) -> Iterator[Recipe]:
    found = (site.catalog.recipe(id_) for id_ in site.catalog.ids("recipes"))
    return (recipe for recipe in found if recipe is not None)


def pins(writer: Writer, identity_id: object) -> Pairs:
    """The pins of an identity: revisions, files, image, commit, template; unknown ones with their reason."""
    identity = writer.view.site.catalog.identity(identity_id) if isinstance(identity_id, str) else None
    return list(_pins(writer, identity)) if identity is not None else []


def _pins(writer: Writer, identity: Identity) -> Iterator[tuple[str, Markup]]:
    found: list[tuple[str, object]] = []
    for artifact in identity.artifacts:
        found.append((f"Revision of {artifact.role}", artifact.revision))
        found += [(f"{artifact.role}: {file.path}", file.sha256) for file in artifact.files]
    runtime = identity.runtime
    if isinstance(runtime, Runtime):
        found += [
            ("Runtime image", runtime.image.digest if runtime.image else None),
            ("Runtime commit", runtime.commit),
        ]
    else:
        found.append(("Runtime", runtime))
    found.append(("Template", identity.template_sha256))
    for label, value in found:
        shown = writer.value(value)
        if shown is not None:
            yield label, shown


def recipe_index(site: Site) -> Page:
    """Every recipe in one table."""
    view = site.view("recipes/")
    writer = Writer(view)

    def roles(recipe: Recipe) -> Markup | None:
        made = [html("%s %s", writer.word(r.standing.role), r.lane.title) for r in site.roles(recipe.id)]
        return joined("<br>", made) or None

    used = index_of(site).recipes
    table = grid(
        writer, list(_recipes(site)), ("roles", "context_tokens", "concurrency", "identity", "hardware", "used"),
        head=record_head(view, "recipes", "Recipe"),
        cells={"roles": roles, "used": lambda r: len(used.get(r.id, []))},
        labels={"roles": ("Role now, by lane", "wide"), "used": ("Findings", "num"), "identity": ("Identity", "mid")},
    )  # fmt: skip
    lede = "Everything that was set to start a service. A role is never written in a recipe: it follows from decisions."
    body = view.render("records.html.j2", title="Recipes", lede=lede, table=table, noun="recipe")
    return Page("recipes/", "Recipes", "Recipes", lede, body)
