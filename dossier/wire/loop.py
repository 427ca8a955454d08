"""The event loop of a measurement: uvloop where it is installed, else asyncio's own; always named."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeVar, cast

T = TypeVar("T")


def loop_name() -> str:
    """Which loop `run` uses: "uvloop" or "asyncio"."""
    return "uvloop" if find_spec("uvloop") else "asyncio"


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on the measuring loop."""
    with asyncio.Runner(loop_factory=_factory()) as runner:
        return runner.run(main)


def _factory() -> Callable[[], asyncio.AbstractEventLoop]:
    module = import_module(loop_name())
    return cast("Callable[[], asyncio.AbstractEventLoop]", module.new_event_loop)
