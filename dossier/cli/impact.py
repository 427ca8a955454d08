"""`dossier impact`: what a pull request changes on the published pages, as Markdown for a comment."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click

from dossier.cache import Cache
from dossier.catalog import Catalog, Key, load_catalog
from dossier.catalog.history import write_base
from dossier.checks.run import check_catalog
from dossier.cli.project import find_evidence, open_cache
from dossier.derive.gates import judge
from dossier.derive.items import compared, difference_text, display
from dossier.errors import Severity
from dossier.fold import LaneState
from dossier.model.finding import Finding
from dossier.model.parse import FOLDERS
from dossier.model.recipe import Recipe
from dossier.model.subject import Subject
from dossier.pages.changed import Changed, changed_pages
from dossier.pages.context import links_of
from dossier.pages.places import page_of

_SHOWN = 40
_FIGURES = 6
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+|!~-])")


@click.command()
@click.option(
    "--base", metavar="REF", required=True, help="The git ref that the change goes into, such as origin/main."
)
@click.option("--evidence", default="evidence", show_default=True, help="The evidence folder.")
def impact(base: str, evidence: str) -> None:
    """Say what the change since REF does to the published pages: what is current now, which pages, which figures.

    Pages whose sources differ are made from both states and compared. Prints Markdown that can be posted as a
    comment: whatever the evidence says is escaped.
    """
    found = find_evidence((evidence,))
    with open_cache(found.root) as cache, tempfile.TemporaryDirectory() as folder:
        after = load_catalog(found.root, cache, found.shown, digests=True)
        write_base(base, after, Path(folder))
        before = load_catalog(Path(folder), cache, found.shown, digests=True)
        unsound = [name for name, c in ((base, before), ("this change", after)) if _has_errors(c, cache)]
        pages = [] if unsound else changed_pages(found.root.parent, before, after, cache)
        click.echo("\n".join(report(before, after, pages, unsound)))


def _has_errors(catalog: Catalog, cache: Cache) -> bool:
    return any(problem.severity is Severity.ERROR for problem in check_catalog(catalog, cache))


def _changed(before: Catalog, after: Catalog, key: Key) -> bool:
    same = before.entries[key].sha256 == after.entries[key].sha256
    return not same and before.digest(key) != after.digest(key)


def report(before: Catalog, after: Catalog, made: Sequence[Changed], unsound: Sequence[str]) -> Iterator[str]:
    """The lines of the comment. `made` are the pages that differ; none were made where a side is `unsound`."""
    added = [key for key in after.entries if key not in before.entries]
    changed = [key for key in after.entries if key in before.entries and _changed(before, after, key)]
    gone = [key for key in before.entries if key not in after.entries and key not in after.broken]
    yield "### What this changes on the published pages"
    yield ""
    if after.broken:
        yield f"{len(after.broken)} files cannot be read yet; `dossier check` says why. The rest:\n"
    lanes = list(_lanes(before, after))
    if not (added or changed or gone or lanes):
        yield "Nothing."
        return
    yield from _section("Lanes", lanes or ["No lane changes."])
    reasons = _reasons(before, after, added, changed)
    if unsound:
        names = " and ".join(map(_md, unsound))
        yield f"`dossier check` finds problems in {names}, so no page was made; these follow from links alone.\n"
        yield from _section("Pages", _shortened(f"- {_code(page)}: {told}" for page, told in sorted(reasons.items())))
    else:
        told = [(page, reasons.get(page.path, "")) for page in made]
        told.sort(key=lambda row: not (row[1] or row[0].come or row[0].gone))  # what says least comes last
        yield from _section("Pages", _shortened(_page(page, reason) for page, reason in told))
    if gone:
        yield from _section("Records that are gone", _shortened(f"- {_code('/'.join(key))}" for key in sorted(gone)))
    figures = [line for folder, id_ in sorted(added) if folder == Finding.FOLDER for line in _figures(id_, after)]
    if figures:
        yield from _section("Figures", ["| finding | item | says |", "|---|---|---|", *_shortened(figures)])


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield f"**{title}**\n"
    yield from lines
    yield ""


def _shortened(lines: Iterable[str]) -> list[str]:
    every = list(lines)
    return every if len(every) <= _SHOWN else [*every[:_SHOWN], f"... and {len(every) - _SHOWN} more"]


def _lanes(before: Catalog, after: Catalog) -> Iterator[str]:
    """One line for each lane whose current recipe or rollback changes."""
    for key in sorted({*before.now.lanes, *after.now.lanes}):
        old, new = before.now.lanes.get(key, LaneState(*key)), after.now.lanes.get(key, LaneState(*key))
        for what, was, becomes in (("current", old.current, new.current), ("rollback", old.rollback, new.rollback)):
            if was != becomes:
                name = f"{_md(key[0])}, lane {_md(key[1])}"
                yield f"- {name}: {what} changes from {_recipe(was)} to {_recipe(becomes)}"


def _recipe(id_: str | None) -> str:
    return "nothing" if id_ is None else f"**{_md(id_)}**"


def _page(page: Changed, reason: str) -> str:
    """A line on one page: why it changes, how much of its text, and which figures come and go."""
    told = [reason] if reason else []
    if not page.before or not page.after:
        told = told or ["new" if page.after else "gone"]
    if any(page.lines):
        told.append(f"{_many(page.lines[0])} more, {page.lines[1]} fewer")
    told += [
        f"{word} {_list(figures)}"
        for word, figures in (("shows", page.come), ("no longer shows", page.gone))
        if figures
    ]
    return f"- {_code(page.path or 'home page')}: {'; '.join(told)}"


def _many(lines: int) -> str:
    return f"{lines} line{'' if lines == 1 else 's'}"


def _list(figures: Sequence[str]) -> str:
    more = f" and {len(figures) - _FIGURES} more" if len(figures) > _FIGURES else ""
    return f"{', '.join(map(_md, figures[:_FIGURES]))}{more}"


def _reasons(
    before: Catalog, after: Catalog, added: list[tuple[str, str]], changed: list[tuple[str, str]]
) -> dict[str, str]:
    """Why a page is new or says something else, as the records tell it, by its path."""
    reasons: dict[str, list[str]] = {}
    notes = [(key, "new") for key in added] + [(key, "its record changes") for key in changed]
    notes += [note for key in [*added, *changed] for note in _consequences(key, after)]
    for lane in sorted({*before.now.lanes, *after.now.lanes}):
        notes += [((Recipe.FOLDER, recipe), told) for recipe, told in _roles(before, after, lane)]
    for (folder, id_), why in notes:
        if folder in FOLDERS and why not in reasons.setdefault(page_of(folder, id_), []):
            reasons[page_of(folder, id_)].append(why)
    return {page: "; ".join(why) for page, why in reasons.items()}


def _consequences(key: tuple[str, str], after: Catalog) -> Iterator[tuple[tuple[str, str], str]]:
    """The pages on which a finding shows besides its own."""
    summary = after.summaries.get(key[1]) if key[0] == Finding.FOLDER else None
    if summary is None:
        return
    name = _md(summary.id)
    yield from (((Finding.FOLDER, target), f"{name} {word} it") for word, target in links_of(summary))
    yield from (((Subject.FOLDER, model), f"lists {name}") for model in summary.models)
    yield from (((Recipe.FOLDER, recipe), f"named by {name}") for recipe in summary.recipes)


def _roles(before: Catalog, after: Catalog, key: tuple[str, str]) -> Iterator[tuple[str, str]]:
    old, new = before.now.lanes.get(key, LaneState(*key)), after.now.lanes.get(key, LaneState(*key))
    for recipe in sorted({*old.standings, *new.standings}):
        was, becomes = old.role(recipe), new.role(recipe)
        if was != becomes and after.exists(Recipe.FOLDER, recipe):
            yield recipe, f"{was or 'no role'} becomes {becomes or 'no role'} in lane {_md(key[1])}"


def _figures(id_: str, catalog: Catalog) -> Iterator[str]:
    """A row for each measurement, comparison and gate of a new finding."""
    finding = catalog.finding(id_)
    if finding is None:
        return
    for m in finding.measurements:
        yield _row(id_, m.id, f"{m.metric} {display(m.value)}")
    for c in finding.comparisons:
        result = compared(c, finding, catalog.finding, catalog.metric)
        how = "computed" if result.computed else "stated"
        yield _row(id_, c.id, f"{difference_text(c, result)} ({how})")
    for g in finding.gates:
        judged = judge(g, finding, catalog.finding, catalog.metric)
        yield _row(id_, g.id, f"{judged.verdict} ({'computed' if judged.computed else 'stated'})")


def _row(finding: str, item: str, says: str) -> str:
    return f"| {_md(finding)} | {_md(item)} | {_md(says)} |"


def _code(text: str) -> str:
    return f"`{text.replace('`', '')}`"


def _md(text: str) -> str:
    """Text that is neither Markdown nor HTML, and mentions nobody, whatever it holds."""
    plain = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", plain).replace("@", "@\u200b").replace("://", ":\u200b//")
