"""`dossier show`."""

from __future__ import annotations

from collections.abc import Iterator

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dossier.catalog import Catalog, load_catalog
from dossier.cli.project import find_evidence, key_of, open_cache
from dossier.derive.gates import judge
from dossier.derive.items import compared, difference_text, display, fraction
from dossier.derive.show import in_words
from dossier.errors import UsageError
from dossier.model.base import Record, Unknown
from dossier.model.finding import Finding

_HEAD = (
    "title",
    "name",
    "date",
    "kind",
    "provenance",
    "completion",
    "models",
    "identity",
    "hardware",
    "summary",
    "scope",
)


@click.command()
@click.argument("record_id", metavar="ID")
@click.option("--evidence", default="evidence", show_default=True, help="The evidence folder.")
def show(record_id: str, evidence: str) -> None:
    """Show the record ID (or `folder/ID`) in the terminal: its head, figures, gates and roles."""
    found = find_evidence((evidence,))
    with open_cache(found.root) as cache:
        catalog = load_catalog(found.root, cache, found.shown)
    folder, id_ = key_of(record_id, catalog)
    record = catalog.record(folder, id_)
    if record is None:
        raise UsageError(f"{folder}/{id_} cannot be shown until `dossier check` finds no problem in it")
    console = Console(highlight=False)
    console.print(f"[bold]{folder}/{id_}[/]  [dim]{catalog.digest((folder, id_))}[/]")
    console.print(_head(record, catalog))
    tables = _of_finding(record, catalog) if isinstance(record, Finding) else _roles(id_, catalog)
    for table in tables:
        if table.row_count:
            console.print(table)


def _head(record: Record, catalog: Catalog) -> Table:
    here = record if isinstance(record, Finding) else None
    grid = Table.grid(padding=(0, 2))
    for name in _HEAD:
        value = getattr(record, name, None)
        if value:
            grid.add_row(f"[dim]{name}[/]", escape(in_words(_text(value), here, catalog.finding)))
    return grid


def _text(value: object) -> str:
    if isinstance(value, Unknown):
        return f"unknown: {value.unknown}"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else display(value)


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, header_style="dim")
    return table


def _of_finding(finding: Finding, catalog: Catalog) -> Iterator[Table]:
    populations = _table("Populations", "id", "class", "result", "excluded")
    for p in finding.populations:
        populations.add_row(p.id, p.class_ or "", fraction(p), p.excluded.reason if p.excluded else "")
    yield populations
    measurements = _table("Measurements", "id", "metric", "statistic", "value", "n")
    for m in finding.measurements:
        n = "" if m.n is None else _text(m.n)
        measurements.add_row(m.id, m.metric, m.statistic, escape(_text(m.value)), n)
    yield measurements
    comparisons = _table("Comparisons", "id", "candidate", "baseline", "difference")
    for c in finding.comparisons:
        result = compared(c, finding, catalog.finding, catalog.metric)
        comparisons.add_row(c.id, c.candidate, c.baseline, difference_text(c, result))
    yield comparisons
    gates = _table("Gates", "id", "requirement", "observed", "verdict")
    for g in finding.gates:
        judged = judge(g, finding, catalog.finding, catalog.metric)
        basis = "" if judged.computed else " (stated)"
        gates.add_row(g.id, escape(str(g.require or g.rule or "")), judged.observed, judged.verdict + basis)
    yield gates
    decisions = _table("Decisions", "id", "outcome", "lanes", "recipe")
    for d in finding.decisions:
        decisions.add_row(d.id, d.outcome, ", ".join(d.lanes), d.recipe or d.subject or d.gate or "")
    yield decisions


def _roles(record_id: str, catalog: Catalog) -> Iterator[Table]:
    table = _table("Roles now", "model", "lane", "role", "since", "by")
    for (model, lane), state in catalog.now.lanes.items():
        standing = state.standings.get(record_id)
        if standing is not None:
            table.add_row(model, lane, standing.role, standing.since.isoformat(), standing.finding)
    yield table
    lanes = _table("Lanes now", "lane", "current", "rollback", "since")
    for (model, lane), state in catalog.now.lanes.items():
        if model == record_id:
            since = state.promoted.day.isoformat() if state.promoted else ""
            lanes.add_row(lane, state.current or "none", state.rollback or "none", since)
    yield lanes
