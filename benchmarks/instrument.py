"""How true a client's clock is: each client against the reference server, its own log as truth, alternated.

    python benchmarks/instrument.py compare [--servebench BIN] [--aiperf BIN --tokenizer DIR] [--rounds N]
    python benchmarks/instrument.py capacity

`compare` runs 64 tokens at 10 ms gaps after 100 ms at 1, 16, 64 and 256 streams and prints a Markdown table.
`capacity` goes up in steps until the TTFT error's p99 exceeds 10 ms, and then tries whether two client processes hold
more than one. `load` is what `compare` runs in a process of its own: our client, or `floor`: nothing but an asyncio
protocol that stamps in `data_received`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dossier.runner.calibrate import PROMPT, calibrate, load
from dossier.runner.clockstats import closed_loop
from dossier.runner.reference_process import running
from dossier.runner.reference_server import Served
from dossier.stats import percentile
from dossier.wire.loop import loop_name, run

CELLS = ((1, 32), (16, 256), (64, 512), (256, 512))
BODY = json.dumps(
    {
        "model": "reference",
        "messages": [{"role": "user", "content": PROMPT}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
).encode()
TOKEN = b'" token"'


@dataclass(frozen=True)
class Seen:
    """What one client says of its requests, in milliseconds."""

    ttft: list[float]
    tpot: list[float]
    note: str = ""


@dataclass(frozen=True)
class Cell:
    """One run of one client at one load."""

    client: str
    streams: int
    seen: Seen
    truth_ttft: list[float]
    truth_tpot: list[float]
    peak: int
    cpu_s: float
    wall_s: float
    busy: float


# The clients: a command for a run, and a reader of what it left


@dataclass(frozen=True)
class Client:
    name: str
    command: Callable[[str, int, int, Path], list[str]]
    read: Callable[[Path], Seen]


def own(kind: str, workers: int = 1) -> Client:
    def command(url: str, streams: int, requests: int, folder: Path) -> list[str]:
        what = [kind, url, str(streams), str(requests), str(folder / "own.json"), "--workers", str(workers)]
        return [sys.executable, __file__, "load", *what]

    name = kind if workers == 1 else f"{kind}, {workers} processes"
    return Client(name, command, lambda folder: Seen(**json.loads((folder / "own.json").read_text())))


def servebench(binary: str) -> Client:
    def command(url: str, streams: int, requests: int, folder: Path) -> list[str]:
        sizes = ["--concurrency", str(streams), "--num-requests", str(requests), "--input-len", "128"]
        out = ["--output-len", "64", "--out", str(folder / "servebench.json")]
        return [binary, "run", "--url", f"{url}/v1", "--model", "reference", *sizes, *out]

    def read(folder: Path) -> Seen:
        level = json.loads((folder / "servebench.json").read_text())["levels"][0]
        good = [request for request in level["requests"] if request["ok"]]
        times = [request["chunk_times"] for request in good]
        tpot = [(each[-1] - each[0]) / 63 * 1e3 for each in times]
        return Seen([request["ttft"] * 1e3 for request in good], tpot, f"lag p99 {level['client_lag_p99_ms']:.1f}")

    return Client("servebench", command, read)


def aiperf(binary: str, tokenizer: str) -> Client:
    def command(url: str, streams: int, requests: int, folder: Path) -> list[str]:
        what = [
            "--model",
            "reference",
            "--url",
            url,
            "--endpoint-type",
            "chat",
            "--streaming",
            "--tokenizer",
            tokenizer,
        ]
        sizes = ["--concurrency", str(streams), "--request-count", str(requests)]
        lengths = ["--synthetic-input-tokens-mean", "128", "--output-tokens-mean", "64"]
        return [binary, "profile", *what, *sizes, *lengths, "--artifact-dir", str(folder), "--ui", "simple"]

    def read(folder: Path) -> Seen:
        lines = (folder / "profile_export.jsonl").read_text().splitlines()
        metrics = [json.loads(line)["metrics"] for line in lines]
        good = [each for each in metrics if "time_to_first_token" in each]
        ttft = [each["time_to_first_token"]["value"] for each in good]
        return Seen(ttft, [each["inter_token_latency"]["value"] for each in good])

    return Client("aiperf", command, read)


# One run


def run_cell(client: Client, streams: int, requests: int) -> Cell:
    with tempfile.TemporaryDirectory(prefix="instrument-") as name:
        folder = Path(name)
        with running(folder) as server:
            command = client.command(f"http://127.0.0.1:{server.port}", streams, requests, folder)
            before, began, idle = os.times(), time.monotonic(), busy_seconds()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300)
            after, wall, busy = os.times(), time.monotonic() - began, busy_seconds() - idle
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        served = sorted(read_log(server.log), key=lambda each: each.received_ns)[-requests:]
        seen = client.read(folder)
    return Cell(
        client=client.name,
        streams=streams,
        seen=seen,
        truth_ttft=[(each.sent_ns[0] - each.received_ns) / 1e6 for each in served],
        truth_tpot=[(each.sent_ns[-1] - each.sent_ns[0]) / 63e6 for each in served],
        peak=max(each.open for each in served),
        cpu_s=cpu,
        wall_s=wall,
        busy=busy / wall,
    )


def read_log(path: Path) -> list[Served]:
    return [Served(**json.loads(line)) for line in path.read_text().splitlines()[1:]]


def busy_seconds() -> float:
    """CPU seconds of the whole machine so far, idle and I/O wait left out (Linux)."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    return (sum(fields[:8]) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


