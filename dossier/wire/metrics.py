"""A server's Prometheus text: parsed samples, and what a cell did to the counters as differences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families

from dossier.wire.errors import FailureClass, WireError

_CUMULATIVE_ENDS = ("_total", "_count", "_sum", "_bucket")


@dataclass(frozen=True, slots=True, order=True)
class Series:
    """A sample's name and labels, as in `name{key="value"}`."""

    name: str
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Scrape:
    """One reading. Counters hold cumulative series (histogram parts included), gauges the rest."""

    counters: Mapping[Series, float]
    gauges: Mapping[Series, float]

    def gauge(self, name: str) -> float | None:
        """The sum of a gauge over its label sets; None when it is absent."""
        return _total(self.gauges, name)


@dataclass(frozen=True, slots=True)
class Differences:
    """Counter growth between two readings. `resets` are series that fell or went: the server restarted."""

    grown: Mapping[Series, float]
    resets: tuple[Series, ...]

    def total(self, name: str) -> float | None:
        """Growth of a counter over all its label sets; None when it is absent or was reset."""
        if any(series.name == name for series in self.resets):
            return None
        return _total(self.grown, name)


def parse_metrics(text: str) -> Scrape:
    """Parse Prometheus text. Raises WireError (bad-event) for what is not.

    A counter's name always ends in `_total` here, as OpenMetrics wants it, also where a server left that out.
    """
    counters: dict[Series, float] = {}
    gauges: dict[Series, float] = {}
    try:
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                series = Series(sample.name, tuple(sorted(sample.labels.items())))
                cumulative = family.type in ("counter", "histogram", "summary") and "quantile" not in sample.labels
                by_name = family.type in ("unknown", "untyped") and sample.name.endswith(_CUMULATIVE_ENDS)
                (counters if cumulative or by_name else gauges)[series] = float(sample.value)
    except (ValueError, KeyError, IndexError) as error:
        raise WireError(FailureClass.BAD_EVENT, f"not Prometheus text: {error}") from error
    return Scrape(counters, gauges)


def differences(before: Scrape, after: Scrape) -> Differences:
    """What happened between two readings; a series new in `after` grew from 0."""
    grown = {series: value - before.counters.get(series, 0.0) for series, value in after.counters.items()}
    gone = [series for series in before.counters if series not in after.counters]
    fell = [series for series, growth in grown.items() if growth < 0]
    return Differences(grown, tuple(sorted([*gone, *fell])))


def _total(samples: Mapping[Series, float], name: str) -> float | None:
    values = [value for series, value in samples.items() if series.name == name]
    return sum(values) if values else None
