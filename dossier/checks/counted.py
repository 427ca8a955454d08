"""Counted once: one run is one population, and a comparison has two sides."""

from __future__ import annotations

from collections.abc import Iterator

from dossier.catalog import Catalog
from dossier.catalog.summary import Summary
from dossier.checks.registry import Placed, Wrong, catalog_rule, record_rule
from dossier.derive.items import resolve
from dossier.model.finding import Finding
from dossier.model.workload import Population

_WORDS = {"id", "title", "note"}


@record_rule("claims/itself", Finding)
def two_sides_are_two(finding: Finding, catalog: Catalog) -> Iterator[Wrong]:
    """A figure beside itself shows no difference, and would be read as a result."""
    for index, comparison in enumerate(finding.comparisons):
        one, other = (resolve(t, finding, catalog.finding) for t in (comparison.candidate, comparison.baseline))
        if one is not None and other is not None and (one.finding.id, one.id) == (other.finding.id, other.id):
            told = f"{comparison.candidate} is compared with itself; name the figure that it is held against"
            yield Wrong(("comparisons", index, "baseline"), told)


@record_rule("claims/counted-twice", Finding)
def one_run_is_one_population(finding: Finding, _: Catalog) -> Iterator[Wrong]:
    """A run that stands in two populations counts twice: n is smaller than it looks."""
    yield from _same_figure(finding)
    seen: dict[str, str] = {}
    for index, population in enumerate(finding.populations):
        if population.artifact is None:
            continue
        rest = population.model_dump_json(exclude=_WORDS)
        first = seen.setdefault(rest, population.id)
        if first != population.id and population.completed is not None:
            told = f"{population.id} says of {population.artifact} what {first} says; one run is counted once, keep one"
            yield Wrong(("populations", index, "id"), told)


def _same_figure(finding: Finding) -> Iterator[Wrong]:
    populations = {population.id: population for population in finding.populations}
    first: dict[tuple[str, ...], str] = {}
    for index, measurement in enumerate(finding.measurements):
        origin, name = measurement.origin, measurement.population
        if origin is None or name is None:
            continue
        key = (origin.artifact, origin.pointer, measurement.metric, measurement.statistic)
        before = first.setdefault(key, name)
        if before != name and not _related(populations.get(before), populations.get(name)):
            told = f"{origin.pointer[:60]} of {origin.artifact} is already a figure of {before}"
            yield Wrong(("measurements", index, "population"), f"{told}; one run is counted once, name that population")


def _related(one: Population | None, other: Population | None) -> bool:
    """Is one of the two a part of the other? What is not there is told by another rule."""
    return one is None or other is None or one.part_of == other.id or other.part_of == one.id


@catalog_rule("claims/published-twice")
def one_run_is_one_finding(catalog: Catalog) -> Iterator[Placed]:
    """The same raw file under two findings makes one run look like two that agree."""
    first: dict[str, Summary] = {}
    for summary in catalog.dated:
        for index, artifact in enumerate(summary.artifacts):
            before = first.setdefault(str(artifact.sha256), summary)
            if before is summary or _replaces(summary, before, catalog):
                continue
            if _feeds(summary.id, artifact.id, catalog) and _feeds(before.id, _id_in(before, artifact.sha256), catalog):
                told = f"figures of {before.id} come from this very file; cite them as {before.id}#item"
                how = "or say in `links` what this finding is to it: supersedes, erratum_for or addendum_to"
                yield (Finding.FOLDER, summary.id), Wrong(("artifacts", index), f"{told}, {how}")


def _replaces(summary: Summary, before: Summary, catalog: Catalog) -> bool:
    links = summary.links
    return (
        before.id in {*links.supersedes, links.erratum_for, links.addendum_to}
        or before.id in catalog.withdrawn
        or summary.id in catalog.withdrawn
    )


def _id_in(summary: Summary, sha256: object) -> str:
    return next(artifact.id for artifact in summary.artifacts if artifact.sha256 == sha256)


def _feeds(finding_id: str, artifact: str, catalog: Catalog) -> bool:
    """Does a population or a figure of the finding come from its artifact?"""
    finding = catalog.finding(finding_id)
    if finding is None:
        return False
    return any(m.origin is not None and m.origin.artifact == artifact for m in finding.measurements) or any(
        p.artifact == artifact for p in finding.populations
    )
