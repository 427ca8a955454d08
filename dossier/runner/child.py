"""A child process that never outlives its parent: it reads its standard input, and stops when that closes."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from typing import IO, TypeVar

T = TypeVar("T")
PATIENCE_S = 10.0


@contextlib.contextmanager
def attached(command: Sequence[str], log: IO[bytes] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Start a command, its output in `log` where there is one; on leaving its input closes, and it is waited for."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log) as process:  # noqa: S603 - our own
        try:
            yield process
        finally:
            if process.stdin is not None:
                process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE_S)
            process.kill()


def first_answer(
    process: subprocess.Popen[bytes], ask: Callable[[], T | None], within_s: float, pause_s: float
) -> T | None:
    """Ask until there is an answer; None where the process ended or the time was over before."""
    until = time.monotonic() + within_s
    while time.monotonic() < until and process.poll() is None:
        found = ask()
        if found is not None:
            return found
        time.sleep(pause_s)
    return None
