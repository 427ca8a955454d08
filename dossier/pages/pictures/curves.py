"""Figures against context or concurrency as one SVG, with every figure drawn in a table below it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from markupsafe import Markup

from dossier.model.metrics import METRICS
from dossier.pages.context import View
from dossier.pages.markup import html, joined, quiet, safe
from dossier.pages.pictures.points import AGAINST_CONCURRENCY, AGAINST_CONTEXT, Point
from dossier.pages.pictures.scale import Scale, along, from_zero, tick_label
from dossier.pages.pictures.tracks import left_out

_WIDTH, _HEIGHT = 720, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 14, 12, 42
SERIES = 8
"""Series that one picture holds, the newest: as many as there are marks to tell apart."""
_MARKS = (
    "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0z", "M-4,-4h8v8h-8z", "M0,-5l5,9h-10z", "M0,-5.5l5.5,5.5l-5.5,5.5l-5.5,-5.5z",
    "M0,5l5,-9h-10z", "M-5,-1.6h3.4v-3.4h3.2v3.4h3.4v3.2h-3.4v3.4h-3.2v-3.4h-3.4z",
    "M-5,-3h10v6h-10z", "M-3,-5h6v10h-6z",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """Points of one arm under one load, by their place."""

    points: tuple[Point, ...]
    at: int


def pictures(view: View, points: Iterable[Sequence[Any]], gone: Mapping[str, str]) -> Markup:
    """One picture a metric that two points or more can be drawn of.

    `points` are those of `points_of` as they come out of JSON, newest finding first; `gone` gives, by finding id, why
    nothing of it is drawn.
    """
    by_metric: dict[str, list[Point]] = {}
    for data in points:
        point = Point(*data)
        by_metric.setdefault(point.metric, []).append(point)
    order = AGAINST_CONTEXT + AGAINST_CONCURRENCY
    return joined("\n", [_picture(view, name, by_metric[name], gone) for name in order if name in by_metric])


def _picture(view: View, metric_id: str, points: Sequence[Point], gone: Mapping[str, str]) -> Markup:
    reasons = [gone.get(p.finding, "") or p.why for p in points]
    lines: dict[str, list[Point]] = {}
    for point, reason in zip(points, reasons, strict=True):
        if not reason:
            lines.setdefault(point.series, []).append(point)
    drawn = [
        Line(tuple(sorted(found, key=lambda p: p.x)), at) for at, found in enumerate(islice(lines.values(), SERIES))
    ]
    if sum(len(line.points) for line in drawn) < 2:
        return Markup()
    older = sum(len(found) for found in islice(lines.values(), SERIES, None))
    reasons += ["older than the series shown"] * older
    metric, id_ = METRICS[metric_id], f"picture-{metric_id.replace('_', '-')}"
    against = "prompt tokens" if metric_id in AGAINST_CONTEXT else "requests at once"
    title = f"{metric.name} against {against}"
    shown = [p for line in drawn for p in line.points]
    told = (
        f"{len(shown)} figures in {len(drawn)} series, {metric.unit} from {min(p.value for p in shown):g} to "
        f"{max(p.value for p in shown):g}; {metric.better} is better. Every figure stands in the table below."
    )
    x = along([p.x for p in shown], _LEFT + 12, _WIDTH - _RIGHT - 12)
    y = from_zero([v for p in shown for v in (p.value, p.high or 0)], _HEIGHT - _BOTTOM, _TOP)
    svg = html(
        '<svg class="dx-chart" viewBox="0 0 %s %s" role="group" aria-labelledby="%s-t %s-d"><title id="%s-t">%s</title>'
        '<desc id="%s-d">%s</desc>%s%s</svg>',
        _WIDTH, _HEIGHT, id_, id_, id_, title, id_, told, joined("", _axes(x, y, metric.unit, against)),
        joined("", [_line(view, line, x, y) for line in drawn]),
    )  # fmt: skip
    return html(
        '<figure class="dx-picture" id="%s"><figcaption><strong>%s</strong> %s</figcaption>'
        '<div class="dx-chart-frame" role="region" tabindex="0" aria-label="%s">%s</div>%s%s%s</figure>',
        id_, title, quiet(f"{metric.unit}; {metric.better} is better"), title, svg,
        joined("", _legend(view, drawn)), left_out(reasons), _table(view, title, drawn, against),
    )  # fmt: skip


def _axes(x: Scale, y: Scale, unit: str, against: str) -> Iterator[str]:
    for tick in y.ticks:
        at = y.at(tick)
        yield f'<line class="dx-grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>'
        yield f'<text class="dx-tick" x="{_LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{tick_label(tick)}</text>'
    for tick in x.ticks:
        at = x.at(tick)
        yield f'<line class="dx-grid" x1="{at:.1f}" x2="{at:.1f}" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}"/>'
        yield (
            f'<text class="dx-tick" x="{at:.1f}" y="{_HEIGHT - _BOTTOM + 17}" text-anchor="middle">'
            f"{tick_label(tick)}</text>"
        )
    yield f'<text class="dx-axis" x="{_WIDTH - _RIGHT}" y="{_HEIGHT - 6}" text-anchor="end">{against}</text>'
    yield f'<text class="dx-axis" x="{_LEFT + 6}" y="{_TOP + 10}">{safe(unit)}</text>'


def _line(view: View, line: Line, x: Scale, y: Scale) -> Markup:
    places = [(x.at(p.x), y.at(p.value)) for p in line.points]
    path = " ".join(f"{'L' if i else 'M'}{a:.1f},{b:.1f}" for i, (a, b) in enumerate(places))
    joined_ = f'<path class="dx-line" d="{path}"/>' if len(places) > 1 else ""
    marks = [_mark(view, p, at, line.at, y) for p, at in zip(line.points, places, strict=True)]
    return html('<g class="dx-s%s">%s%s</g>', line.at, joined("", [joined_]), joined("", marks))


def _mark(view: View, point: Point, at: tuple[float, float], series: int, y: Scale) -> Markup:
    a, b = at
    span = ""
    if point.low is not None and point.high is not None:
        top, bottom = y.at(point.high), y.at(max(point.low, 0))
        span = f'<line class="dx-whisker" x1="{a:.1f}" x2="{a:.1f}" y1="{top:.1f}" y2="{bottom:.1f}"/>'
    hollow = "" if span else " dx-hollow"
    return html(
        '<a href="%s"><title>%s</title>%s<path class="dx-mark%s" transform="translate(%s %s)" d="%s"/></a>',
        view.href("findings", point.finding, point.item), f"{point.name}: {point.shown} at {point.at}, {_n(point)}",
        joined("", [span]), hollow, f"{a:.1f}", f"{b:.1f}", _MARKS[series],
    )  # fmt: skip


def _n(point: Point) -> str:
    return f"n {point.n:,}" if point.n is not None else "n unknown"


def _legend(view: View, drawn: Sequence[Line]) -> Iterator[Markup]:
    items = [
        html(
            '<li class="dx-s%s"><svg class="dx-key" viewBox="-7 -7 14 14" aria-hidden="true"><path class="dx-mark" '
            'd="%s"/></svg> %s %s</li>',
            line.at, _MARKS[line.at], _named(view, line.points[0]), quiet(_load(line.points[0])),
        )
        for line in drawn
    ]  # fmt: skip
    yield html('<ul class="dx-legend">%s</ul>', joined("", items))
    yield html(
        '<p class="dx-note">%s</p>',
        "A line joins figures of one arm of one finding under one load, and nothing else. A filled mark has its stated "
        "interval drawn; a hollow one has none: it describes its sample.",
    )


def _named(view: View, point: Point) -> Markup:
    recipe = view.link("recipes", point.recipe) if point.recipe else html("%s", point.name)
    return html("%s, %s", recipe, view.link("findings", point.finding, point.finding[:10]))


def _load(point: Point) -> str:
    parts = [part for part in point.series.split("|")[4:] if part and part != "None"]
    return ", ".join([point.statistic, *parts])


def _table(view: View, title: str, drawn: Sequence[Line], against: str) -> Markup:
    rows = [
        html(
            '<tr><th scope="row">%s</th><td class="dx-num" data-sort="%s">%s%s</td><td class="dx-num" data-sort="%s">'
            '<a class="dx-fig" href="%s">%s</a></td><td class="dx-num">%s</td><td>%s</td></tr>',
            _named(view, p), f"{p.x:g}" if math.isfinite(p.x) else "", p.at, quiet(" nominal") if p.nominal else "",
            repr(p.value), view.href("findings", p.finding, p.item), p.shown,
            f"{p.n:,}" if p.n is not None else "unknown", p.statistic,
        )
        for line in drawn
        for p in line.points
    ]  # fmt: skip
    return html(
        '<details><summary>The %s figures drawn</summary><div class="dx-table" role="region" tabindex="0" '
        'aria-label="%s"><table class="dx-t"><thead><tr><th scope="col">Recipe and finding</th><th scope="col" '
        'class="dx-num">%s</th><th scope="col" class="dx-num">Figure</th><th scope="col" class="dx-num">n</th>'
        '<th scope="col">Statistic</th></tr></thead><tbody>\n%s\n</tbody></table></div></details>',
        len(rows), f"Figures of: {title}", against.capitalize(), joined("\n", rows),
    )  # fmt: skip
