"""What the runner's tests share: a plan against a reference server, a session on one, and replies made by hand."""

from __future__ import annotations

from contextlib import asynccontextmanager

from dossier.runner.plan import read_plan
from dossier.runner.reference_server import ReferenceServer
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


@asynccontextmanager
async def session(schedule=None, dialect=Dialect.UNKNOWN, budget=None, deadline_s=2.0, idle_s=1.0):
    """A session on a reference server in this process."""
    async with ReferenceServer(schedule) as server:
        limits = Limits(deadline_s=deadline_s, idle_s=idle_s)
        async with connect(server.base_url, proxy=None, limits=limits) as client:
            yield Session(client, MODEL, Detection(dialect, (), None), budget or Budget(1000, 10**9, 60.0), "seed")


def outcome(content="", *, reasoning="", tools=(), finish="stop", usage=None, arrivals_ms=(10,), failure=None):
    """A stream made by hand: written at 0, with an arrival at each of the milliseconds."""
    arrivals = tuple(Arrival(at * MS, 1, 0, 0, None) for at in arrivals_ms)
    calls = tuple(ToolCall(f"call-{n}", name, arguments) for n, (name, arguments) in enumerate(tools))
    trace = Trace(start_ns=0, status=200)
    return StreamOutcome(
        failure, trace, arrivals, content, reasoning, calls, finish, "[DONE]", usage or Usage(5, 3), Named(), 1, 0, ()
    )