# Our client and the floor, in a process of their own


def do_load(options: argparse.Namespace) -> None:
    if options.workers > 1:
        shared_load(options)
        return
    load_one = floor if options.kind == "floor" else ours
    seen = run(load_one(options.url, options.streams, options.requests))
    Path(options.out).write_text(json.dumps(seen.__dict__))


def shared_load(options: argparse.Namespace) -> None:
    """The same load by several processes, a share of the streams each."""
    outs = [Path(f"{options.out}.{number}") for number in range(options.workers)]
    share = [str(options.streams // options.workers), str(options.requests // options.workers)]
    started = [
        subprocess.Popen([sys.executable, __file__, "load", options.kind, options.url, *share, str(out)])
        for out in outs
    ]
    if any(process.wait() for process in started):
        raise SystemExit("a worker failed")
    parts = [Seen(**json.loads(out.read_text())) for out in outs]
    ttft, tpot = ([value for part in parts for value in getattr(part, name)] for name in ("ttft", "tpot"))
    Path(options.out).write_text(json.dumps(Seen(ttft, tpot, parts[0].note).__dict__))


async def ours(url: str, streams: int, requests: int) -> Seen:
    outcomes, health = await load(f"{url}/v1", streams, requests)
    good = [outcome for outcome in outcomes if outcome.failure is None]
    lag = health.loop_lag_ms.p99 if health.loop_lag_ms.p99 is not None else health.loop_lag_ms.greatest
    note = f"lag p99 {lag:.1f}, {health.chunks_per_read:.2f} chunks a read, {health.gaps_under_1ms:.1%} gaps < 1 ms"
    return Seen([each.ttft_any_ns / 1e6 for each in good], [each.tpot_ns / 1e6 for each in good], note)


class Floor(asyncio.Protocol):
    def __init__(self) -> None:
        self.first = self.last = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        now = time.perf_counter()
        if TOKEN in data:
            self.last = now
            self.first = self.first or now
        if data.endswith(b"0\r\n\r\n"):
            self.done.set_result(None)

    async def ask(self, request: bytes) -> tuple[float, float]:
        self.done = asyncio.get_running_loop().create_future()
        self.first, start = 0.0, time.perf_counter()
        self.transport.write(request)
        await self.done
        return (self.first - start) * 1e3, (self.last - self.first) / 63 * 1e3


async def floor(url: str, streams: int, requests: int) -> Seen:
    host, port = url.removeprefix("http://").split(":")
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(BODY)}\r\n\r\n"
    request = head.encode() + BODY
    loop = asyncio.get_running_loop()
    idle = [(await loop.create_connection(Floor, host, int(port)))[1] for _ in range(streams)]
    await idle[0].ask(request)

    async def one(_: int) -> tuple[float, float]:
        connection = idle.pop()
        pair = await connection.ask(request)
        idle.append(connection)
        return pair

    pairs = await closed_loop(streams, requests, one)
    for connection in idle:
        connection.transport.abort()
    return Seen([ttft for ttft, _ in pairs], [tpot for _, tpot in pairs])


# Tables


HEAD = (
    "| client | streams | ok | TTFT p50 / p99 | truth p50 / p99 | error p50 / p99 | TPOT p50 | truth | error p50 |"
    " worst tail | CPU s | peak | wall s | cores busy | own health |\n" + "|---" * 15 + "|"
)


def do_compare(options: argparse.Namespace) -> None:
    clients = [own("floor"), own("dossier")]
    clients += [servebench(options.servebench)] if options.servebench else []
    clients += [aiperf(options.aiperf, options.tokenizer)] if options.aiperf else []
    print(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}, {loop_name()}\n")
    print(HEAD)
    for turn in range(options.rounds):
        for streams, requests in CELLS:
            for client in clients[turn % len(clients) :] + clients[: turn % len(clients)]:
                print(row(run_cell(client, streams, requests)), flush=True)


def row(cell: Cell) -> str:
    ttft, truth, tpot, true_tpot = cell.seen.ttft, cell.truth_ttft, cell.seen.tpot, cell.truth_tpot
    p50, p99, true50, true99 = (percentile(each, percent) for each in (ttft, truth) for percent in (50, 99))
    t50, true_t50 = percentile(tpot, 50), percentile(true_tpot, 50)
    tail = percentile(tpot, 99) / percentile(true_tpot, 99) - 1
    cells = [
        cell.client,
        cell.streams,
        len(ttft),
        f"{p50:.1f} / {p99:.1f}",
        f"{true50:.1f} / {true99:.1f}",
        f"{p50 - true50:+.1f} / {p99 - true99:+.1f}",
        f"{t50:.3f}",
        f"{true_t50:.3f}",
        f"{t50 / true_t50 - 1:+.2%}",
        f"{tail:+.2%}",
        f"{cell.cpu_s:.2f}",
        cell.peak,
        f"{cell.wall_s:.1f}",
        f"{cell.busy:.2f}",
        cell.seen.note,
    ]
    return "| " + " | ".join(str(each) for each in cells) + " |"


STEPS = (128, 256, 384, 512, 640, 768, 896, 1024, 1280)


def do_capacity(_: argparse.Namespace) -> None:
    print(
        "| streams | ok | TTFT error p50 / p99 ms | TPOT error p50 / p99 | chunk delay p99 ms | server late p99 ms |",
        end="",
    )
    print(" CPU s / wall s | cores busy | client-limited |\n" + "|---" * 9 + "|")
    for streams in STEPS:
        began, idle = time.monotonic(), busy_seconds()
        result = calibrate(streams, 2 * streams)
        busy = (busy_seconds() - idle) / (time.monotonic() - began)
        error, tpot = result.ttft_error_ms, result.tpot_error
        late, delay = result.server_late_ms.p99, result.chunk_delay_ms.p99
        load_text = f"{result.health.cpu_s:.2f} / {result.health.wall_s:.2f} | {busy:.2f}"
        numbers = f"{error.p50:.1f} / {error.p99:.1f} | {tpot.p50:+.2%} / {tpot.p99:+.2%} | {delay:.1f} | {late:.1f}"
        print(f"| {streams} | {result.completed} | {numbers} | {load_text} | {'; '.join(result.limits)} |", flush=True)
        if error.p99 > 10:
            break
    print("\n" + HEAD)
    for streams in STEPS[3:]:
        for workers in (1, 2):
            print(row(run_cell(own("dossier", workers), streams, 2 * streams)), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    compare = commands.add_parser("compare")
    compare.add_argument("--servebench", help="path of the servebench command")
    compare.add_argument("--aiperf", help="path of the aiperf command")
    compare.add_argument("--tokenizer", help="a tokenizer folder for aiperf")
    compare.add_argument("--rounds", type=int, default=3)
    compare.set_defaults(do=do_compare)
    commands.add_parser("capacity").set_defaults(do=do_capacity)
    single = commands.add_parser("load")
    for name, kind in (("kind", str), ("url", str), ("streams", int), ("requests", int), ("out", str)):
        single.add_argument(name, type=kind)
    single.add_argument("--workers", type=int, default=1)
    single.set_defaults(do=do_load)
    options = parser.parse_args()
    options.do(options)


if __name__ == "__main__":
    main()
