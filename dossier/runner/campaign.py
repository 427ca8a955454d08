"""What a finding of several arms says beyond one of a single target: outcome, limits, failures, restoration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dossier.model.vocabulary import Load
from dossier.runner.compare import Sided
from dossier.runner.judged import Unit
from dossier.runner.probes import probe_of
from dossier.runner.remarks import JOURNAL
from dossier.runner.told import Told

_FEW_STARTS = 3
_FEW_REQUESTS = 12
_NOT_SAID = "The server does not say how many requests are active."


def campaign_summary(told: Told, sided: Sequence[Sided]) -> str:
    """What was compared and what came out, every figure by reference."""
    arms = [f"`{arm}`" for arm in told.plan.sides]
    parts = [f"A campaign `{told.plan.id}` of the arms {' and '.join(arms)}, {told.plan.course.order.meaning}."]
    if told.plan.gates:
        parts.append(f"Gates: {', '.join(f'`{gate.id}` [[{gate.id}]]' for gate in told.plan.gates)}.")
    shown = [f"`{one.planned.id}` [[{one.planned.id}]]" for one in sided if one.n and one.excluded is None]
    if shown:
        parts.append(f"Candidate against baseline: {', '.join(shown)}.")
    if told.state.repeats:
        names = ", ".join(f"[[{name}]] after [[{of}]]" for name, of in sorted(told.state.repeats.items()))
        parts.append(f"The one repeat that was declared, both results kept: {names}.")
    if told.stopped is not None:
        parts.append(f"The campaign did not end as planned: `{told.stopped}`.")
    parts.append("The run itself decides nothing: that is for a human.")
    return " ".join(parts)


def campaign_limits(told: Told, sided: Sequence[Sided]) -> list[dict[str, Any]]:
    """Limits that follow from the numbers: few starts, few requests, no tail of a closed load."""
    if told.plan.arms is None:
        return []
    few: dict[str, list[str]] = {}
    for one in sided:
        if one.n and (text := _few(told, one)) is not None:
            few.setdefault(text, []).append(one.planned.id)
    found: list[dict[str, Any]] = [{"text": text, "binds": ids} for text, ids in few.items()]
    timed = [spec for spec in told.specs if probe_of(spec).timed and told.samples(spec.id)]
    closed = [spec.id for spec in timed if getattr(spec, "rate", None) is None]
    if closed:
        text = f"No service tail: under a {Load.CLOSED} load no percentile says what clients of a service meet."
        found.append({"text": text, "binds": closed})
    small = [spec.id for spec in timed if spec.requests < _FEW_REQUESTS]
    if small:
        found.append({"text": "Fewer than a dozen requests a cell: descriptive only.", "binds": small})
    return found


def _few(told: Told, one: Sided) -> str | None:
    if told.plan.subjects.unit_of(one.planned) is Unit.REQUEST:
        return (
            "Pairs of requests of these server starts: no claim about the configuration, which another start may show."
        )
    if one.n < _FEW_STARTS:
        return f"n={one.n} server starts an arm: wide intervals; a claim about the configuration wants {_FEW_STARTS}."
    return None


def failures(told: Told) -> list[dict[str, Any]]:
    """Servers that were lost, and blocks that are void."""
    found: list[dict[str, Any]] = []
    for event, what in (("server-lost", "The server was lost"), ("void", "The server turned into another")):
        for entry in told.reading.of(event):
            if "arm" in entry:
                found.append({
                    "id": f"{event}-{len(found) + 1}",
                    "what": f"{what} in block {entry['block']}, of arm `{entry['arm']}`.",
                    "stage": "measurement",
                    "class": "serving" if event == "server-lost" else "identity",
                    "excerpt": str(entry["why"]),
                    "cause": {"unknown": "The runner sees only that nobody answers, or who does."},
                })  # fmt: skip
    return found


def restoration(told: Told, recipes: Mapping[str, str]) -> dict[str, Any] | None:
    """What was put back at the end, and what the checks said."""
    entries = told.reading.of("restoration")
    if told.plan.restore is None:
        return None
    recipe = recipes.get(told.plan.restore.arm) or {"unknown": "The server of this arm never answered."}
    if not entries:
        return {"recipe": recipe, "note": "The run ended before the baseline was put back."}
    entry = entries[-1]
    if "failed" in entry:
        return {"recipe": recipe, "at": entry["at"], "by": "the runner", "identity_equal": False,
                "note": f"The baseline was not put back: `{entry['failed']}`."}  # fmt: skip
    ways = [("direct preflight", entry["direct"]), ("routed preflight", entry.get("routed"))]
    checks = [{"what": what, "passed": way[0], "planned": way[1]} for what, way in ways if way is not None]
    if entry.get("routed") is None:
        checks.append({"what": "routed preflight", "note": "The plan names no routed way."})
    active = entry.get("active")
    return {
        "recipe": recipe,
        "at": entry["at"],
        "by": "the runner",
        "identity_equal": not entry["identity"],
        "active_requests": active if active is not None else {"unknown": _NOT_SAID},
        "checks": checks,
        "note": f"Not as before: `{'; '.join(entry['identity'])}`." if entry["identity"] else None,
    }


def not_compared(sided: Sequence[Sided]) -> list[dict[str, Any]]:
    """Comparisons that were declared and have nothing to compare."""
    return [
        {"what": one.planned.title or one.planned.id, "because": "The two sides have no pair of values."}
        for one in sided
        if not one.n
    ]


def starts(told: Told) -> list[dict[str, Any]]:
    """How long every server start took until it answered."""
    return [
        {
            "id": f"ready-{entry['arm']}-{number}",
            "what": f"From the start command to the first reply, arm `{entry['arm']}`.",
            "value": f"{entry['seconds']} s",
            "class": "operational",
            "arm": entry["arm"],
            "artifact": JOURNAL,
        }
        for number, entry in enumerate(told.reading.of("server-ready"), 1)
    ]
