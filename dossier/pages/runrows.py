"""Findings as rows of a table: the run catalogue, its years, the newest ones, a model's run history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from markupsafe import Markup

from dossier.catalog.summary import Summary
from dossier.derive.format import number
from dossier.model.identity import Runtime
from dossier.model.vocabulary import Outcome, Verdict
from dossier.pages.context import Site, View
from dossier.pages.markup import html, joined, safe

_BETWEEN = "|"
"""Between the values of one facet of a row; an engine's name may hold blanks."""
_FOLD = 2
"""More links than this in a cell are folded."""
STANDS = "stands"
_MARKS = {"supersedes": "superseded", "corrects": "corrected", "adds to": "added to", "withdraws": "withdrawn"}


@dataclass(frozen=True, slots=True)
class Run:
    """A finding as a row: its outcome and gates in words, and what later findings made of it."""

    summary: Summary
    outcomes: tuple[Outcome, ...]
    gates: tuple[tuple[Verdict, int], ...]
    marks: tuple[tuple[str, Summary], ...]


def runs(site: Site, summaries: Iterable[Summary]) -> list[Run]:
    """Rows of the catalogue, or of a model's run history, in the given order."""
    return [_run(site, summary) for summary in summaries]


def _run(site: Site, summary: Summary) -> Run:
    outcomes = tuple(dict.fromkeys(decision.outcome for decision in summary.decisions))
    return Run(summary, outcomes, tally(site, summary), tuple(_marks(site, summary)))


def tally(site: Site, summary: Summary) -> tuple[tuple[Verdict, int], ...]:
    """How many gates had which verdict; a failed gate that a human set aside counts as waived."""
    if not summary.gates:
        return ()
    waived = site.catalog.waived
    seen = Counter(_verdict(gate.verdict, waived=f"{summary.id}#{gate.id}" in waived) for gate in summary.gates)
    return tuple((verdict, seen[verdict]) for verdict in Verdict if seen[verdict])


def _verdict(verdict: Verdict, *, waived: bool) -> Verdict:
    return Verdict.WAIVED if waived and verdict is not Verdict.PASS else verdict


