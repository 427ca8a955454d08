"""Blocks: one server start each, identified before and after, with every population of the plan between."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from dossier.runner import capacity
from dossier.runner.arms import Block
from dossier.runner.host import host
from dossier.runner.identity import changed, identify
from dossier.runner.load import Halt
from dossier.runner.plan import Instance, Plan, api_key
from dossier.runner.population import Onlooker, Runner, passes
from dossier.runner.servers import ServerError, Servers
from dossier.runner.session import Budget, Session
from dossier.runner.state import State, stamp
from dossier.wire import api, dialect
from dossier.wire.client import Limits, connect
from dossier.wire.errors import WireError


class Watcher(Onlooker, Protocol):
    """Whoever looks on while a run goes."""

    def note(self, text: str) -> None:
        """Something happened that is no sample."""


class Host(Protocol):
    """The run that the blocks belong to."""

    plan: Plan
    state: State
    watcher: Watcher
    halt: Halt

    @property
    def now(self) -> Callable[[], datetime]:
        """Asks for the time."""

    def write(self, event: str, **fields: Any) -> None:
        """Journal an event."""


@dataclass(slots=True)
class Blocks:
    """Runs one group of blocks: one, or several side by side."""

    run: Host
    servers: Servers
    budget: Budget
    group: tuple[Block, ...]
    _sessions: dict[int, Session] = field(default_factory=dict)

    async def go(self) -> None:
        """Run what is left of the group. A block whose server dies, or turns into another, is over; the run goes on.

        Raises BoundReachedError.
        """
        async with AsyncExitStack() as stack:
            for block in self.group:
                await self._begin(block, stack)
            for instance in self.run.plan.instances(self.group):
                if instance.block.number in self._sessions and self.run.halt.reason is None:
                    await self._guarded(instance.block, self._instance(instance))
            for block in self.group:
                if block.number in self._sessions and self.run.halt.reason is None:
                    await self._guarded(block, self._end(block))

    async def _begin(self, block: Block, stack: AsyncExitStack) -> None:
        if block.number > 1 and (seconds := self.run.plan.course.cool_down_seconds):
            self.run.watcher.note(f"cooling down for {seconds} s")
            await asyncio.sleep(seconds)
        self._write("block", block, start=block.start)
        await self._guarded(block, self._open(block, stack))

    async def _open(self, block: Block, stack: AsyncExitStack) -> None:
        side, bounds = self.run.plan.sides[block.arm], self.run.plan.bounds
        await self.servers.up(block)
        limits = Limits(deadline_s=float(bounds.request_seconds), idle_s=float(bounds.idle_seconds))
        client = await stack.enter_async_context(connect(side.base_url, api_key=api_key(side), limits=limits))
        self.budget.spent_requests += dialect.LOOKS
        detection = dialect.detect(await dialect.observe(client))
        session = Session(client, side.model, detection, self.budget, self._seed(block))
        told = await self._identify(session, block, "before")
        if told is not None:
            session.context = side.context_tokens or told.get("context")
            self._sessions[block.number] = session
            await self._reset_cache(block, session)
            if holds := await capacity.look(session):
                self._write("capacity", block, **holds)

    def _seed(self, block: Block) -> str:
        """What makes the prompts: equal in all arms at the same start, so that requests of one index are matched."""
        plan = self.run.plan
        if not plan.arms:
            return plan.digest
        own = f"/{block.arm}" if plan.course.own_prompts else ""
        return f"{plan.digest}/{block.start}{own}"

    async def _reset_cache(self, block: Block, session: Session) -> None:
        path = self.run.plan.sides[block.arm].reset_cache
        if path is None:
            return
        reply = await api.post_text(session.client, session.client.target.root + path)
        if reply.failure is not None:
            raise ServerError(f"{block.arm}: its cache was not reset: {reply.failure.message}")
        self._write("cache-reset", block, path=path)

    async def _guarded(self, block: Block, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except (ServerError, WireError) as error:
            told = str(error)
            if isinstance(error, WireError):
                told = f"the server does not answer: {error.failure.message}"
            self._sessions.pop(block.number, None)
            if self.run.plan.arms is None:
                self.run.halt.ask(told)
                return
            self._write("server-lost", block, why=told)
            self._write("block-end", block)
            self.run.watcher.note(f"{block.arm}, start {block.start} is over: {told}")

    async def _end(self, block: Block) -> None:
        session = self._sessions[block.number]
        if await self._identify(session, block, "after") is not None:
            self._write("block-end", block)

    async def _identify(self, session: Session, block: Block, phase: str) -> dict[str, Any] | None:
        """Journal who answers; None where it is not who answered first: the block is void then."""
        told = await identify(session)
        first = self.run.state.identities.get(block.arm)
        local = session.client.target.origin.loopback
        self._write("identity", block, phase=phase, server=told, host=host(), local=local)
        wanted = self.run.plan.sides[block.arm].model
        if "model" not in told or wanted not in told["listed"]:
            listed = ", ".join(told["listed"]) or "none"
            self.run.watcher.note(f"the server does not list {wanted}: {listed}")
        wrong = changed(first["server"], told) if first is not None else []
        if wrong:
            self._write("void", block, why="; ".join(wrong))
            self._write("block-end", block)
            self._sessions.pop(block.number, None)
            what = "the run" if self.run.plan.arms is None else f"{block.arm}, start {block.start}"
            self.run.watcher.note(f"the identity changed, and {what} is void: {'; '.join(wrong)}")
            return None
        return told

    async def _instance(self, instance: Instance) -> None:
        await self._population(instance)
        if self.run.plan.repeat_failed and self.run.halt.reason is None and not self._gates_pass(instance):
            again = instance.repeat
            if again.name not in self.run.state.repeats:
                self.run.write("repeat", population=again.name, of=instance.name)
            await self._population(again)
        if self.run.plan.arms is not None and not any(
            entry["outcome"] != "failed"
            for (population, _, _), entry in self.run.state.sampled.items()
            if population == instance.name
        ):
            await self._alive(instance.block)

    async def _alive(self, block: Block) -> None:
        """Nothing came of a whole population: is anybody there? Raises WireError where not."""
        reply, _ = await api.models(self._sessions[block.number].client)
        if reply.failure is not None and reply.status is None:
            raise WireError(reply.failure.kind, reply.failure.message)

    async def _population(self, instance: Instance) -> None:
        if instance.name in self.run.state.done or self.run.halt.reason is not None:
            return
        session = self._sessions[instance.block.number]
        # A repeat asks the same with prompts of its own: the very same ones would meet a warm cache.
        session.seed = self._seed(instance.block) + ("/repeat" if instance.repeat_of else "")
        runner = Runner(session, instance.name, self.run.state, self.run.write, self.run.watcher, self.run.halt,
                        self.run.now, alone=not self.run.plan.arms)  # fmt: skip
        await runner.run(instance.spec)

    def _gates_pass(self, instance: Instance) -> bool:
        plan, spec = self.run.plan, instance.spec
        subject = f"{instance.block.arm}-{spec.id}" if plan.arms else spec.id
        gates = [gate.require for gate in plan.gates if gate.subject == subject]
        return all(passes(require, self.run.state, instance.name, spec) for require in gates)

    def _write(self, event: str, block: Block, **fields: Any) -> None:
        where = {"block": block.number, "arm": block.arm} if self.run.plan.arms else {"block": block.number}
        self.run.write(event, **where, at=stamp(self.run.now()), **fields)
