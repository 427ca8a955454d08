"""What other pages need of a finding, so that thousands of findings need not be held whole."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from datetime import date

from dossier.derive.gates import judge
from dossier.derive.items import Find, Item, Metrics, find_item, resolve
from dossier.digest import sha256_hex
from dossier.model.base import Count, Line, Part, Prose
from dossier.model.decision import Decision, StatedRole
from dossier.model.finding import Finding, KeptFile, Links
from dossier.model.measurement import Comparison, Measurement
from dossier.model.vocabulary import Completion, Kind, MeasurementClass, Provenance, Verdict


class GateResult(Part):
    """A gate's verdict before any waiver, and the recipe whose arm it judged."""

    id: str
    title: str
    verdict: Verdict
    recipe: str | None = None


class Summary(Part):
    """The head of a finding, and the small things that indexes, banners and the fold are made of."""

    id: str
    path: str
    title: Line
    date: date
    kind: Kind
    provenance: Provenance
    completion: Completion
    models: tuple[str, ...]
    campaign: str | None
    classes: tuple[MeasurementClass, ...]
    summary: Prose
    recipes: tuple[str, ...] = ()
    measured_recipes: tuple[str, ...] = ()
    hardware: tuple[str, ...] = ()
    links: Links = Links()
    withdraws: str | None = None
    decisions: tuple[Decision, ...] = ()
    gates: tuple[GateResult, ...] = ()
    stated_roles: tuple[StatedRole, ...] = ()
    excluded_items: tuple[str, ...] = ()
    artifacts: tuple[KeptFile, ...] = ()
    populations: Count = 0
    measurements: Count = 0
    comparisons: Count = 0


def dump(summary: Summary) -> bytes:
    """The summary as JSON for the cache."""
    return summary.model_dump_json(exclude_defaults=True, by_alias=True).encode()


def restore(data: bytes) -> Summary:
    """A summary that `dump` wrote; raises ValueError for anything else."""
    return Summary.model_validate_json(data)


class Summaries(Mapping[str, Summary]):
    """Summaries by finding, each restored from what `dump` wrote when it is first asked for.

    Most of a check asks for few of them.
    """

    def __init__(self) -> None:
        self._known: dict[str, Summary | bytes] = {}
        self._digests: dict[str, bytes] = {}

    def put(self, id_: str, data: bytes) -> None:
        """Enter the summary of a finding."""
        self._known[id_] = data
        self._digests[id_] = hashlib.sha256(data).digest()

    def stamp(self) -> str:
        """A digest of all of them."""
        return sha256_hex(b"".join(digest for _, digest in sorted(self._digests.items())))

    def __getitem__(self, id_: str) -> Summary:
        found = self._known[id_]
        if isinstance(found, bytes):
            found = self._known[id_] = restore(found)
        return found

    def __contains__(self, id_: object) -> bool:
        return id_ in self._known

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


def summarize(
    finding: Finding, path: str, find: Find, metrics: Metrics, hardware_of: Callable[[str], str | None]
) -> Summary:
    """Condense a finding. `hardware_of` gives the hardware of a recipe."""
    recipes = recipes_of(finding)
    machines = [h for h in map(hardware_of, recipes) if h] + [h.hardware for h in finding.hardware]
    return Summary(
        id=finding.id,
        path=path,
        title=finding.title,
        date=finding.date,
        kind=finding.kind,
        provenance=finding.provenance,
        completion=finding.completion,
        models=finding.models,
        campaign=finding.campaign,
        classes=classes_of(finding),
        summary=finding.summary,
        recipes=recipes,
        measured_recipes=measured_recipes(finding),
        hardware=tuple(dict.fromkeys(machines)),
        links=finding.links,
        withdraws=finding.links.withdraws,
        decisions=finding.decisions,
        gates=tuple(_gate_results(finding, find, metrics)),
        stated_roles=finding.stated_roles,
        excluded_items=tuple(_excluded(finding)),
        artifacts=finding.artifacts,
        populations=len(finding.populations),
        measurements=len(finding.measurements),
        comparisons=len(finding.comparisons),
    )


def _excluded(finding: Finding) -> Iterator[str]:
    for parts in (finding.populations, finding.measurements, finding.comparisons):
        yield from (part.id for part in parts if part.excluded is not None)


def arm_recipe(finding: Finding, arm: str | None) -> str | None:
    """The recipe of an arm; None where the arm or its recipe is not known."""
    found = finding.arms.get(arm) if arm else None
    return found.recipe if found is not None and isinstance(found.recipe, str) else None


def recipes_of(finding: Finding) -> tuple[str, ...]:
    """Every recipe the finding is about, arms first."""
    arms = [arm.recipe for arm in finding.arms.values() if isinstance(arm.recipe, str)]
    decided = [r for d in finding.decisions for r in (d.recipe,) if r is not None]
    return tuple(dict.fromkeys([*arms, *finding.recipes, *decided]))


def measured_recipes(finding: Finding) -> tuple[str, ...]:
    """The recipes of the arms that a population, measurement or observation belongs to."""
    arms = [p.arm for p in finding.populations] + [m.arm for m in finding.measurements]
    arms += [o.arm for o in finding.observations]
    if None in arms:
        arms += list(finding.arms)
    return tuple(dict.fromkeys(r for arm in arms if (r := arm_recipe(finding, arm))))


def classes_of(finding: Finding) -> tuple[MeasurementClass, ...]:
    """The measurement classes of a finding, in the vocabulary's order."""
    used = set(finding.classes) | {p.class_ for p in finding.populations} | {m.class_ for m in finding.measurements}
    used |= {c.class_ for c in finding.comparisons} | {o.class_ for o in finding.observations}
    return tuple(c for c in MeasurementClass if c in used)


def _gate_results(finding: Finding, find: Find, metrics: Metrics) -> list[GateResult]:
    results = []
    for gate in finding.gates:
        judged = judge(gate, finding, find, metrics)
        recipe = recipe_of(judged.subject, find) if judged.subject is not None else None
        results.append(GateResult(id=gate.id, title=gate.title or gate.id, verdict=judged.verdict, recipe=recipe))
    return results


def recipe_of(item: Item, find: Find) -> str | None:
    """The recipe that an item speaks of: that of its arm, of its population's arm, or of its candidate."""
    part = item.part
    if isinstance(part, Comparison):
        side = resolve(part.candidate, item.finding, find)
        return None if side is None or isinstance(side.part, Comparison) else recipe_of(side, find)
    arm = getattr(part, "arm", None)
    if arm is None and isinstance(part, Measurement) and part.population is not None:
        population = find_item(item.finding, part.population)
        arm = getattr(population.part, "arm", None) if population is not None else None
    return arm_recipe(item.finding, arm)
