"""Arithmetic: what a record states has to add up, and stated differences have to recompute."""

from __future__ import annotations

from collections.abc import Iterator

from dossier.catalog import Catalog
from dossier.checks.registry import Wrong, record_rule
from dossier.derive.items import known
from dossier.model.finding import Finding


@record_rule("arithmetic/population", Finding)
def population_sum(finding: Finding, _: Catalog) -> Iterator[Wrong]:
    """A request that is neither completed, failed nor not run has been lost from the count."""
    for index, population in enumerate(finding.populations):
        planned, completed, failed, not_run = (
            known(v) for v in (population.planned, population.completed, population.failed, population.not_run)
        )
        if not isinstance(planned, int) or not isinstance(completed, int):
            continue
        total = completed + sum(v for v in (failed, not_run) if isinstance(v, int))
        if total > planned or (total < planned and failed is not None and not_run is not None):
            parts = f"completed {completed} + failed {failed or 0} + not_run {not_run or 0} is {total}"
            yield Wrong(("populations", index, "planned"), f"planned is {planned}, but {parts}")
