"""One run: calibrate, measure block after block, put the baseline back; every event goes to the journal."""

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
from typing import Any

from dossier import __version__
from dossier.errors import StorageError, UsageError
from dossier.runner.blocks import Blocks, Watcher
from dossier.runner.calibrate import calibrate
from dossier.runner.journal import Journal
from dossier.runner.load import Halt
from dossier.runner.plan import Plan, api_keys
from dossier.runner.restore import restore
from dossier.runner.schedule import Schedule
from dossier.runner.servers import ServerError, Servers
from dossier.runner.session import FREE, BoundReachedError, Budget, Price
from dossier.runner.state import SCHEMA, State, stamp
from dossier.wire.loop import loop_name, run

CALIBRATION = Schedule(ttft_ms=50.0, gap_ms=10.0, tokens=24)
_ROUNDS = 16
_SYNC_S = 1.0


@dataclass(slots=True)
class Run:
    """One session of a run over an open journal. With `only_restore` nothing is measured."""

    plan: Plan
    journal: Journal
    state: State
    watcher: Watcher
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    halt: Halt = field(default_factory=Halt)
    only_restore: bool = False
    _restoring: bool = False

    def go(self) -> None:
        """Run to the end, to a bound or to an interruption; the journal says which. Raises StorageError, UsageError.

        However it ends, the baseline is put back where the plan says so, and servers of the run are stopped.
        """
        api_keys(self.plan)
        self._head()
        if not self.only_restore:
            self._calibrate()
        run(self._measure())

    def write(self, event: str, **fields: Any) -> None:
        """Journal an event and fold it into the state."""
        try:
            self.state.take(self.journal.append(event, **fields))
        except StorageError:  # a full disk must not keep the baseline from being put back
            if not self._restoring:
                raise

    def _head(self) -> None:
        if not self.state.run:
            public = self.plan.public
            if self.journal.scrub.data(public) != public:
                told = "the plan holds something private (a home path, an address, a secret), and it is published"
                raise UsageError(f"{told}: use relative paths, names and environment variables")
            self.write(
                "plan", schema=SCHEMA, dossier=__version__, run=self.plan.digest.removeprefix("sha256:")[:12],
                at=stamp(self.now()), plan=public, plan_digest=self.plan.digest,
            )  # fmt: skip
        lost = sorted(self.state.sent)
        self.write(
            "session", at=stamp(self.now()), python=platform.python_version(), loop=loop_name(),
            lost=[list(key) for key in lost],
        )  # fmt: skip
        if lost:
            self.watcher.note(f"{len(lost)} requests were in flight when the last session ended; they are sent again")

    def _calibrate(self) -> None:
        left = self.plan.streams_of(each.spec for each in self.plan.instances() if each.name not in self.state.done)
        for streams in sorted(left - self.state.calibrated):
            self.watcher.note(f"measuring the instrument at {streams} at once")
            requests = max(8, min(self.plan.calibration.requests, _ROUNDS * streams))
            self.write("calibration", **calibrate(streams, requests, CALIBRATION).to_json())

    async def _measure(self) -> None:
        servers = Servers(
            self.plan.sides, self.state.run, self.state, self.write, self.watcher.note, self.journal.path,
            lambda: stamp(self.now()),
        )  # fmt: skip
        self.halt.main = asyncio.current_task()
        with _interruptible(self.halt):
            async with self._synced():
                try:
                    if not self.only_restore:
                        async with self._bounded():
                            await self._all(servers)
                finally:
                    await self._restore(servers)
                    servers.release()
                self._close()
        self.journal.sync()

    async def _all(self, servers: Servers) -> None:
        bounds = self.plan.bounds
        price = Price(float(bounds.price.prompt), float(bounds.price.output)) if bounds.price is not None else FREE
        money = float(bounds.money) if bounds.money is not None else math.inf
        budget = Budget(bounds.requests, bounds.tokens, float(bounds.seconds), money, price)
        try:
            for group in self.plan.groups:
                left = tuple(block for block in group if block.number not in self.state.blocks)
                if left and self.halt.reason is None:
                    await Blocks(self, servers, budget, left).go()
        except BoundReachedError as error:
            self.halt.ask(str(error))
        except asyncio.CancelledError:
            if self.halt.reason is None:
                raise

    async def _restore(self, servers: Servers) -> None:
        if self.plan.restore is None and not self.state.serving:
            return
        self._restoring = True
        try:
            self.watcher.note("putting the baseline back" if self.plan.restore else "stopping what was started")
            await restore(self.plan, servers, self.state, self.write, lambda: stamp(self.now()))
        except ServerError as error:
            self.watcher.note(str(error))
        except asyncio.CancelledError:
            self.write("restoration", at=stamp(self.now()), arm=self.plan.restore.arm if self.plan.restore else "",
                       failed="it was interrupted")  # fmt: skip
        finally:
            self._restoring = False

    def _close(self) -> None:
        if self.halt.reason is not None or self.only_restore:
            why = self.halt.reason or "only the baseline was put back"
            self.write("stop", at=stamp(self.now()), why=why)
            self.watcher.note(f"stopped: {why}")
        elif {block.number for block in self.plan.blocks} <= self.state.blocks:
            void = {block.number for block in self.plan.blocks} <= self.state.void
            self.write("end", at=stamp(self.now()), completion="aborted" if void else "concluded")

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
