"""The figures of measured populations at a glance: a population a row, a metric a column."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from dossier.derive.items import display
from dossier.model.finding import Finding
from dossier.model.measurement import Measurement, Statistic
from dossier.model.workload import Population
from dossier.pages.fields import Writer
from dossier.pages.markup import html, joined, quiet
from dossier.pages.places import anchor
from dossier.pages.populations import excluded_tag
from dossier.pages.tables import Grid

_CENTRE = (Statistic.MEDIAN, Statistic.POOLED, Statistic.MEAN, Statistic.RATE, Statistic.TOTAL, Statistic.SINGLE)
"""Which of several statistics stands for a population; the others stand small below it."""

Figures = dict[str, dict[str, list[Measurement]]]
"""Population -> metric -> its figures."""


def glance(writer: Writer, finding: Finding) -> Grid | None:
    """One row a population; None where no population has several statistics of one metric: the list shows all then."""
    figures = _figures(finding)
    if not any(len(found) > 1 for by_metric in figures.values() for found in by_metric.values()):
        return None
    metrics = list(dict.fromkeys(metric for by_metric in figures.values() for metric in by_metric))
    populations = [p for p in finding.populations if p.id in figures]
    heads = [html('<th scope="col">Population</th>')]
    heads += [html('<th scope="col" class="dx-num">%s</th>', writer.metric(metric)) for metric in metrics]
    rows = [_row(population, figures[population.id], metrics) for population in populations]
    return Grid(len(rows), joined("", heads), joined("\n", rows))


def _figures(finding: Finding) -> Figures:
    found: Figures = {}
    for measurement in finding.measurements:
        if measurement.population is not None:
            found.setdefault(measurement.population, {}).setdefault(measurement.metric, []).append(measurement)
    return found


def _row(population: Population, figures: dict[str, list[Measurement]], metrics: list[str]) -> Markup:
    of_many = {m.n for found in figures.values() for m in found if m.n is not None}
    same = of_many.pop() if len(of_many) == 1 else None
    name = html('<a href="#%s">%s</a>', anchor(population.id), population.title or population.id)
    notes = [html('<br><span class="dx-unit">%s</span>', note) for note in (population.arm, _many(same)) if note]
    cells = [_cell(figures.get(metric, ()), alone=same is None) for metric in metrics]
    head = html('<th scope="row">%s%s%s</th>', name, excluded_tag(population.excluded), joined("", notes))
    return html("<tr>%s%s</tr>", head, joined("", cells))


def _cell(found: Sequence[Measurement], *, alone: bool) -> Markup:
    """The figure that stands for the population, and what else was taken of the same samples."""
    if not found:
        return html('<td class="dx-num"><span class="dx-quiet" title="not recorded">—</span></td>')
    first, *others = sorted(found, key=_rank)
    many = _many(first.n) if alone else None
    lines = [
        html("%s%s", _link(first), excluded_tag(first.excluded)),
        quiet(", ".join(filter(None, (_name(first), many)))),
    ]
    lines += [html("%s %s", quiet(_name(other)), _link(other)) for other in others]
    small = [html('<br><span class="dx-unit">%s</span>', line) for line in lines[1:]]
    return html('<td class="dx-num">%s%s</td>', lines[0], joined("", small))


def _rank(measurement: Measurement) -> int:
    return _CENTRE.index(measurement.statistic) if measurement.statistic in _CENTRE else len(_CENTRE)


def _name(measurement: Measurement) -> str:
    if measurement.title:
        return measurement.title.lower()
    return " ".join(filter(None, (str(measurement.statistic), measurement.per, measurement.when)))


def _many(count: object) -> str | None:
    return f"n {count}" if isinstance(count, int) else None


def _link(measurement: Measurement) -> Markup:
    about = "≈ " if measurement.approximate else ""
    return html('<a class="dx-fig" href="#%s">%s%s</a>', anchor(measurement.id), about, display(measurement.value))
