"""What the runner's tests share: a plan against a reference server, a session on one, and replies made by hand."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from functools import partial

from click.testing import CliRunner

from dossier.cli.check import check
from dossier.cli.run import run
from dossier.cli.run import run as run_command
from dossier.cli.verify import verify
from dossier.runner.plan import read_plan
from dossier.runner.probes import PROBES, probe_of
from dossier.runner.prompts import size
from dossier.runner.record import record
from dossier.runner.reference_process import running
from dossier.runner.reference_server import ReferenceServer
from dossier.runner.schedule import Schedule
from dossier.runner.script import MODEL
from dossier.runner.session import Budget, Session
from dossier.wire.client import Limits, connect
from dossier.wire.dialect import Detection, Dialect
from dossier.wire.events import Named, Usage
from dossier.wire.stream import Arrival, StreamOutcome
from dossier.wire.tools import ToolCall
from dossier.wire.trace import Trace

MS = 1_000_000
QUICK = "{requests: 2000, tokens: 1000000, seconds: 120, request_seconds: 5, idle_seconds: 2}"


def plan_text(base_url="http://127.0.0.1:1/v1", populations=("{id: chat, probe: chat}",), more=""):
    lines = "\n".join(f"  - {line}" for line in populations)
    return f"""schema: dossier/plan/v1
id: trial
title: A trial
subject: some-model
target: {{base_url: {base_url}, model: {MODEL}}}
bounds: {QUICK}
calibration: {{requests: 8}}
populations:
{lines}
{more}
"""


def plan(base_url="http://127.0.0.1:1/v1", populations=("{id: chat, probe: chat}",), more=""):
    found, problems = read_plan(plan_text(base_url, populations, more), "plan.yaml")
    assert found is not None, problems
    return found


def go(folder, *more):
    """Run the plan in a folder as the command does; journal and evidence are left beside it."""
    names = {"--journal": "run.jsonl", "--evidence": "evidence"}
    options = [part for option, name in names.items() for part in (option, str(folder / name))]
    return CliRunner().invoke(run, [str(folder / "plan.yaml"), *options, *more], catch_exceptions=False)


@asynccontextmanager
async def session(schedule=None, dialect=Dialect.UNKNOWN, budget=None, deadline_s=2.0, idle_s=1.0, traits=None):
    """A session on a reference server in this process."""
    async with ReferenceServer(schedule, traits) as server:
        limits = Limits(deadline_s=deadline_s, idle_s=idle_s)
        async with connect(server.base_url, proxy=None, limits=limits) as client:
            yield Session(client, MODEL, Detection(dialect, (), None), budget or Budget(1000, 10**9, 60.0), "seed")


def sampled(schedule=None, traits=None, indices=(0,), sizes=None, dialect=Dialect.UNKNOWN, **fields):
    """Samples of one population by index, one after another, from a reference server in this process."""

    async def go():
        spec = PROBES[fields["probe"]].spec.model_validate({"id": "x", **fields})
        async with session(schedule or Schedule(ttft_ms=0, gap_ms=0), dialect, traits=traits) as here:
            for name, wanted in probe_of(spec).sizes(spec).items():
                text = partial(wanted.text, f"seed/{name}/size")
                found = await size(here, text, wanted.tokens, wanted.tolerance)
                here.sizes[name] = (sizes or {}).get(name, found.words)
            return [await probe_of(spec).ask(here, spec, index) for index in indices]

    return asyncio.run(go())


def finding_of(folder, populations, *, schedule=None, traits=None, more=""):
    """The finding of a whole run against a reference server, which `dossier check` accepts; and its exit code."""
    with running(folder, schedule or Schedule(ttft_ms=1, gap_ms=0, tokens=16), traits) as server:
        (folder / "plan.yaml").write_text(plan_text(server.base_url, populations, more))
        arguments = [str(folder / "plan.yaml"), "--journal", str(folder / "run.jsonl"),
                     "--evidence", str(folder / "evidence")]  # fmt: skip
        result = CliRunner().invoke(run_command, arguments, catch_exceptions=False)
    for command in (check, verify):
        accepted = CliRunner().invoke(command, [str(folder / "evidence")], catch_exceptions=False)
        assert accepted.exit_code == 0, accepted.output + result.output
    return record((folder / "run.jsonl").read_bytes()).finding, result.exit_code


def outcome(content="", *, reasoning="", tools=(), finish="stop", usage=None, arrivals_ms=(10,), failure=None):
    """A stream made by hand: written at 0, with an arrival at each of the milliseconds."""
    arrivals = tuple(Arrival(at * MS, 1, 0, 0, None) for at in arrivals_ms)
    calls = tuple(ToolCall(f"call-{n}", name, arguments) for n, (name, arguments) in enumerate(tools))
    trace = Trace(start_ns=0, status=200)
    return StreamOutcome(
        failure, trace, arrivals, content, reasoning, calls, finish, "[DONE]", usage or Usage(5, 3), Named(), 1, 0, ()
    )


def wait_for(journal, mark, since=0, seconds=60):
    """Wait until a journal that another process writes holds some bytes beyond a size; a test goes on in any case."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and not (journal.exists() and mark in journal.read_bytes()[since:]):
        time.sleep(0.01)
