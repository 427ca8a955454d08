"""The page of one finding."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from dossier.catalog.summary import classes_of
from dossier.errors import RenderError
from dossier.model.decision import Decision
from dossier.model.finding import Arm, Check, Finding, HardwareRelation, KeptFile, Links
from dossier.model.vocabulary import MeasurementClass, Outcome, Role
from dossier.pages.cite import citations
from dossier.pages.context import Site, links_of
from dossier.pages.fields import Pairs, Writer, fields_of, rest
from dossier.pages.figures import comparison_grid, disagreements, gate_grid, gate_tally, measurement_grid
from dossier.pages.glance import glance
from dossier.pages.markup import figure, html, joined, moment, permalink, quiet
from dossier.pages.outside import Became, Mention, Outside, outside
from dossier.pages.pictures.tracks import differences, rates
from dossier.pages.places import Page, page_of
from dossier.pages.populations import misses, population_groups
from dossier.pages.prose import plain
from dossier.pages.shell import SearchEntry
from dossier.pages.tables import Grid, grid
from dossier.pages.trust import trust

__all__ = ["finding_page", "outside"]

_DESCRIPTION = 300
_PREFIX = 16
"""Digits of its digest by which the search finds a finding."""

_SECTIONS: tuple[tuple[str, str, Callable[[Finding, Outside], object]], ...] = (
    ("limits", "Not claimed", lambda f, _: f.limits),
    ("boundary", "Boundary", lambda f, _: f.boundary),
    ("arms", "Arms", lambda f, _: f.arms or f.recipes),
    ("detail", "In detail", lambda f, _: f.narrative),
    ("populations", "Populations", lambda f, _: f.populations),
    ("measurements", "Measurements", lambda f, _: f.measurements),
    ("comparisons", "Comparisons", lambda f, _: f.comparisons),
    ("gates", "Gates", lambda f, _: f.gates),
    ("decisions", "Decisions", lambda f, _: f.decisions),
    ("stated-roles", "Stated roles", lambda f, _: f.stated_roles),
    ("discrepancies", "Discrepancies", lambda f, _: f.discrepancies),
    ("failures", "Failures and friction", lambda f, _: f.failures),
    ("observations", "Observations", lambda f, _: f.observations),
    ("restoration", "Restoration", lambda f, _: f.restoration),
    ("artifacts", "Artifacts", lambda f, _: f.artifacts or f.no_artifacts),
    ("not-attempted", "Not attempted", lambda f, _: f.not_attempted),
    ("follow-ups", "Follow-ups", lambda f, _: f.follow_ups),
    ("hardware", "Other hardware", lambda f, _: f.hardware),
    ("links", "Links", lambda f, o: f.links != Links() or o.links or o.campaign or o.citations),
    ("sources", "Sources", lambda f, _: f.sources),
    ("trust", "Why believe this", lambda *_: True),
    ("record", "Record", lambda *_: True),
    ("cite", "Cite", lambda *_: True),
)


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision, the facts of it as it was taken, and what became of it in each lane."""

    decision: Decision
    facts: Pairs
    became: list[tuple[str, Became]]


def finding_page(site: Site, finding_id: str) -> Page:
    """The whole page. Raises RenderError where there is no such valid finding."""
    finding = site.catalog.finding(finding_id)
    if finding is None:
        raise RenderError(f"findings/{finding_id}: there is no such record")
    path = page_of("findings", finding_id)
    view = site.view(path)
    known = outside(site, finding_id)
    writer = Writer(view, finding)
    summary = writer.prose(finding.summary)
    body = view.render(
        "finding.html.j2", f=finding, o=known, w=writer, summary=summary,
        digest=site.catalog.digest(("findings", finding_id)), present=_present(finding, known),
        recipe_field=fields_of(Arm)["recipe"],
        **_head(site, finding, known), **_evidence(writer, finding, known), **_decisions(writer, finding, known),
        **_rest(writer, finding, known),
    )  # fmt: skip
    text = plain(summary)
    limits = " ".join(view.plain(limit.text, finding) for limit in finding.limits)
    digest = site.catalog.digest(("findings", finding_id)).removeprefix("sha256:")
    named = f"{_names(finding)} {digest[:_PREFIX]}"
    return Page(
        path, "Findings", finding.title, _cut(text), body, tuple(_search(path, finding, f"{text} {named}", limits))
    )