def _marks(site: Site, summary: Summary) -> Iterator[tuple[str, Summary]]:
    """What later findings made of this one, as (word, the later finding)."""
    return ((_MARKS[word], later) for word, later in site.linked_from.get(summary.id, ()) if word in _MARKS)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table: its label and class, what its cells hold, and what they are sorted by."""

    label: str
    kind: str
    cell: Callable[[View, Run], str]
    key: Callable[[Run], str] | None = None


def _badges(view: View, words: Iterable[Outcome | object]) -> str:
    return " ".join(safe(view.word(word)) for word in words)  # type: ignore[arg-type]


def _kind(view: View, run: Run) -> str:
    s = run.summary
    completion = view.site.completion(s.id)
    return _badges(view, [s.kind] if completion == "concluded" else [s.kind, completion])


def _gates(view: View, run: Run) -> str:
    return " ".join(f"{safe(view.word(word))}&nbsp;{number(count)}" for word, count in run.gates)


def _missed(run: Run) -> str:
    """Gates are sorted by how many failed, then by how many were set aside."""
    seen = dict(run.gates)
    return str(seen.get(Verdict.FAIL, 0) * 1000 + seen.get(Verdict.WAIVED, 0)) if seen else ""


def _links(view: View, folder: str, ids: Sequence[str], noun: str) -> str:
    links = [safe(view.link(folder, id_)) for id_ in ids]
    if len(links) <= _FOLD:
        return "<br>".join(links)
    items = "".join(f"<li>{link}</li>" for link in links)
    return f'<details><summary>{len(links)} {noun}</summary><ul class="dx-plain">{items}</ul></details>'


_COLUMNS = (
    Column("Kind", "", _kind),
    Column("Decided", "", lambda v, r: _badges(v, r.outcomes)),
    Column("Gates", "", _gates, _missed),
    Column("Classes", "wide", lambda v, r: _badges(v, r.summary.classes)),
    Column("Provenance", "", lambda v, r: _badges(v, [r.summary.provenance])),
    Column("Models", "", lambda v, r: _links(v, "models", r.summary.models, "models")),
    Column("Recipes", "", lambda v, r: _links(v, "recipes", r.summary.recipes, "recipes")),
    Column("Hardware", "", lambda v, r: _links(v, "hardware", r.summary.hardware, "machines")),
)


def run_table(
    view: View, found: Sequence[Run], caption: str, *, but: str = "", ids: str = "", facets: bool = True
) -> Markup:
    """The table, or words where there is no finding.

    `but` names a column to leave out; `ids` begins the ids of rows; `facets` gives rows what they are filtered by.
    """
    if not found:
        return html('<p class="dx-empty">%s: no finding is recorded yet.</p>', caption)
    cells = [(c, [c.cell(view, run) for run in found]) for c in _COLUMNS if c.label != but]
    filled = [(column, made) for column, made in cells if any(made)]
    heads = "".join(f'<th scope="col"{_class(c.kind)}>{c.label}</th>' for c, _ in filled)
    own = [f' id="{ids}{run.summary.id}"' if ids else "" for run in found]
    if facets:
        own = [f"{id_}{facets_of(view.site, run)}" for id_, run in zip(own, found, strict=True)]
    rows = "\n".join(_row(view, run, at, filled, own[at]) for at, run in enumerate(found))
    noun = "finding" if len(found) == 1 else "findings"
    return html(
        '<div class="dx-table" role="region" tabindex="0" aria-label="%s"><table class="dx-t dx-runs" role="table">'
        '<caption><span>%s <span class="dx-count">%s %s</span></span></caption>\n'
        '<thead role="rowgroup"><tr role="row"><th scope="col" role="columnheader">Finding</th>%s</tr></thead>\n'
        '<tbody role="rowgroup">\n%s\n</tbody></table></div>',
        caption, caption, number(len(found)), noun,
        joined("", [heads.replace("<th ", '<th role="columnheader" ')]), joined("", [rows]),
    )  # fmt: skip


def _class(kind: str) -> str:
    return f' class="dx-{kind}"' if kind else ""


def _row(view: View, run: Run, at: int, filled: Sequence[tuple[Column, Sequence[str]]], own: str) -> str:
    s = run.summary
    marks = "".join(
        f' <a class="dx-tag" href="{view.href("findings", later.id)}" title="{escape(later.title)}">'
        f"{word} {later.date}</a>"
        for word, later in run.marks
    )
    cells = "".join(
        f'<td role="cell" data-h="{column.label}"{_class(column.kind)}{_key(column, run)}>{made[at]}</td>'
        for column, made in filled
    )
    return (
        f'<tr role="row"{own}><th scope="row" role="rowheader" data-sort="{s.date}">'
        f'<time class="dx-date" datetime="{s.date}">{s.date}</time><br>'
        f'<a href="{view.href("findings", s.id)}">{escape(s.title)}</a>{marks}</th>{cells}</tr>'
    )


def _key(column: Column, run: Run) -> str:
    return f' data-sort="{column.key(run)}"' if column.key is not None else ""


def facets_of(site: Site, run: Run) -> str:
    """The attributes of a row that the facets of the catalogue are made from; one without a value is left out."""
    s = run.summary
    decided = ((d.model or s.models[0], lane) for d in s.decisions for lane in d.lanes)
    values: tuple[tuple[str, Iterable[str]], ...] = (
        ("model", s.models),
        ("kind", (s.kind,)),
        ("status", [word for word, _ in run.marks] or (STANDS,)),
        ("outcome", run.outcomes),
        ("verdict", [verdict for verdict, _ in run.gates]),
        ("class", s.classes),
        ("provenance", (s.provenance,)),
        ("lane", dict.fromkeys(f"{model}/{lane}" for model, lane in decided)),
        ("engine", dict.fromkeys(name for recipe in s.recipes if (name := engine_of(site, recipe)))),
        ("recipe", s.recipes),
        ("hardware", dict.fromkeys(s.hardware)),
        ("completion", (s.completion,)),
    )
    told = ((name, [str(v).replace(_BETWEEN, "/") for v in given]) for name, given in values)
    return "".join(f' data-{name}="{escape(_BETWEEN.join(given))}"' for name, given in told if given)


def _engines(_: Site) -> dict[str, str]:
    """Recipe -> engine; filled as rows ask."""
    return {}


def engine_of(site: Site, recipe_id: str) -> str:
    """The engine that a recipe's identity names; empty where it is not known."""
    held = site.once(_engines)
    if recipe_id not in held:
        recipe = site.catalog.recipe(recipe_id)
        named = recipe.identity if recipe is not None else None
        identity = site.catalog.identity(named) if isinstance(named, str) else None
        runtime = identity.runtime if identity is not None else None
        engine = runtime.engine if isinstance(runtime, Runtime) else None
        held[recipe_id] = engine if isinstance(engine, str) else ""
    return held[recipe_id]
