"""The reference server as a process of its own: `python -m dossier.runner.reference_process`.

The first line of its log is `{"listening": PORT}`; when it stops, each further line is one `Served` generation.
It ends when its standard input closes (`--attached`), so that it never outlives the process that started it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dossier.errors import StorageError
from dossier.runner.child import attached, first_answer
from dossier.runner.reference_server import ReferenceServer, Served
from dossier.runner.schedule import Schedule
from dossier.runner.traits import Traits
from dossier.wire.loop import run

START_S = 30.0


@dataclass(frozen=True, slots=True)
class Running:
    """A reference server in another process."""

    port: int
    log: Path

    @property
    def base_url(self) -> str:
        """The API base for a client."""
        return f"http://127.0.0.1:{self.port}/v1"

    def served(self) -> dict[str, Served]:
        """Every generation that has ended, by request id; written once the server has stopped."""
        lines = self.log.read_text().splitlines()[1:]
        return {record.id: record for record in (Served(**json.loads(line)) for line in lines)}


@contextlib.contextmanager
def running(folder: Path, schedule: Schedule | None = None, traits: Traits | None = None) -> Iterator[Running]:
    """Start a server that logs into `folder`; it is stopped on leaving. Raises StorageError if it does not start."""
    log = folder / "reference.jsonl"
    log.touch()
    arguments = ["--log", str(log), "--attached", "--schedule", (schedule or Schedule()).model_dump_json()]
    arguments += ["--traits", (traits or Traits()).model_dump_json()]
    command = [sys.executable, "-m", "dossier.runner.reference_process", *arguments]
    with attached(command) as process:
        port = first_answer(process, lambda: _port(log), START_S, 0.02)
        if port is None:
            raise StorageError("the reference server did not start")
        yield Running(port, log)


def _port(log: Path) -> int | None:
    first, newline, _ = log.read_text().partition("\n")
    return int(json.loads(first)["listening"]) if newline else None


async def _serve(options: argparse.Namespace) -> None:
    with Path(options.log).open("a", encoding="utf-8") as log:
        schedule = Schedule.model_validate_json(options.schedule)
        traits = Traits.model_validate_json(options.traits)
        async with ReferenceServer(schedule, traits, host=options.host, port=options.port, log_file=log) as server:
            log.write(json.dumps({"listening": server.port}) + "\n")
            log.flush()
            if options.attached:
                await asyncio.to_thread(sys.stdin.buffer.read)
            else:
                await asyncio.Event().wait()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Serve a known schedule over the OpenAI protocol.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0: any free port, written to the log")
    parser.add_argument("--log", required=True, help="JSON lines: what was sent, and when")
    parser.add_argument("--schedule", default="{}", help="default schedule, a JSON object")
    parser.add_argument("--traits", default="{}", help="what it can do and how it misbehaves, a JSON object")
    parser.add_argument("--attached", action="store_true", help="end when standard input closes")
    return parser.parse_args()


if __name__ == "__main__":
    run(_serve(_options()))
