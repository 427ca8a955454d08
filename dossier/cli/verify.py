"""`dossier verify`."""

from __future__ import annotations

import json
import sys
from collections import Counter
from functools import partial
from pathlib import Path

import click

from dossier.cache import Cache
from dossier.catalog import Catalog, load_catalog
from dossier.catalog.history import index_of
from dossier.checks.run import load_checked
from dossier.cli.check import show_problems
from dossier.cli.project import find_evidence
from dossier.cli.rebuilt import rebuilt
from dossier.derive.gates import judge
from dossier.derive.items import compared, known
from dossier.errors import Severity
from dossier.files import write_text
from dossier.model.finding import Finding

_FAMILIES = {"source", "schema", "identity", "artifacts", "arithmetic"}


@click.command()
@click.argument("evidence", default="evidence", type=click.Path())
@click.option("--index", type=click.Path(path_type=Path), help="Also write the index of all digests to a file.")
def verify(evidence: str, index: Path | None) -> None:
    """Recompute every digest, pointer and derived value of the EVIDENCE folder, and count them.

    Nothing is taken from a cache and nothing from a network. Exit status: 0 where all agree, 1 where one does not.
    """
    found = find_evidence((evidence,))
    with Cache(None) as cache:
        catalog, every = load_checked(partial(load_catalog, found.root, cache, found.shown, digests=True), cache)
        families = [p for p in every if p.rule.partition("/")[0] in _FAMILIES]
    errors = [p for p in families if p.severity is Severity.ERROR]
    counts = recomputed(catalog)
    try:
        findings = dict(rebuilt(catalog))
    except ImportError:
        click.echo("journals are not looked at: that needs the extra `runner`", err=True)
    else:
        counts["findings whose figures follow from their journals"] = len(findings)
        errors += [problem for problems in findings.values() for problem in problems]
    for what, count in counts.items():
        click.echo(f"{count:>9,}  {what}")
    show_problems(errors, len(catalog.entries) + len(catalog.broken))
    if index is not None and not errors:
        write_index(index, catalog)
    sys.exit(bool(errors))


def write_index(file: Path, catalog: Catalog) -> None:
    """Write the published index, against which `dossier check --published` compares."""
    write_text(file, json.dumps(index_of(catalog), indent=2, sort_keys=True) + "\n")


def recomputed(catalog: Catalog) -> dict[str, int]:
    """What the rules recompute of a catalog, and how often, in the order in which one builds on the other."""
    counts = Counter({"record digests": len(catalog.entries)})
    for id_ in catalog.ids(Finding.FOLDER):
        finding = catalog.finding(id_)
        if finding is not None:
            counts.update(_of(finding, catalog))
    return {what: counts[what] for what in _WHAT}


_WHAT = (
    "record digests",
    "digests of records that a finding rests on",
    "artifact digests",
    "pointers into artifacts",
    "sums of populations",
    "differences of comparisons",
    "verdicts of gates",
    "planning figures",
)


def _of(finding: Finding, catalog: Catalog) -> dict[str, int]:
    listed = [f"{finding.id}/{a.path}" for a in finding.artifacts if a.path is not None]
    sides = [compared(c, finding, catalog.finding, catalog.metric) for c in finding.comparisons]
    gates = [judge(g, finding, catalog.finding, catalog.metric) for g in finding.gates]
    numbers = (
        len(finding.pins),
        sum(path in catalog.artifacts for path in listed),
        sum(m.origin is not None for m in finding.measurements),
        sum(known(p.planned) is not None for p in finding.populations),
        sum(side.computed for side in sides),
        sum(gate.computed for gate in gates),
        sum(m.computed_from is not None for m in finding.measurements),
    )
    return dict(zip(_WHAT[1:], numbers, strict=True))