def _cut(text: str) -> str:
    if len(text) <= _DESCRIPTION:
        return text
    return text[:_DESCRIPTION].rpartition(" ")[0] + " …"


def _search(path: str, finding: Finding, text: str, limits: str) -> Iterator[SearchEntry]:
    yield SearchEntry(path, finding.title, f"{finding.id} {text}")
    if limits:
        yield SearchEntry(f"{path}#limits", f"{finding.title}: not claimed", limits)


def _names(finding: Finding) -> str:
    """What else it is looked for by: the recipes of its arms and its metrics."""
    arms = (arm.recipe for arm in finding.arms.values())
    named = [*(r for r in arms if isinstance(r, str)), *finding.recipes, *(m.metric for m in finding.measurements)]
    return " ".join(dict.fromkeys(named))


def _present(finding: Finding, known: Outside) -> dict[str, str]:
    """Id and label of each section that the finding fills, in page order."""
    return {id_: label for id_, label, filled in _SECTIONS if filled(finding, known)}


def _head(site: Site, finding: Finding, known: Outside) -> dict[str, Any]:
    classes = classes_of(finding)
    withdrawing = site.catalog.finding(known.withdrawn_by.finding) if known.withdrawn_by is not None else None
    return {
        "classes": classes,
        "invalid": MeasurementClass.HISTORICAL_INVALID in classes,
        "withdrawing": withdrawing,
        "withdrawal": withdrawing.withdrawal if withdrawing is not None else None,
        "model_names": [site.titles.get(("models", model), model) for model in finding.models],
        "own_links": list(links_of(site.catalog.summaries[finding.id])),
    }


def _evidence(writer: Writer, finding: Finding, known: Outside) -> dict[str, Any]:
    differing = disagreements(writer, finding, known)
    return {
        "boundary": writer.facts(finding.boundary) if finding.boundary is not None else [],
        "arms": _arms(writer, finding),
        "groups": population_groups(writer, finding),
        "missed": [(p, misses(writer, p)) for p in finding.populations if p.misses],
        "glance": glance(writer, finding),
        "rates": rates(finding),
        "differences": differences(finding, writer.compared) if finding.comparisons else "",
        "measurements": measurement_grid(writer, finding),
        "comparisons": comparison_grid(writer, finding),
        "gates": gate_grid(writer, finding, known),
        "tally": gate_tally(writer, finding, known),
        "differing": differing,
        "trust": trust(writer, finding, len(differing)),
    }


def _arms(writer: Writer, finding: Finding) -> Grid:
    names = {id(arm): name for name, arm in finding.arms.items()}
    return grid(
        writer, tuple(finding.arms.values()), ("name", *rest(Arm)), labels={"name": "Arm"},
        cells={"name": lambda arm: names[id(arm)]}, ids=[f"arm-{name}" for name in finding.arms],
    )  # fmt: skip


def _decisions(writer: Writer, finding: Finding, known: Outside) -> dict[str, Any]:
    decided = [_decided(writer, finding, decision, known) for decision in finding.decisions]
    acts = [d for d in finding.decisions if d.outcome is not Outcome.WAIVE]
    return {
        "decided": decided,
        "tone": next(iter(acts or finding.decisions), None),
        "lane_title": lambda decision, lane: _lane_title(writer, decision.model or finding.models[0], lane),
        "stated_roles": _stated_roles(writer, finding, known),
    }


def _decided(writer: Writer, finding: Finding, decision: Decision, known: Outside) -> Decided:
    model = decision.model or finding.models[0]
    lanes = [_lane_title(writer, model, lane) for lane in decision.lanes]
    facts: Pairs = [("Date", moment(decision.at or finding.date))]
    if lanes:
        facts.append(("Lanes" if len(lanes) > 1 else "Lane", html("%s", ", ".join(lanes))))
    facts += writer.facts(decision, but=("id", "outcome", "lanes", "at", "gate", "recipe"))
    if decision.human_approval is None and decision.outcome is Outcome.PROMOTE:
        facts.append(("Human approval", figure("not recorded")))
    became = [(_lane_title(writer, b.model, b.lane), b) for b in known.became if b.decision == decision.id]
    return Decided(decision, facts, became)


