"""What a finding's page shows that the finding and what it names do not say: later findings, and the fold.

Made from summaries and the fold alone. Its `repr` is the same for the same evidence, so that a builder can tell from
it whether a page has to be rendered again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from dossier.catalog.summary import Summary
from dossier.model.base import Unknown
from dossier.model.decision import Decision
from dossier.model.vocabulary import Outcome, Role
from dossier.pages.context import Site


@dataclass(frozen=True, slots=True)
class Mention:
    """Another finding, and the SHA-256 of its file."""

    finding: str
    date: str
    title: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Citation:
    """A decision of another finding that rests on this one; `item` is empty for the whole of it."""

    by: Mention
    decision: str
    outcome: Outcome
    item: str


@dataclass(frozen=True, slots=True)
class Waiver:
    """A gate that a human set aside: where, who, and why."""

    gate: str
    finding: str
    decision: str
    by: str
    reason: str


@dataclass(frozen=True, slots=True)
class Became:
    """The role that a recipe of a decision has now in one lane."""

    decision: str
    model: str
    lane: str
    name: str
    title: str
    is_recipe: bool
    role: Role
    since: str
    finding: str
    until: str
    successor: str
    successor_title: str


@dataclass(frozen=True, slots=True)
class Outside:
    """Everything of a finding's page that can change while the finding stays as it is.

    `folded` holds, for each stated role, the role that the decisions up to the finding's date give.
    """

    withdrawn_by: Mention | None
    links: tuple[tuple[str, Mention], ...]
    campaign: tuple[Mention, ...]
    citations: tuple[Citation, ...]
    waivers: tuple[Waiver, ...]
    became: tuple[Became, ...]
    folded: tuple[Role | None, ...]

    def by(self, word: str) -> list[Mention]:
        """The later findings that stand to this one in a given way, such as `supersedes`."""
        return [mention for said, mention in self.links if said == word]


def outside(site: Site, finding_id: str) -> Outside:
    """Gather it for one finding."""
    summary = site.catalog.summaries[finding_id]
    index = index_of(site)
    by = site.catalog.withdrawn.get(finding_id)
    siblings = index.campaigns.get(summary.campaign or "", [])
    return Outside(
        withdrawn_by=mention(site, by) if by is not None else None,
        links=tuple((word, mention(site, other)) for word, other in site.linked_from.get(finding_id, [])),
        campaign=tuple(mention(site, other) for other in siblings if other.id != finding_id),
        citations=tuple(index.citations.get(finding_id, [])),
        waivers=tuple(_waivers(site, summary)),
        became=tuple(_became(site, summary)),
        folded=tuple(_folded(site, summary)),
    )


def mention(site: Site, summary: Summary) -> Mention:
    """A finding as another one's page names it."""
    sha256 = site.catalog.entries["findings", summary.id].sha256
    return Mention(summary.id, summary.date.isoformat(), summary.title, sha256)


def _waivers(site: Site, summary: Summary) -> Iterator[Waiver]:
    for gate in summary.gates:
        found = site.catalog.waived.get(f"{summary.id}#{gate.id}")
        if found is not None:
            finding, decision_id = found
            decision = next(d for d in site.catalog.summaries[finding].decisions if d.id == decision_id)
            by = decision.by
            name = f"unknown: {by.unknown}" if isinstance(by, Unknown) else by or ""
            yield Waiver(gate.id, finding, decision_id, name, decision.reason or "")


def _became(site: Site, summary: Summary) -> Iterator[Became]:
    for decision in summary.decisions:
        model = decision.model or summary.models[0]
        for lane in decision.lanes:
            state = site.catalog.now.lanes.get((model, lane))
            for name in _names(decision):
                if state is not None and (now := state.standings.get(name)) is not None:
                    until, after = now.until.isoformat() if now.until else "", now.successor or ""
                    yield Became(
                        decision.id, model, lane, name, _title(site, name), name != decision.subject, now.role,
                        now.since.isoformat(), now.finding, until, after, _title(site, after),
                    )  # fmt: skip


def _title(site: Site, recipe: str) -> str:
    return site.titles.get(("recipes", recipe), recipe)


def _names(decision: Decision) -> list[str]:
    return [name for name in (decision.recipe or decision.subject, decision.rollback) if name]


def _folded(site: Site, summary: Summary) -> Iterator[Role | None]:
    if not summary.stated_roles:
        return
    folded = site.folded(summary.date)
    for stated in summary.stated_roles:
        states = (folded.lanes.get((model, stated.lane)) for model in summary.models)
        yield next((role for state in states if state is not None if (role := state.role(stated.recipe))), None)


@dataclass(frozen=True, slots=True)
class Index:
    """Findings by what they share, and decisions by the finding that they rest on, all in date order."""

    campaigns: dict[str, list[Summary]]
    citations: dict[str, list[Citation]]
    recipes: dict[str, list[Summary]]
    hardware: dict[str, list[Summary]]


def index_of(site: Site) -> Index:
    """The index of a site, made once."""
    return site.once(_made)


def _made(site: Site) -> Index:
    index = Index(defaultdict(list), defaultdict(list), defaultdict(list), defaultdict(list))
    for summary in site.catalog.dated:
        if summary.campaign is not None:
            index.campaigns[summary.campaign].append(summary)
        for recipe in summary.recipes:
            index.recipes[recipe].append(summary)
        for machine in summary.hardware:
            index.hardware[machine].append(summary)
        for finding, citation in _citations(site, summary):
            index.citations[finding].append(citation)
    return index


def _citations(site: Site, summary: Summary) -> Iterator[tuple[str, Citation]]:
    for decision in summary.decisions:
        for target in decision.evidence:
            finding, _, item = target.partition("#")
            if finding != summary.id and finding in site.catalog.summaries:
                yield finding, Citation(mention(site, summary), decision.id, decision.outcome, item)
