"""`dossier build`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from dossier.cli.check import show_problems
from dossier.cli.project import open_cache, require_project
from dossier.pages.build import Progress, Report
from dossier.pages.build import build as build_site


@click.command()
@click.option("--site-dir", type=click.Path(path_type=Path), default="site", help="Where the site goes [site].")
@click.option("--evidence", default="evidence", show_default=True, help="The evidence folder.")
@click.option("--no-cache", is_flag=True, help="Read and check every file anew.")
def build(site_dir: Path, evidence: str, *, no_cache: bool) -> None:
    """Check the evidence, then build the whole site.

    A finding with problems is never published: the site that stands is then left as it is, and the exit status
    is 1. The new site takes the place of the old one in one step.
    """
    project = require_project(evidence)
    with open_cache(project / evidence, use=not no_cache) as cache, progress_display() as progress:
        report = build_site(project, site_dir, evidence, cache, progress)
    tell(report, site_dir)
    sys.exit(not report.published)


def tell(report: Report, site_dir: Path) -> None:
    """Problems, and the line that sums the build up."""
    if report.problems:
        show_problems(report.problems, report.records)
    if not report.published:
        click.echo("nothing was published; the site is as it was", err=True)
        return
    size = f"{report.bytes / 2**20:.1f} MiB"
    made = f"{report.pages:,} pages ({report.made:,} made anew)"
    click.echo(f"{report.records:,} records, {made}, {size}, {report.seconds:.1f} s: {site_dir}/index.html", err=True)


@contextmanager
def progress_display() -> Iterator[Progress]:
    """A bar on a terminal; nothing elsewhere, so that a CI log stays short."""
    if not sys.stderr.isatty():
        yield lambda _what, _done, _total: None
        return
    from rich.console import Console  # noqa: PLC0415  (only a terminal pays for it)
    from rich.progress import Progress as Bar  # noqa: PLC0415

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=None)

        def show(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total)

        yield show