def _lane_title(writer: Writer, model: str, lane: str) -> str:
    subject = writer.view.site.catalog.subject(model)
    titles = {each.id: each.title for each in subject.lanes} if subject is not None else {}
    return titles.get(lane, lane)


def _stated_roles(writer: Writer, finding: Finding, known: Outside) -> Grid:
    """What a source called each recipe, and what the decisions up to the finding's date make of it."""
    folded: dict[int, Role | None] = {
        id(s): role for s, role in zip(finding.stated_roles, known.folded, strict=True)
    }  # fmt: skip
    return grid(
        writer, finding.stated_roles, ("recipe", "lane", "role", "words", "fold", "agree", "where"),
        cells={
            "lane": lambda s: _lane_title(writer, finding.models[0], s.lane),
            "fold": lambda s: folded[id(s)] or quiet("no decision names it"),
            "agree": lambda s: "yes" if folded[id(s)] is s.role else "no",
        },
        labels={"role": "Stated", "words": "In words", "fold": "By the decisions", "agree": "Agree"},
        ids=[f"i-role-{n}" for n in range(1, len(finding.stated_roles) + 1)],
    )  # fmt: skip


def _rest(writer: Writer, finding: Finding, known: Outside) -> dict[str, Any]:
    restoration = finding.restoration
    return {
        "restored": writer.facts(restoration, but=("checks",)) if restoration is not None else [],
        "checks": grid(
            writer,
            restoration.checks if restoration is not None else (),
            rest(Check, "what"),
            head=("Check", lambda check: check.what),
        ),
        "files": _files(writer, finding),
        "relations": grid(writer, finding.hardware, rest(HardwareRelation)),
        "backlinks": _by_word(known),
        "record": _record(writer, finding),
        "cite": citations(finding, writer.view.site.catalog.digest(("findings", finding.id))),
    }


def _record(writer: Writer, finding: Finding) -> Pairs:
    """What identifies the record itself: digest, what was left out, and the digests of what it rests on."""
    digest = writer.view.site.catalog.digest(("findings", finding.id))
    pins = [
        html("<li>%s %s</li>", writer.view.link(*name.split("/", 1)), writer.pin(pin))
        for name, pin in finding.pins.items()
    ]
    facts: Pairs = [("Id", html("<code>%s</code>", finding.id)), ("Digest", writer.pin(digest))]
    facts += writer.facts(finding, ("notes", "redactions", "allowed_figures"))
    return [*facts, ("Pins", html("<ul>%s</ul>", joined("", pins)))] if pins else facts


def _files(writer: Writer, finding: Finding) -> Grid:
    def place(file: KeptFile) -> Markup | None:
        if file.path is not None:
            href = f"{writer.view.root}artifacts/files/{finding.id}/{quote(file.path)}"
            return html('<a class="dx-download" href="%s">%s</a>', href, file.path)
        if file.url is not None:
            return writer.field(file, fields_of(KeptFile)["url"])
        if file.private is not None:
            return html("<p><strong>Private</strong></p>%s", writer.prose(file.private))
        return None

    names = ("file", "bytes", "media_type", "sha256", "note")
    more = rest(KeptFile, "id", "title", "path", "url", "private", *names)
    return grid(
        writer, finding.artifacts, (*names, *more), cells={"file": place},
        head=("Artifact", lambda file: html("%s<br>%s", file.title or file.id, permalink(file.id))),
        labels={"file": ("File", "wide"), "bytes": "Size", "sha256": ("SHA-256", "wide")},
    )  # fmt: skip


_PASSIVE = {
    "follows": "Followed by",
    "supersedes": "Superseded by",
    "refers to": "Referred to by",
    "corrects": "Corrected by",
    "adds to": "Added to by",
    "withdraws": "Withdrawn by",
}


def _by_word(known: Outside) -> list[tuple[str, list[Mention]]]:
    return [(said, found) for word, said in _PASSIVE.items() if (found := known.by(word))]
