"""`dossier render`."""

from __future__ import annotations

import sys

import click

from dossier.cli.check import show_problems
from dossier.cli.project import open_cache, require_project
from dossier.pages.build import render as render_pages


@click.command()
@click.option("--evidence", default="evidence", show_default=True, help="The evidence folder.")
def render(evidence: str) -> None:
    """Write every page under `build/docs`, so that plain `mkdocs build` makes the same site, slowly."""
    project = require_project(evidence)
    with open_cache(project / evidence) as cache:
        report = render_pages(project, evidence, cache)
    if report.problems:
        show_problems(report.problems, report.records)
    if report.published:
        click.echo(f"{report.pages:,} pages in build/docs; now run: mkdocs build", err=True)
    sys.exit(not report.published)
