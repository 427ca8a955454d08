"""The methodology page: what each word, metric and rule means, from the same data that the checks use."""

from __future__ import annotations

from dossier.model import vocabulary
from dossier.model.metrics import METRICS, PERCENTILE_METHOD, Metric
from dossier.pages.context import Site
from dossier.pages.places import Page
from dossier.pages.rules import described_rules, rule_path
from dossier.pages.shell import SearchEntry

PATH = "methodology/"
_WORDS = "How to read this site: every word, every metric, how a role follows from decisions, and what is checked."

_LISTS: tuple[tuple[str, str, type[vocabulary.Word]], ...] = (
    ("provenance", "Provenance: how a figure came here", vocabulary.Provenance),
    ("class", "Measurement classes", vocabulary.MeasurementClass),
    ("outcome", "Outcomes: what a decision does", vocabulary.Outcome),
    ("role", "Roles: what the decisions make of a recipe", vocabulary.Role),
    ("verdict", "Gate verdicts", vocabulary.Verdict),
    ("kind", "Kinds of finding", vocabulary.Kind),
    ("completion", "Completion", vocabulary.Completion),
    ("exclusion", "Why a population feeds nothing", vocabulary.Exclusion),
    ("attribution", "Attribution of a difference", vocabulary.Attribution),
    ("cache", "Cache modes", vocabulary.CacheMode),
    ("load", "How requests arrive", vocabulary.Load),
    ("path", "Path of a request", vocabulary.Path),
    ("relation", "How hardware relates to a measurement", vocabulary.Relation),
)


def methodology_page(site: Site) -> Page:
    """The whole page; `#metric-ID` is the permalink of a metric."""
    own = [m for id_ in site.catalog.ids("metrics") if (m := site.catalog.metric(id_)) is not None]
    metrics = [*METRICS.values(), *own]
    rules = [(doc, rule_path(doc.id)) for doc in described_rules()]
    body = site.view(PATH).render(
        "methodology.html.j2", words=_WORDS, lists=_LISTS, metrics=metrics, rules=rules, percentile=PERCENTILE_METHOD
    )
    return Page(PATH, "Methodology", "Methodology", _WORDS, body, tuple(_search(metrics)))


def _search(metrics: list[Metric]) -> list[SearchEntry]:
    entries = [SearchEntry(f"{PATH}#metric-{m.id}", m.name, f"{m.id} {m.definition}") for m in metrics]
    return [SearchEntry(PATH, "Methodology", _WORDS), *entries]
