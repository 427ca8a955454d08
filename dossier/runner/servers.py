"""Servers that a run starts and stops itself, by the commands of its plan; one at a time, and never two on one port."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dossier.errors import DossierError
from dossier.runner.arms import Block, Side
from dossier.runner.plan import api_key
from dossier.runner.state import State
from dossier.wire import api
from dossier.wire.client import Limits, connect
from dossier.wire.decode import Protocol

MARK = "DOSSIER_RUN"
"""An environment variable of every server that a run starts: by it a later session knows the server as its own."""
_POLL_S = 0.5
_LOOK = Limits(deadline_s=30.0, idle_s=20.0, connect_s=2.0)
_TAIL = 600


class ServerError(DossierError):
    """A server did not start, or did not stop; the message says which and what it printed last."""


@dataclass(slots=True)
class Servers:
    """Starts and stops the servers of `sides`, and journals it through `write`. Their output goes to `logs`."""

    sides: Mapping[str, Side]
    run: str
    state: State
    write: Callable[..., None]
    note: Callable[[str], None]
    logs: Path
    now: Callable[[], str]
    _processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    async def up(self, block: Block) -> None:
        """Have the server of a block running: a new start, or the one of this block that an earlier session left."""
        side = self.sides[block.arm]
        if not side.start:
            return
        mine = self.state.serving.get(block.arm)
        if mine is not None and mine["block"] == block.number and await ready(side) is None:
            self.note(f"the server of {block.arm} is still running; going on with it")
            return
        for arm in [*self.state.serving]:
            await self.down(arm)
        if await answers(side):
            await self._command(side.stop, side.stop_seconds, f"{block.arm}: stop")
            await self._gone(block.arm)
        await self._start(block, side)

    async def down(self, arm: str) -> None:
        """Stop the server of an arm that this run has started, and wait until nobody answers there."""
        side, began = self.sides[arm], time.monotonic()
        if side.stop:
            await self._command(side.stop, side.stop_seconds, f"{arm}: stop")
        await asyncio.to_thread(self._kill, arm)
        await self._gone(arm)
        self.write("server-stopped", arm=arm, at=self.now(), seconds=round(time.monotonic() - began, 1))

    def release(self) -> None:
        """Let the servers that stay up be: they outlive this process on purpose, and nobody waits for them."""
        for process in self._processes.values():
            process.returncode = process.poll() or 0  # else Python takes a running child for a forgotten one

    async def _start(self, block: Block, side: Side) -> None:
        self.note(f"starting {block.arm}, start {block.start}")
        log = self.logs.with_name(f"{self.logs.name}.{block.arm}-{block.number}.log")
        environment, began = {**os.environ, MARK: self.run}, time.monotonic()
        try:
            with log.open("wb") as out:
                process = subprocess.Popen(  # noqa: S603 - the operator's own command; returns at once
                    side.start, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment,
                    start_new_session=True,
                )  # fmt: skip
        except OSError as error:
            raise ServerError(f"{block.arm}: cannot run {side.start[0]!r}: {error.strerror}") from None
        self._processes[block.arm] = process
        self.write("server-started", arm=block.arm, block=block.number, start=block.start, at=self.now(),
                   pid=process.pid)  # fmt: skip
        why = "it was never asked"
        while time.monotonic() - began < side.ready_seconds:
            if process.poll() not in {None, 0}:
                raise ServerError(f"{block.arm}: the start command ended with {process.returncode}: {_tail(log)}")
            why = await ready(side) or ""
            if not why:
                self.write("server-ready", arm=block.arm, block=block.number, at=self.now(),
                           seconds=round(time.monotonic() - began, 1))  # fmt: skip
                return
            await asyncio.sleep(_POLL_S)
        raise ServerError(f"{block.arm}: not ready after {side.ready_seconds} s ({why}): {_tail(log)}")

    async def _command(self, command: tuple[str, ...], seconds: int, what: str) -> None:
        if not command:
            return

        def go() -> str | None:
            try:
                done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds,  # noqa: S603
                                      check=False, env={**os.environ, MARK: self.run})  # fmt: skip
            except subprocess.TimeoutExpired:
                return f"took longer than {seconds} s"
            except OSError as error:
                return f"cannot run {command[0]!r}: {error.strerror}"
            return f"ended with {done.returncode}: {_shown(done.stderr)}" if done.returncode else None

        if (wrong := await asyncio.to_thread(go)) is not None:
            self.note(f"{what} {wrong}")

    async def _gone(self, arm: str) -> None:
        side, until = self.sides[arm], time.monotonic() + self.sides[arm].stop_seconds
        while await answers(side):
            if time.monotonic() > until:
                how = "its `stop` did not end it" if side.stop else "give the arm a `stop` command"
                raise ServerError(f"{arm}: a server still answers at its address; {how}")
            await asyncio.sleep(_POLL_S)

    def _kill(self, arm: str) -> None:
        """End the process group of the start command, if it is still there and ours."""
        process, entry = self._processes.pop(arm, None), self.state.serving.get(arm)
        pid = process.pid if process is not None else (entry["pid"] if entry is not None else None)
        if pid is None or (process is None and not _ours(pid, self.run)):
            return
        for wanted in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, wanted)
            until = time.monotonic() + (self.sides[arm].stop_seconds if wanted is signal.SIGTERM else 5)
            while time.monotonic() < until:
                if not _group_lives(pid, process):
                    return
                time.sleep(0.1)


async def answers(side: Side) -> bool:
    """Does anybody take connections at the address of an arm?"""
    async with connect(side.base_url, limits=_LOOK) as client:
        reply, _ = await api.models(client)
        return reply.status is not None


async def ready(side: Side) -> str | None:
    """None where the server lists the model and generates with it; else what is missing."""
    async with connect(side.base_url, api_key=api_key(side), limits=_LOOK) as client:
        reply, served = await api.models(client)
        if reply.failure is not None:
            return reply.failure.message
        if side.model not in {model.id for model in served}:
            return f"{side.model} is not listed"
        body: dict[str, Any] = {"model": side.model, "messages": [{"role": "user", "content": "Hello"}],
                                "max_tokens": 1}  # fmt: skip
        said = await api.generate(client, Protocol.CHAT, body)
        return said.failure.message if said.failure is not None else None


def _ours(pid: int, run: str) -> bool:
    try:
        return f"{MARK}={run}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


def _group_lives(pid: int, process: subprocess.Popen[bytes] | None) -> bool:
    if process is not None:
        process.poll()
    try:
        os.killpg(pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _tail(log: Path) -> str:
    try:
        return _shown(log.read_bytes())
    except OSError:
        return "(no output)"


def _shown(output: bytes) -> str:
    return " ".join(output[-_TAIL:].decode("utf-8", "replace").split()) or "(no output)"
