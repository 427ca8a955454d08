"""A declared command, run without a shell in a folder of its own, with little in its environment and an end in time."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dossier.redact import redact

_KEPT = ("PATH", "HOME", "LANG", "TMPDIR")
_NAME = re.compile(r"\{([a-z_]+)\}")
_TAIL = 4096


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended. `status` None: it was stopped when its time was over. `output` is the last it wrote."""

    status: int | None
    output: str
    seconds: float


def filled(command: Sequence[str], names: Mapping[str, str]) -> list[str]:
    """The arguments with `{names}` put in. Raises ValueError for a name that there is not."""
    unknown = sorted({name for part in command for name in _NAME.findall(part)} - set(names))
    if unknown:
        raise ValueError(f"{{{unknown[0]}}} is not known here; there are {', '.join(f'{{{name}}}' for name in names)}")
    return [_NAME.sub(lambda match: names[match[1]], part) for part in command]


def require_public(command: Sequence[str]) -> None:
    """Raise ValueError where an argument holds what must not be published: a plan is."""
    for part in command:
        if redact(part) != part:
            raise ValueError(f"{part[:60]!r} holds a local path or a secret, and a plan is published")


async def run_command(
    command: Sequence[str],
    folder: Path,
    seconds: float,
    passed_on: Sequence[str] = (),
    given: Mapping[str, str] | None = None,
) -> Ran:
    """Run it. `passed_on` names variables of this environment, `given` adds more. Never raises for what it does."""
    kept = {name: os.environ[name] for name in (*_KEPT, *passed_on) if name in os.environ}
    began = time.monotonic()
    try:
        process = await asyncio.create_subprocess_exec(
            *command, cwd=folder, env=kept | dict(given or {}), start_new_session=True,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
    except OSError as error:
        return Ran(127, f"it cannot be started: {error.strerror}", 0.0)
    status: int | None = None
    output = bytearray()
    try:
        async with asyncio.timeout(seconds):
            while process.stdout is not None and (chunk := await process.stdout.read(1 << 14)):
                output = (output + chunk)[-_TAIL:]
            status = await process.wait()
    except TimeoutError:
        pass
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    return Ran(status, output.decode("utf-8", "replace"), time.monotonic() - began)
