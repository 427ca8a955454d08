"""What a run shows: a live view on a terminal, plain lines elsewhere, a table at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from dossier.model.base import Quantity
from dossier.model.finding import Finding
from dossier.model.workload import Population
from dossier.runner.blocks import Watcher
from dossier.runner.outcome import Outcome
from dossier.runner.plan import Estimate, Plan
from dossier.runner.probes.base import Sample, Spec

_SHOWN_MISSES = 5
_QUOTED = 120


@dataclass(slots=True)
class Lines:
    """One line a population, and one for each of the first misses."""

    console: Console
    _passed: int = 0
    _wrong: int = 0

    def note(self, text: str) -> None:
        """A line of its own."""
        self.console.print(escape(text), highlight=False, soft_wrap=True)

    def began(self, spec: Spec, left: int) -> None:  # noqa: ARG002
        """Count anew."""
        self._passed = self._wrong = 0

    def sampled(self, spec: Spec, sample: Sample) -> None:
        """Count, and say what went wrong."""
        if sample.outcome is Outcome.PASSED:
            self._passed += 1
            return
        self._wrong += 1
        if self._wrong <= _SHOWN_MISSES:
            self.note(told(spec, sample))

    def ended(self, spec: Spec) -> None:
        """The count."""
        wrong = f", {self._wrong} not" if self._wrong else ""
        self.note(f"{spec.title or spec.id}: {self._passed} passed{wrong}")


@dataclass(slots=True)
class Live:
    """Two bars: the population at work, and the whole run with the time that is left."""

    progress: Progress
    whole: TaskID
    _now: TaskID | None = None
    _wrong: int = 0
    _all_wrong: int = field(default=0)

    def note(self, text: str) -> None:
        """A line above the bars."""
        self.progress.console.print(escape(text), highlight=False)

    def began(self, spec: Spec, left: int) -> None:
        """A bar for the population; what was sampled before counts as done."""
        self._wrong = 0
        self.progress.advance(self.whole, spec.requests - left)
        self._now = self.progress.add_task(escape(spec.title or spec.id), total=left, wrong="")

    def sampled(self, spec: Spec, sample: Sample) -> None:
        """One step of both bars."""
        if sample.outcome is not Outcome.PASSED:
            self._wrong += 1
            self._all_wrong += 1
            if self._wrong <= _SHOWN_MISSES:
                self.note(told(spec, sample))
        if self._now is not None:
            self.progress.update(self._now, advance=1, wrong=_not(self._wrong))
        self.progress.update(self.whole, advance=1, wrong=_not(self._all_wrong))

    def ended(self, spec: Spec) -> None:  # noqa: ARG002
        """Take its bar away."""
        if self._now is not None:
            self.progress.remove_task(self._now)
            self._now = None


class Rate(ProgressColumn):
    """Samples a second."""

    def render(self, task: Task) -> Text:
        """The rate of late; empty before there is one."""
        return Text(f"{task.speed:.1f}/s" if task.speed else "")


@contextmanager
def watching(plan: Plan, console: Console) -> Iterator[Watcher]:
    """The view that fits the console, for as long as the run goes."""
    if not console.is_terminal:
        yield Lines(console)
        return
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate(),
        TextColumn("[red]{task.fields[wrong]}"), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=console, refresh_per_second=4) as progress:
        total = sum(each.spec.requests for each in plan.instances())
        yield Live(progress, progress.add_task(escape(plan.title), total=total, wrong=""))


def told(spec: Spec, sample: Sample) -> str:
    """Why a sample is no pass, in one line."""
    seen = f": {sample.observed[:_QUOTED]}" if sample.observed else ""
    wanted = f" (expected {sample.expected})" if sample.expected else ""
    return f"{spec.id}: {sample.kind}{seen}{wanted}"


def estimate_table(populations: Sequence[Estimate], around: Sequence[Estimate]) -> Table:
    """What every population costs at most, and what is sent beside them."""
    table = Table("population", "probe", "requests", "tokens at most", "seconds at worst")
    for item in populations:
        table.add_row(*_estimated(item))
    table.add_section()
    for item in around:
        table.add_row(*_estimated(item))
    table.add_section()
    every = [*populations, *around]
    totals = (sum(e.requests for e in every), sum(e.tokens for e in every), sum(e.seconds for e in every))
    table.add_row(*_estimated(Estimate("all", "", *totals)))
    return table


def _estimated(item: Estimate) -> tuple[str, ...]:
    return item.what, item.probe, f"{item.requests:,}", f"{item.tokens:,}", f"{item.seconds:,.0f}"


_FIGURES = (("ttft_any", "median", "TTFT"), ("decode_rate", "median", "decode"), ("throughput", "rate", "throughput"))


def result_table(finding: Finding) -> Table:
    """Every population with its counts, and the figures of its cells."""
    table = Table("population", "passed", "failed", *(name for _, _, name in _FIGURES), "remark", title=finding.title)
    for population in finding.populations:
        kinds = sorted({miss.kind for miss in population.misses})
        remark = f"excluded: {population.excluded.reason}" if population.excluded is not None else ", ".join(kinds)
        table.add_row(
            population.id, f"{population.passed}/{population.planned}", str(population.failed),
            *(_figure(finding, population, metric, statistic) for metric, statistic, _ in _FIGURES), escape(remark),
        )  # fmt: skip
    return table


def _figure(finding: Finding, population: Population, metric: str, statistic: str) -> str:
    for item in finding.measurements:
        if (item.population, item.metric, item.statistic) == (population.id, metric, statistic):
            return str(item.value) if isinstance(item.value, Quantity) else "unknown"
    return ""


def _not(count: int) -> str:
    return f"{count} not passed" if count else ""
