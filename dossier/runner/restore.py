"""Putting the baseline back: its server up, every other one down, and checks that say what is there now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from dossier.errors import DossierError
from dossier.runner.arms import Block, Restore, Target
from dossier.runner.identity import changed, identify
from dossier.runner.outcome import Outcome
from dossier.runner.plan import Plan, api_key
from dossier.runner.probes import PROBES
from dossier.runner.probes.basic import Chat
from dossier.runner.servermetrics import in_flight
from dossier.runner.servers import Servers
from dossier.runner.session import Budget, Session
from dossier.runner.state import State
from dossier.wire import dialect
from dossier.wire.client import Limits, connect

_SECONDS = 600.0
_LIMITS = Limits(deadline_s=120.0, idle_s=60.0)


@dataclass(frozen=True, slots=True)
class Put:
    """What was found after the baseline was put back; `identity` lists what is not as it was before the run.

    `direct` and `routed` are passed and planned preflight requests; None where there is no such way, or where the
    server does not say how many requests are active.
    """

    arm: str
    identity: list[str]
    direct: tuple[int, int]
    routed: tuple[int, int] | None
    active: int | None


async def restore(
    plan: Plan, servers: Servers, state: State, write: Callable[..., None], at: Callable[[], str]
) -> None:
    """Put back what the plan says, or at least stop what this run has started; journalled, whatever comes of it."""
    wanted = plan.restore
    if wanted is None:
        for arm in [*state.serving]:
            await servers.down(arm)
        return
    try:
        for arm in [*state.serving]:
            if arm != wanted.arm:
                await servers.down(arm)
        running = state.serving.get(wanted.arm)
        await servers.up(Block(running["block"] if running else 0, wanted.arm, 0))
        put = await _checked(plan, wanted, state.identities.get(wanted.arm))
        write("restoration", at=at(), **asdict(put))
    except DossierError as error:
        write("restoration", at=at(), arm=wanted.arm, failed=str(error))


async def _checked(plan: Plan, wanted: Restore, first: Mapping[str, Any] | None) -> Put:
    side = plan.sides[wanted.arm]
    async with connect(side.base_url, api_key=api_key(side), limits=_LIMITS) as client:
        session = await _session(client, side, plan)
        told = await identify(session)
        direct = await _preflight(session, wanted.requests)
        active = await in_flight(client, session.detection)
    routed = None
    if wanted.routed is not None:
        async with connect(wanted.routed.base_url, api_key=api_key(wanted.routed), limits=_LIMITS) as client:
            routed = await _preflight(await _session(client, wanted.routed, plan), wanted.requests)
    wrong = changed(first["server"], told) if first is not None else ["it was never identified before"]
    return Put(wanted.arm, wrong, direct, routed, active)


async def _session(client: Any, target: Target, plan: Plan) -> Session:
    detection = dialect.detect(await dialect.observe(client))
    return Session(client, target.model, detection, Budget(1000, 10**6, _SECONDS), f"{plan.digest}/restore")


async def _preflight(session: Session, requests: int) -> tuple[int, int]:
    spec = Chat.model_validate({"id": "preflight", "probe": "chat"})
    samples = [await PROBES["chat"].ask(session, spec, index) for index in range(requests)]
    return sum(sample.outcome is Outcome.PASSED for sample in samples), requests
