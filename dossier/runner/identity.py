"""Who answers: what the server tells about itself, asked before and after; a difference voids the run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from dossier.digest import sha256_hex
from dossier.runner.session import Session
from dossier.wire import api
from dossier.wire.dialect import Dialect
from dossier.wire.errors import WireError

_STABLE = (
    "model", "owned_by", "context", "dialect", "version", "fingerprint", "template_sha256", "slots", "model_file",
    "model_revision", "reply_model", "parsers",
)  # fmt: skip
MOST_REQUESTS = 3
"""Requests that `identify` sends: the list of models, the server's own page where it has one, one token of chat."""


async def identify(session: Session) -> dict[str, Any]:
    """Everything the server says that identifies it; a key is absent where it says nothing. Paths lose their folders.

    Raises WireError where nobody answers.
    """
    found: dict[str, Any] = {
        "dialect": session.detection.dialect.value,
        "signs": list(session.detection.evidence),
        "version": session.detection.version,
        "model": session.model,
    }
    session.budget.request()
    reply, served = await api.models(session.client)
    if reply.failure is not None and reply.status is None:
        raise WireError(reply.failure.kind, reply.failure.message)
    entry = next((model for model in served if model.id == session.model), None)
    found["listed"] = sorted(model.id for model in served)
    if entry is not None:
        found |= {"context": entry.context, "owned_by": entry.owned_by, **_of_entry(entry.raw)}
    found |= await _told(session)
    whole = await session.whole(session.body("Hello", 1))
    found |= {"fingerprint": whole.named.fingerprint, "reply_model": whole.named.model}
    return {name: value for name, value in found.items() if value is not None}


def changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """What identifies the server and is not as it was, in words."""
    return [
        f"{name} was {before.get(name)!r}, is {after.get(name)!r}"
        for name in _STABLE
        if before.get(name) != after.get(name)
    ]


def _of_entry(raw: Mapping[str, Any]) -> dict[str, Any]:
    meta = raw.get("meta")
    root = raw.get("root")
    found = {"root": _name_of(root)} if isinstance(root, str) else {}
    if isinstance(meta, Mapping):
        names = ("n_params", "size", "n_ctx_train", "n_vocab", "ftype")
        found |= {name: meta[name] for name in names if isinstance(meta.get(name), int | str)}
    return found


async def _told(session: Session) -> dict[str, Any]:
    match session.detection.dialect:
        case Dialect.LLAMA_CPP:
            return _props(await _get(session, "/props"))
        case Dialect.SGLANG:
            info = await _get(session, "/model_info")
            named = {"model_revision": info.get("weight_version"), "model_file": info.get("model_path")}
            found = {key: _name_of(value) for key, value in named.items() if isinstance(value, str)}
            return {**found, **_parsers(info)}
        case Dialect.TGI:
            info = await _get(session, "/info")
            named = {"model_revision": info.get("model_sha"), "image_label": info.get("docker_label")}
            return {key: value for key, value in named.items() if isinstance(value, str)}
        case _:
            return {}


def _parsers(info: Mapping[str, Any]) -> dict[str, Any]:
    """Which parsers make tool calls and reasoning out of the text, where the server says it."""
    names = {"tool-call parser": "tool_call_parser", "reasoning parser": "reasoning_parser"}
    told = {name: info[key] for name, key in names.items() if isinstance(info.get(key), str)}
    return {"parsers": told} if told else {}


def _props(props: Mapping[str, Any]) -> dict[str, Any]:
    template, path, slots = props.get("chat_template"), props.get("model_path"), props.get("total_slots")
    found: dict[str, Any] = {}
    if isinstance(template, str) and template:
        found["template_sha256"] = sha256_hex(template.encode())
    if isinstance(path, str) and path:
        found["model_file"] = _name_of(path)
    if isinstance(slots, int):
        found["slots"] = slots
    modalities = props.get("modalities")
    if isinstance(modalities, Mapping):
        found["modalities"] = sorted(str(name) for name, there in modalities.items() if there)
    return found


async def _get(session: Session, path: str) -> Mapping[str, Any]:
    reply = await session.get(session.client.target.root + path)
    return reply.data if isinstance(reply.data, Mapping) else {}


def _name_of(path: str) -> str:
    """The last part of a path: the folders above it are nobody's business. A repository name keeps its owner."""
    if path.count("/") == 1 and not path.startswith(("/", ".", "~")):
        return path
    return PureWindowsPath(path).name if "\\" in path else PurePosixPath(path).name
