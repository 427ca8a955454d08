"""Code from an answer, run against tests in a process of its own, as far from everything as Linux lets a user go.

What holds: a time limit, processor time, memory, file size, an empty environment, an empty folder of its own that is
deleted; and no network, and no process that outlives it, where the system lets a user make namespaces (`held` says
which). What does not hold: the code may read any file that the runner's user may read, and look into the tests that
share its interpreter. It is a guard against accidents, not against an attacker; run untrusted suites in a
machine of their own.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import secrets
import signal
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

SECONDS, MEGABYTES = 10, 512
_CHILD = Path(__file__).with_name("sandbox_child.py")
_FENCE = re.compile(r"```(?:python|py)?[ \t]*\n(.*?)```", re.DOTALL)
_MOST_OUTPUT = 64 << 10
_TOLD = 300


@dataclass(frozen=True, slots=True)
class Ran:
    """How it went. `kind` is None where every test held; `held` is what the sandbox could cut off."""

    kind: str | None
    told: str
    held: tuple[str, ...]


def code_of(answer: str) -> str:
    """The one fenced block of an answer, or all of an answer without any fence."""
    blocks = _FENCE.findall(answer)
    return str(blocks[0]) if len(blocks) == 1 else answer


async def run_tests(code: str, tests: str, seconds: int = SECONDS, megabytes: int = MEGABYTES) -> Ran:
    """Run the code, then the tests. Never raises for what the code does."""
    nonce = secrets.token_hex(16)
    told = json.dumps({"code": code, "tests": tests, "nonce": nonce}).encode()
    with tempfile.TemporaryDirectory(prefix="dossier-code-", ignore_cleanup_errors=True) as folder:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-S", "-B", str(_CHILD), str(seconds), str(megabytes),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            cwd=folder, env={}, start_new_session=True,
        )  # fmt: skip
        try:
            async with asyncio.timeout(seconds + 2):
                _, out, err = await asyncio.gather(
                    _feed(process, told), _bounded(process.stdout), _bounded(process.stderr)
                )
                code_ = await process.wait()
        except TimeoutError:
            return Ran("code-timeout", f"no end within {seconds} s", ())
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    return _judge(out.decode("utf-8", "replace"), err.decode("utf-8", "replace"), code_, nonce)


def _judge(out: str, err: str, status: int, nonce: str) -> Ran:
    first, _, rest = out.partition("\n")
    try:
        held = tuple(map(str, json.loads(first)))
    except ValueError:
        return Ran("sandbox-failed", (err or out)[-_TOLD:], ())
    if status == 0 and rest.rstrip("\n").rpartition("\n")[2] == nonce:
        return Ran(None, "", held)
    last = err.strip().rpartition("\n")[2][-_TOLD:]
    ended = -status if status < 0 else status - 128
    if ended in {signal.SIGXCPU, signal.SIGKILL}:
        return Ran("code-timeout", f"ended by signal {ended}", held)
    kinds = {"SyntaxError": "code-invalid", "IndentationError": "code-invalid", "MemoryError": "code-memory",
             "AssertionError": "tests-failed"}  # fmt: skip
    kind = next((kind for name, kind in kinds.items() if last.startswith(name)), "code-error")
    return Ran(kind, last or f"exit status {status}, and the tests did not end", held)


async def _feed(process: asyncio.subprocess.Process, data: bytes) -> None:
    if process.stdin is not None:
        with contextlib.suppress(ConnectionError):
            process.stdin.write(data)
            await process.stdin.drain()
        process.stdin.close()


async def _bounded(stream: asyncio.StreamReader | None) -> bytes:
    """The first and the last of what is written; all of it is read, so that nothing blocks."""
    first, last = b"", b""
    while stream is not None and (chunk := await stream.read(1 << 14)):
        room = _MOST_OUTPUT - len(first)
        first, rest = first + chunk[:room], chunk[room:]
        last = (last + rest)[-_MOST_OUTPUT:]
    return first + last
