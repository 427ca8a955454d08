"""Journals of campaigns that never ran: samples drawn by seed, through the runner's own records and verdicts."""

from __future__ import annotations

import json
import math
import random

from dossier.derive.gates import judge
from dossier.digest import sha256_hex
from dossier.runner.plan import read_plan
from dossier.runner.record import record

AT = "2026-12-01T10:00:00.000Z"
MS = 1_000_000
PLAN = """schema: dossier/plan/v1
id: simulated
title: A simulated campaign
subject: some-model
arms:
  baseline: {base_url: "http://127.0.0.1:1/v1", model: m, start: [serve, --cache, "off"], stop: [stop]}
  candidate: {base_url: "http://127.0.0.1:1/v1", model: m, start: [serve, --cache, "on"], stop: [stop]}
SCHEDULE
populations:
POPULATIONS
comparisons:
COMPARISONS
gates:
GATES
"""


def plan(populations, comparisons, gates, schedule="schedule: {order: ABBA, starts: 4}", more=""):
    """A plan of two arms from the lines of its lists."""
    text = PLAN.replace("SCHEDULE", schedule)
    for name, lines in (("POPULATIONS", populations), ("COMPARISONS", comparisons), ("GATES", gates)):
        text = text.replace(name, "\n".join(f"  - {line}" for line in lines) or "  []")
    text = text.replace("comparisons:\n  []", "").replace("gates:\n  []", "")
    found, problems = read_plan(text + more, "plan.yaml")
    assert found is not None, problems
    return found


class Simulated:
    """Writes the journal of one plan; `ms(arm, start, index)` is how long a request took, or None where it failed."""

    def __init__(self, plan):
        self.plan, self.lines, self.previous = plan, [], "0" * 64
        self.write("plan", schema="dossier/journal/v1", dossier="0", run="x", at=AT, plan=plan.public,
                   plan_digest=plan.digest)  # fmt: skip
        self.write("session", at=AT, python="3", loop="x", lost=[])

    def write(self, event, **fields):
        """One line of the chain."""
        line = json.dumps({"n": len(self.lines) + 1, "prev": self.previous, "event": event, **fields})
        self.lines.append(line)
        self.previous = sha256_hex(line.encode())

    def identity(self, block, phase, **told):
        """Who answers."""
        server = {"dialect": "vllm", "signs": ["x"], "model": "m", "listed": ["m"], "context": 4096, **told}
        self.write("identity", phase=phase, at=AT, block=block.number, arm=block.arm, server=server,
                   host={"os": "Linux", "kernel": "6"}, local=False)  # fmt: skip

    def go(self, sample, *, told=lambda _block: {}):
        """All blocks; `sample(instance, index)` gives the fields of each sample."""
        for group in self.plan.groups:
            for block in group:
                self.write("block", block=block.number, arm=block.arm, at=AT, start=block.start)
                self.write("server-started", arm=block.arm, block=block.number, start=block.start, at=AT, pid=1)
                self.identity(block, "before", **told(block))
            for instance in self.plan.instances(group):
                self.population(instance, sample)
            for block in group:
                self.identity(block, "after", **told(block))
                self.write("server-stopped", arm=block.arm, at=AT, seconds=1)
                self.write("block-end", block=block.number, arm=block.arm, at=AT)
        return self

    def population(self, instance, sample):
        """Every sample of one population, and of its cell."""
        for index in range(instance.spec.requests):
            fields = sample(instance, index)
            self.write("sample", population=instance.name, phase="measured", index=index, at=AT, **fields)
        if instance.spec.probe == "cell":
            health = {"asked": 1, "peak": 1, "mean": 1.0, "loop_lag_ms": {"p50": 0.1, "n": 10}, "cpu_s": 0.1,
                      "wall_s": 1.0}  # fmt: skip
            self.write("cell", population=instance.name, at=AT, requests=instance.spec.requests, client=health,
                       limits=[], server={}, memory={})  # fmt: skip
        self.write("done", population=instance.name, at=AT)

    def finding(self, *, completion="concluded"):
        """The finding of what was written."""
        self.write("end", at=AT, completion=completion)
        return record(("\n".join(self.lines) + "\n").encode()).finding


def timed(ms, index=0, tokens=65):
    """A passed sample: half of the time goes to the first output."""
    first, whole = round(ms * MS / 2), round(ms * MS)
    timing = {"ttft_any": first, "ttft_visible": first, "e2e": whole, "gaps_us": [], "start_ns": index * 10**9}
    return {"outcome": "passed", "finish": "stop", "usage": {"prompt": 100, "completion": tokens}, "timing": timing}


def noisy(seed, slower=0.0, of_start=0.005, of_request=0.02, drift=0.0):
    """Times of about 100 ms with log-normal noise of starts and of requests; the candidate is so much slower.

    `drift` is by how much each later block is slower, whichever arm it is.
    """
    draw, starts = random.Random(seed), {}

    def sample(instance, index):
        block = instance.block
        level = starts.setdefault(block.number, draw.gauss(0, of_start))
        arm = math.log1p(slower) if block.arm == "candidate" else 0.0
        noise = draw.gauss(0, of_request)
        return timed(100 * math.exp(level + arm + noise + drift * block.number), index)

    return sample


def verdicts(finding):
    """The verdict of every gate by id, computed as the pages do."""
    return {gate.id: judge(gate, finding, lambda _: None).verdict.value for gate in finding.gates}
