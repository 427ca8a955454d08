"""One population: warm-ups, then every request that has no sample yet, each journalled as it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from itertools import accumulate
from typing import Any, Protocol

from dossier.model.gate import Requirement, Test
from dossier.runner.clockstats import Health, Meter, client_limits, spread
from dossier.runner.host import memory
from dossier.runner.load import Halt, closed, scheduled
from dossier.runner.probes import probe_of
from dossier.runner.probes.base import Outcome, Sample, Spec, Timing
from dossier.runner.probes.cell import Cell
from dossier.runner.prompts import size
from dossier.runner.servermetrics import Watch
from dossier.runner.session import BoundReachedError, Session
from dossier.runner.state import MEASURED, WARMUP, State, stamp
from dossier.wire.errors import WireError
from dossier.wire.pump import Pump
from dossier.wire.stream import Arrival

LAG_LIMIT_MS = 10.0


class Onlooker(Protocol):
    """What a population tells while it runs."""

    def began(self, spec: Spec, left: int) -> None:
        """It starts."""

    def sampled(self, spec: Spec, sample: Sample) -> None:
        """One more sample."""

    def ended(self, spec: Spec) -> None:
        """It is over, for this session."""


@dataclass(slots=True)
class Runner:
    """Runs populations of one session."""

    session: Session
    state: State
    write: Callable[..., None]
    watcher: Onlooker
    halt: Halt
    now: Callable[[], datetime]
    _pump: Pump = field(default_factory=Pump)
    _timings: list[Timing] = field(default_factory=list)
    _broken: BaseException | None = None

    async def run(self, spec: Spec) -> None:
        """Run what is left of it; `done` is written when nothing is."""
        self.write("population", population=spec.id, at=stamp(self.now()))
        await self._size(spec)
        if missing := self.state.missing(spec.id, WARMUP, spec.warmups):
            await self._ask(spec, WARMUP, missing)
        missing = self.state.missing(spec.id, MEASURED, spec.requests)
        self.watcher.began(spec, len(missing))
        if missing and self.halt.reason is None:
            await (self._cell(spec, missing) if isinstance(spec, Cell) else self._ask(spec, MEASURED, missing))
        if not self.state.missing(spec.id, MEASURED, spec.requests):
            self.write("done", population=spec.id, at=stamp(self.now()))
        self.watcher.ended(spec)

    async def _size(self, spec: Spec) -> None:
        if not isinstance(spec, Cell):
            return
        if spec.id not in self.state.sizes:
            found = await size(
                self.session, f"{self.session.seed}/{spec.id}", spec.prompt_tokens, float(spec.tolerance)
            )
            self.write("sizing", population=spec.id, **asdict(found))
        self.session.sizes[spec.id] = self.state.sizes[spec.id]["words"]

    async def _cell(self, spec: Cell, missing: list[int]) -> None:
        asked = min(spec.concurrency, len(missing)) if spec.rate is None else 1
        watch = Watch(self.session.client, self.session.detection)
        meter = Meter(asked)
        self._timings.clear()
        with suppress(WireError):  # the requests themselves will say that nobody is there
            await self.session.client.warm(asked)
        async with watch.watching():
            with meter.watching():
                await self._ask(spec, MEASURED, missing, meter)
        health = meter.health(_arrivals(timing) for timing in self._timings)
        self.write(
            "cell", population=spec.id, at=stamp(self.now()), requests=len(missing), client=asdict(health),
            limits=self._limits(spec, health), server=watch.summary(), memory=memory(),
        )  # fmt: skip

    def _limits(self, spec: Cell, health: Health) -> list[str]:
        reasons = list(client_limits(health))
        lags = spread(timing.lag_ns / 1e6 for timing in self._timings)
        worst = lags.p99 if lags.p99 is not None else lags.greatest
        if spec.rate is not None and worst is not None and worst > LAG_LIMIT_MS:
            reasons.append(f"requests were sent up to {worst:.1f} ms after they were due")
        return reasons

    async def _ask(self, spec: Spec, phase: str, missing: list[int], meter: Meter | None = None) -> None:
        probe = probe_of(spec)
        self._broken = None

        async def one(index: int, due_ns: int | None) -> None:
            if self._broken is not None:
                raise self._broken
            # A warm-up of a cell asks with prompts of its own, unless the very same prompt is the point.
            number = index if phase == MEASURED else -1 - index
            self._later("sent", population=spec.id, phase=phase, index=index)
            try:
                with meter.flight() if meter is not None else nullcontext():
                    sample = await probe.ask(self.session, spec, number)
            except BoundReachedError as error:
                self.halt.ask(str(error))
                return
            self._keep(spec, phase, index, _lagged(sample, due_ns))

        if isinstance(spec, Cell) and spec.rate is not None and phase == MEASURED:
            due = spec.due_s(self.session.seed)
            first = due[missing[0]]
            await scheduled([(index, due[index] - first) for index in missing], spec.concurrency, one, self.halt)
        else:
            await closed(missing, spec.concurrency, one, self.halt)
        await self._flush()

    def _keep(self, spec: Spec, phase: str, index: int, sample: Sample) -> None:
        if sample.timing is not None and phase == MEASURED:
            self._timings.append(sample.timing)
        self._later("sample", population=spec.id, phase=phase, index=index, at=stamp(self.now()), **plain(sample))
        if phase == MEASURED:
            self.watcher.sampled(spec, sample)

    def _later(self, event: str, **fields: Any) -> None:
        """Journal soon, in slices, so that writing for some streams does not delay the stamps of others."""

        def write() -> None:
            try:
                self.write(event, **fields)
            except BaseException as error:  # a full disk stops the run, from wherever it shows
                self._broken = self._broken or error

        self._pump.add(write)

    async def _flush(self) -> None:
        flushed = asyncio.Event()
        self._pump.add(flushed.set)
        await flushed.wait()
        if self._broken is not None:
            raise self._broken


def _lagged(sample: Sample, due_ns: int | None) -> Sample:
    if due_ns is None or sample.timing is None:
        return sample
    lag = max(0, sample.timing.start_ns - due_ns)
    return replace(sample, timing=replace(sample.timing, lag_ns=lag))


def plain(sample: Sample) -> dict[str, Any]:
    """A sample as JSON; what is not there is left out."""
    data: Mapping[str, Any] = asdict(sample)
    kept = {name: value for name, value in data.items() if value not in (None, (), {}, 0)}
    for name in ("usage", "timing"):
        if name in kept:
            kept[name] = {key: value for key, value in kept[name].items() if value is not None}
    return kept


def passes(require: Requirement, state: State, spec: Spec) -> bool:
    """Is a requirement on counts met? One on a figure is judged when the finding is made."""
    if require.test not in {Test.ALL, Test.AT_LEAST}:
        return True
    got: int = sum(
        entry["outcome"] == Outcome.PASSED
        for (population, phase, _), entry in state.sampled.items()
        if population == spec.id and phase == MEASURED
    )
    if require.test is Test.ALL or require.limit is None:
        return got == spec.requests
    least = require.limit.value
    return 100 * got >= least * spec.requests if require.limit.unit == "%" else got >= least


def _arrivals(timing: Timing) -> list[Arrival]:
    first = timing.start_ns + timing.ttft_any
    return [Arrival(at, 1, 0, 0, None) for at in accumulate((gap * 1000 for gap in timing.gaps_us), initial=first)]
