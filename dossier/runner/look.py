"""A first look at a server, before there is a plan: which dialect, which models, how much context."""

from __future__ import annotations

from dataclasses import dataclass

from dossier.errors import UsageError
from dossier.wire import api
from dossier.wire.client import Client, Limits, connect
from dossier.wire.dialect import Detection, detect, observe
from dossier.wire.loop import run

_LIMITS = Limits(deadline_s=20.0, idle_s=10.0, connect_s=5.0)


@dataclass(frozen=True, slots=True)
class Seen:
    """What a plan can be written from. `context` is None where the server does not say it."""

    base_url: str
    model: str
    context: int | None
    detection: Detection


def look(base_url: str, model: str | None, api_key: str | None) -> Seen:
    """Ask a server for what it serves; nothing is generated. Raises WireError, UsageError."""
    return run(_look(base_url, model, api_key))


async def _look(base_url: str, model: str | None, api_key: str | None) -> Seen:
    async with connect(base_url, api_key=api_key, limits=_LIMITS) as client:
        reply, served = await api.models(client)
        if reply.failure is not None:
            raise UsageError(f"{base_url} gives no list of models: {reply.failure.message}")
        chosen = _chosen(model, served)
        detection = detect(await observe(client))
        return Seen(base_url, chosen.id, chosen.context or await _context(client), detection)


def _chosen(model: str | None, served: tuple[api.ServedModel, ...]) -> api.ServedModel:
    served = tuple(e for e in served if e.id.strip() and e.id.isprintable())  # no plan can hold another name
    names = ", ".join(entry.id for entry in served[:20]) or "none"
    if model is None and len(served) == 1:
        return served[0]
    found = next((entry for entry in served if entry.id == model), None)
    if found is None:
        asked = f"the model {model!r} is not among those served" if model else "choose a --model"
        raise UsageError(f"{asked}; the server lists: {names}")
    return found


async def _context(client: Client) -> int | None:
    """Text Generation Inference says it in a place of its own."""
    reply = await api.get_json(client, f"{client.target.root}/info")
    value = reply.data.get("max_total_tokens") if isinstance(reply.data, dict) else None
    return value if isinstance(value, int) else None
