"""`dossier run`: journal, record, check."""

from __future__ import annotations

import sys
import tempfile
from contextlib import ExitStack
from itertools import chain, count
from pathlib import Path

import click
from rich.console import Console

from dossier.cli.check import show_problems
from dossier.cli.record import keep
from dossier.derive.gates import judge
from dossier.errors import UsageError
from dossier.model.finding import Finding
from dossier.model.vocabulary import Completion, Verdict
from dossier.runner.display import estimate_table, result_table, watching
from dossier.runner.engine import Run
from dossier.runner.journal import Journal
from dossier.runner.plan import Plan, api_keys, around, base_urls, estimate, load_plan, read_plan
from dossier.runner.scrub import Scrub
from dossier.runner.state import State, require_same_plan, state_of

_INTERRUPTED = 130
_SIGNALS = {"interrupted", "terminated"}


@click.command()
@click.argument("plan_file", metavar="[PLAN]", required=False, type=click.Path(path_type=Path))
@click.option("--journal", type=click.Path(path_type=Path), help="Where the journal goes [default: ID.journal.jsonl].")
@click.option("--resume", is_flag=True, help="Go on with a journal that was interrupted.")
@click.option("--restore", is_flag=True, help="With --resume: only put the baseline back, and measure nothing more.")
@click.option("--evidence", default="evidence", show_default=True, type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Say what would be sent and what it costs; send nothing.")
@click.option("--local", is_flag=True, help="Without a plan: start a small real model here, and smoke-test it.")
def run(
    plan_file: Path | None,
    journal: Path | None,
    evidence: Path,
    *,
    resume: bool,
    restore: bool,
    dry_run: bool,
    local: bool,
) -> None:
    """Run PLAN against its server, make the finding, and check it.

    Ctrl-C once ends after the requests in flight, twice at once; --resume goes on with the same journal. A plan with
    several arms is a campaign: its servers are started and stopped as it says, and the baseline is put back in any
    case. Exit status: 0 where everything passed, 1 where anything did not, 2 usage or I/O, 130 interrupted.
    """
    if local == (plan_file is not None):
        raise UsageError("name a plan (`dossier plan` writes one), or ask for --local")
    if restore and not resume:
        raise UsageError("--restore goes with --resume: the journal says what was there before")
    if local and resume:
        raise UsageError("--local starts a server anew, which a journal cannot go on with; leave out --resume")
    with ExitStack() as stack:
        plan = _local(stack, evidence) if plan_file is None else _read(plan_file)
        if dry_run:
            _dry(plan)
            return
        file = journal or Path(f"{plan.id}.journal.jsonl")
        stopped = _journal(plan, file, resume=resume, only_restore=restore)
    if stopped is not None:
        again = "" if local else "--resume goes on with it, "
        click.echo(f"{file} is kept: {again}`dossier record` makes a finding of what is there", err=True)
        sys.exit(_INTERRUPTED if stopped in _SIGNALS else 1)
    recorded, problems = keep([file], evidence)
    Console(stderr=True).print(result_table(recorded.finding))
    click.echo(f"{evidence / recorded.path}", err=True)
    sys.exit(problems or fell_short(recorded.finding))


def fell_short(finding: Finding) -> bool:
    """Did anything fail: a request, a gate, or the run itself?"""
    missed = any(population.passed != population.planned for population in finding.populations)
    gates = [judge(gate, finding, lambda _: None).verdict for gate in finding.gates]
    return missed or finding.completion is not Completion.CONCLUDED or any(v is not Verdict.PASS for v in gates)


def _read(file: Path) -> Plan:
    plan, problems = load_plan(file)
    if plan is None:
        show_problems(problems, 1)
        sys.exit(1)
    return plan


def _local(stack: ExitStack, evidence: Path) -> Plan:
    from dossier.runner.local import PLAN, local_plan, serving  # noqa: PLC0415  (only this option needs the extra)

    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dossier-")))
    click.echo("starting llama.cpp with a base Gemma 3 270M on this machine", err=True)
    served = stack.enter_context(serving(folder))
    names = chain([PLAN], (f"{PLAN}-{number}" for number in count(2)))
    name = next(name for name in names if _free(name, evidence))
    plan, problems = read_plan(local_plan(served, name), "local plan")
    if plan is None:
        raise UsageError("; ".join(map(str, problems)))
    return plan


def _free(name: str, evidence: Path) -> bool:
    """Is there neither a journal nor a finding of this name? One run does not write over another."""
    return not Path(f"{name}.journal.jsonl").exists() and not any(evidence.glob(f"findings/*-{name}.yaml"))


def _dry(plan: Plan) -> None:
    console = Console()
    populations, beside = estimate(plan), around(plan)
    console.print(estimate_table(populations, beside))
    bounds = plan.bounds
    money = f", {bounds.money:f} in money" if bounds.money is not None else ""
    click.echo(
        f"Bounded at {bounds.requests:,} requests (readings of server metrics apart), {bounds.tokens:,} tokens{money} "
        f"and {bounds.seconds:,} s a session."
    )
    if bounds.price is not None:
        dearest = max(bounds.price.prompt, bounds.price.output)
        most = sum(item.tokens for item in (*populations, *beside)) * dearest / 1_000_000
        click.echo(f"At its price the tokens above cost {most:.4f} at most.")
    click.echo(f"Plan digest: {plan.digest}. Nothing was sent.")


def _journal(plan: Plan, file: Path, *, resume: bool, only_restore: bool) -> str | None:
    """Run, or go on; gives the reason where it stopped before its end."""
    scrub = Scrub.of(api_keys(plan), base_urls(plan))
    console = Console(stderr=True)
    if resume:
        journal, reading = Journal.reopen(file, scrub)
        state = state_of(reading.entries)
        if reading.torn:
            console.print(f"the last line was torn ({reading.torn} bytes) and is cut off", highlight=False)
    else:
        journal, state = Journal.create(file, scrub), State()
    with journal, watching(plan, console) as watcher:
        if resume:
            require_same_plan(state, plan)
        going = Run(plan, journal, state, watcher, only_restore=only_restore)
        going.go()
    return "only the baseline was put back" if only_restore else going.halt.reason
