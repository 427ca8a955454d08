"""One population: warm-ups, then every request that has no sample yet, each journalled as it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import accumulate
from typing import Any, Protocol

from dossier.model.gate import Requirement
from dossier.runner.clockstats import Health, Meter, client_limits, spread
from dossier.runner.host import memory
from dossier.runner.judged import COUNTS, enough
from dossier.runner.load import Halt, closed, scheduled
from dossier.runner.outcome import Outcome
from dossier.runner.probes import probe_of
from dossier.runner.probes.base import Round, Sample, Spec, Timing
from dossier.runner.probes.cell import Cell
from dossier.runner.prompts import size
from dossier.runner.servermetrics import Watch
from dossier.runner.session import BoundReachedError, Session
from dossier.runner.state import MEASURED, WARMUP, State, stamp
from dossier.wire import api
from dossier.wire.errors import FailureClass, WireError
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
    """Runs one population of one session; `name` is its id in the journal.

    With an `alone` server the run stops where nobody is there any more; an arm that dies fails, and the run goes on.
    """

    session: Session
    name: str
    state: State
    write: Callable[..., None]
    watcher: Onlooker
    halt: Halt
    now: Callable[[], datetime]
    alone: bool = True
    _pump: Pump = field(default_factory=Pump)
    _timings: list[Timing] = field(default_factory=list)
    _broken: BaseException | None = None

    async def run(self, spec: Spec) -> None:
        """Run what is left of it; `done` is written when nothing is."""
        self.write("population", population=self.name, at=stamp(self.now()))
        await self._size(spec)
        if missing := self.state.missing(self.name, WARMUP, spec.warmups):
            await self._ask(spec, WARMUP, Round(spec.id, missing, spec.concurrency))
        missing = self.state.missing(self.name, MEASURED, spec.requests)
        self.watcher.began(spec, len(missing))
        open_indices = set(missing)
        named = spec.model_copy(update={"id": self.name})
        for item in probe_of(spec).rounds(named):
            left = [index for index in item.indices if index in open_indices]
            if left and self.halt.reason is None:
                go = self._cell if probe_of(spec).timed else self._plain
                await go(spec, replace(item, indices=left))
        if not self.state.missing(self.name, MEASURED, spec.requests):
            self.write("done", population=self.name, at=stamp(self.now()))
        self.watcher.ended(spec)

    async def _size(self, spec: Spec) -> None:
        for name, wanted in probe_of(spec).sizes(spec).items():
            if name not in self.state.sizes:
                text = partial(wanted.text, f"{self.session.seed}/{name}/size")
                found = await size(self.session, text, wanted.tokens, wanted.tolerance)
                self.write("sizing", population=name, **asdict(found))
            self.session.sizes[name] = self.state.sizes[name]["words"]

    async def _plain(self, spec: Spec, item: Round) -> None:
        await self._ask(spec, MEASURED, item)

    async def _cell(self, spec: Spec, item: Round) -> None:
        is_open = isinstance(spec, Cell) and spec.rate is not None
        asked = 1 if is_open else min(item.concurrency, len(item.indices))
        watch = Watch(self.session.client, self.session.detection)
        meter = Meter(asked)
        self._timings.clear()
        with suppress(WireError):  # the requests themselves will say that nobody is there
            await self.session.client.warm(asked)
        async with watch.watching():
            with meter.watching():
                await self._ask(spec, MEASURED, item, meter)
        health = meter.health(_arrivals(timing) for timing in self._timings)
        self.write(
            "cell", population=item.population, at=stamp(self.now()), requests=len(item.indices),
            client=asdict(health), limits=self._limits(health, is_open=is_open), server=watch.summary(),
            memory=memory(),
        )  # fmt: skip

    def _limits(self, health: Health, *, is_open: bool) -> list[str]:
        reasons = list(client_limits(health))
        lags = spread(timing.lag_ns / 1e6 for timing in self._timings)
        worst = lags.p99 if lags.p99 is not None else lags.greatest
        if is_open and worst is not None and worst > LAG_LIMIT_MS:
            reasons.append(f"requests were sent up to {worst:.1f} ms after they were due")
        return reasons

    async def _ask(self, spec: Spec, phase: str, item: Round, meter: Meter | None = None) -> None:
        probe = probe_of(spec)
        self._broken = None

        async def one(index: int, due_ns: int | None) -> None:
            if self._broken is not None:
                raise self._broken
            # A warm-up of a cell asks with prompts of its own, unless the very same prompt is the point.
            number = index if phase == MEASURED else -1 - index
            self._later("sent", population=self.name, phase=phase, index=index)
            try:
                with meter.flight() if meter is not None else nullcontext():
                    sample = await probe.ask(self.session, spec, number)
            except BoundReachedError as error:
                self.halt.ask(str(error))
                return
            if self.alone and sample.kind == FailureClass.CONNECT and await self._nobody_there():
                return
            self._keep(spec, phase, index, _lagged(sample, due_ns))

        if isinstance(spec, Cell) and spec.rate is not None and phase == MEASURED:
            due = spec.due_s(self.session.seed)
            first = due[item.indices[0]]
            await scheduled([(index, due[index] - first) for index in item.indices], item.concurrency, one, self.halt)
        else:
            await closed(item.indices, item.concurrency, one, self.halt)
        await self._flush()

    async def _nobody_there(self) -> bool:
        """Can the server be reached no more? Then the run stops, and what was not sent is sent when it goes on.

        Where it answers after all, it refused a connection under load, and that request has failed.
        """
        if self.halt.reason is None:
            reply, _ = await api.models(self.session.client)
            if reply.failure is None or reply.failure.kind is not FailureClass.CONNECT:
                return False
            self.halt.ask(f"the server cannot be reached: {reply.failure.message}")
        return True

    def _keep(self, spec: Spec, phase: str, index: int, sample: Sample) -> None:
        if sample.timing is not None and phase == MEASURED:
            self._timings.append(sample.timing)
        self._later("sample", population=self.name, phase=phase, index=index, at=stamp(self.now()), **plain(sample))
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


def passes(require: Requirement, state: State, name: str, spec: Spec) -> bool:
    """Is a requirement on counts met? One on a figure is judged when the finding is made."""
    if require.test not in COUNTS:
        return True
    got = sum(
        entry["outcome"] == Outcome.PASSED
        for (population, phase, _), entry in state.sampled.items()
        if population == name and phase == MEASURED
    )
    return enough(require, got, spec.requests)


def _arrivals(timing: Timing) -> list[Arrival]:
    first = timing.start_ns + timing.ttft_any
    return [Arrival(at, 1, 0, 0, None) for at in accumulate((gap * 1000 for gap in timing.gaps_us), initial=first)]
