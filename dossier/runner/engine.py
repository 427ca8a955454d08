"""One run: calibrate, identify, ask population after population, identify again; every event goes to the journal."""

from __future__ import annotations

import asyncio
import contextlib
import math
import platform
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from dossier import __version__
from dossier.runner.calibrate import calibrate
from dossier.runner.host import host
from dossier.runner.identity import changed, identify
from dossier.runner.journal import Journal
from dossier.runner.load import Halt
from dossier.runner.plan import Plan, api_key
from dossier.runner.population import Onlooker, Runner, passes
from dossier.runner.probes.base import Spec
from dossier.runner.schedule import Schedule
from dossier.runner.session import FREE, BoundReachedError, Budget, Price, Session
from dossier.runner.state import SCHEMA, State, stamp
from dossier.wire import dialect
from dossier.wire.client import Client, Limits, connect
from dossier.wire.errors import WireError
from dossier.wire.loop import loop_name, run

CALIBRATION = Schedule(ttft_ms=50.0, gap_ms=10.0, tokens=24)
_ROUNDS = 16
_SYNC_S = 1.0


class Watcher(Onlooker, Protocol):
    """Whoever looks on while a run goes."""

    def note(self, text: str) -> None:
        """Something happened that is no sample."""


@dataclass(slots=True)
class Run:
    """One session of a run over an open journal."""

    plan: Plan
    journal: Journal
    state: State
    watcher: Watcher
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    halt: Halt = field(default_factory=Halt)

    def go(self) -> None:
        """Run to the end, to a bound or to an interruption; the journal says which. Raises StorageError, UsageError."""
        key = api_key(self.plan)
        self._head()
        self._calibrate()
        run(self._measure(key))

    def write(self, event: str, **fields: Any) -> None:
        """Journal an event and fold it into the state."""
        self.state.take(self.journal.append(event, **fields))

    def _head(self) -> None:
        if not self.state.run:
            self.write(
                "plan", schema=SCHEMA, dossier=__version__, run=self.plan.digest.removeprefix("sha256:")[:12],
                at=stamp(self.now()), plan=self.plan.public, plan_digest=self.plan.digest,
            )  # fmt: skip
        lost = sorted(self.state.sent)
        self.write(
            "session", at=stamp(self.now()), python=platform.python_version(), loop=loop_name(),
            lost=[list(key) for key in lost],
        )  # fmt: skip
        if lost:
            self.watcher.note(f"{len(lost)} requests were in flight when the last session ended; they are sent again")

    def _calibrate(self) -> None:
        left = self.plan.streams_of(spec for spec in self.plan.populations if spec.id not in self.state.done)
        for streams in sorted(left - self.state.calibrated):
            self.watcher.note(f"measuring the instrument at {streams} at once")
            requests = max(8, min(self.plan.calibration.requests, _ROUNDS * streams))
            self.write("calibration", **calibrate(streams, requests, CALIBRATION).to_json())

    async def _measure(self, key: str | None) -> None:
        bounds = self.plan.bounds
        limits = Limits(deadline_s=float(bounds.request_seconds), idle_s=float(bounds.idle_seconds))
        async with connect(self.plan.target.base_url, api_key=key, limits=limits) as client:
            self.halt.main = asyncio.current_task()
            with _interruptible(self.halt):
                async with self._synced(), self._bounded():
                    await self._all(client)
        self.journal.sync()

    async def _all(self, client: Client) -> None:
        bounds = self.plan.bounds
        price = Price(float(bounds.price.prompt), float(bounds.price.output)) if bounds.price is not None else FREE
        money = float(bounds.money) if bounds.money is not None else math.inf
        budget = Budget(bounds.requests, bounds.tokens, float(bounds.seconds), money, price)
        budget.spent_requests = dialect.LOOKS
        detection = dialect.detect(await dialect.observe(client))
        session = Session(client, self.plan.target.model, detection, budget, self.plan.digest)
        try:
            before = await self._identify(session, "before")
            if before is None:
                return
            session.context = self.plan.target.context_tokens or before.get("context")
            await self._populations(session)
            if self.halt.reason is None:
                after = await self._identify(session, "after")
                if after is not None:
                    self.write("end", at=stamp(self.now()), completion="concluded")
        except BoundReachedError as error:
            self.halt.ask(str(error))
        except WireError as error:
            self.halt.ask(f"the server does not answer: {error.failure.message}")
        except asyncio.CancelledError:
            if self.halt.reason is None:
                raise
        if self.halt.reason is not None:
            self.write("stop", at=stamp(self.now()), why=self.halt.reason)
            self.watcher.note(f"stopped: {self.halt.reason}")

    async def _identify(self, session: Session, phase: str) -> dict[str, Any] | None:
        """Journal who answers; None where it is not who answered first: the run is void then."""
        told = await identify(session)
        here = host()
        first = self.state.identity
        local = session.client.target.origin.loopback
        self.write("identity", phase=phase, at=stamp(self.now()), server=told, host=here, local=local)
        if "model" not in told or self.plan.target.model not in told["listed"]:
            listed = ", ".join(told["listed"]) or "none"
            self.watcher.note(f"the server does not list {self.plan.target.model}: {listed}")
        wrong = changed(first["server"], told) if first is not None else []
        if wrong:
            self.write("void", at=stamp(self.now()), why="; ".join(wrong))
            self.write("end", at=stamp(self.now()), completion="aborted")
            self.watcher.note(f"the identity changed, and the run is void: {'; '.join(wrong)}")
            return None
        return told

    async def _populations(self, session: Session) -> None:
        for spec in self.plan.populations:
            await self._population(session, spec)
            if self.plan.repeat_failed and self.halt.reason is None and not self._gates_pass(spec):
                again = spec.model_copy(update={"id": f"{spec.id}-repeat"})
                if again.id not in self.state.repeats:
                    self.write("repeat", population=again.id, of=spec.id)
                await self._population(session, again)

    async def _population(self, session: Session, spec: Spec) -> None:
        if spec.id in self.state.done or self.halt.reason is not None:
            return
        runner = Runner(session, self.state, self.write, self.watcher, self.halt, self.now)
        await runner.run(spec)
        self.journal.sync()

    def _gates_pass(self, spec: Spec) -> bool:
        gates = [gate.require for gate in self.plan.gates if gate.subject == spec.id]
        return all(passes(require, self.state, spec) for require in gates)

    @asynccontextmanager
    async def _synced(self) -> AsyncIterator[None]:
        """Force the journal to the disk once a second, off the loop."""

        async def sync() -> None:
            while True:
                await asyncio.sleep(_SYNC_S)
                await asyncio.to_thread(self.journal.sync)

        syncing = asyncio.create_task(sync())
        try:
            yield
        finally:
            syncing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await syncing

    @asynccontextmanager
    async def _bounded(self) -> AsyncIterator[None]:
        """When the run's time is over, what is in flight ends at once."""

        def over() -> None:
            self.halt.ask(f"the run's bound of {self.plan.bounds.seconds} s is reached")
            self.halt.at_once()

        timer = asyncio.get_running_loop().call_later(float(self.plan.bounds.seconds), over)
        try:
            yield
        finally:
            timer.cancel()


@contextlib.contextmanager
def _interruptible(halt: Halt) -> Iterator[None]:
    """Ctrl-C once ends after what is in flight, twice at once."""
    loop = asyncio.get_running_loop()
    try:
        loop.add_signal_handler(signal.SIGINT, halt.ask, "interrupted")
        loop.add_signal_handler(signal.SIGTERM, halt.ask, "terminated")
    except (NotImplementedError, RuntimeError, ValueError):
        yield
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        loop.remove_signal_handler(signal.SIGTERM)
