"""What a finding stands on: model, identity, hardware and recipe records, from what was told and what was declared.

An id ends in the digest of what the record holds, so equal observations are one record and different ones never
share a file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from dossier.digest import digest_of
from dossier.runner.arms import Declared
from dossier.runner.plan import Plan

_NOT_TOLD = "The server does not tell it, and the plan does not declare it."
_ELSEWHERE = "The server runs on another machine, which tells nothing about itself; the plan does not declare it."
_NOT_FOUND = "This machine does not tell it, and the plan does not declare it."


def unknown(why: str) -> dict[str, str]:
    """A value that is not known, with its reason."""
    return {"unknown": why}


def model_record(plan: Plan) -> dict[str, Any]:
    """A first record of the model, for a project that has none."""
    return {
        "schema": "dossier/model/v1",
        "id": plan.subject,
        "name": plan.declared.model_name or plan.subject,
        "scope": "Written by the runner with the first finding. Say here what the dossier covers and what not.",
        "lanes": [{"id": "text", "title": "Text"}],
    }


def identity_record(subject: str, declaration: Declared, told: Mapping[str, Any]) -> dict[str, Any]:
    """What exactly was served, as far as it is known."""
    declared = _plain(declaration)
    quantization = declared.get("quantization") or {"weights": told.get("ftype") or unknown(_NOT_TOLD)}
    record = {
        "title": f"{told['model']} as served by {_engine(told)}",
        "artifacts": declared.get("artifacts") or [_target(told)],
        "runtime": _pinned(declared["runtime"]) if "runtime" in declared else _runtime(told),
        "served_name": told["model"],
        "template_sha256": told.get("template_sha256") or unknown(_NOT_TOLD),
        "quantization": quantization,
        "license": declared.get("license"),
        "notes": _identity_notes(declared, told),
    }
    return _named("dossier/identity/v1", f"{subject}-{_slug(_engine(told))}", record)


def hardware_record(declaration: Declared, here: Mapping[str, Any], *, local: bool) -> dict[str, Any]:
    """The server's machine: this one where it runs here, else what the plan declares of it."""
    declared = _plain(declaration)
    why = _NOT_FOUND if local else _ELSEWHERE
    seen = _host(here) if local else {}
    host = {**{name: unknown(why) for name in ("os", "cpu", "memory")}, **seen, **declared.get("host", {})}
    gpus = declared.get("gpus") or (_gpus(here) if local else [])
    title = declaration.hardware_title or _hardware_title(gpus, host)
    record = {
        "title": title,
        "gpus": gpus,
        "links": declared.get("links"),
        "host": host,
        "co_resident": declared.get("co_resident"),
        "client": "the same machine" if local else f"another machine: {here.get('os', 'unknown system')}",
        "notes": None if gpus or local else "Which cards the server has, if any, is not known.",
    }
    return _named("dossier/hardware/v1", _slug(title), record)


def recipe_record(
    subject: str, declaration: Declared, told: Mapping[str, Any], on: tuple[str, str], context: int | None,
    flags: Sequence[str], *, arm: str | None,
) -> dict[str, Any]:  # fmt: skip
    """What was set, as far as it could be seen or was declared; `on` are the ids of identity and hardware.

    `arm` is the title of the arm, where a plan has several.
    """
    declared = _plain(declaration)
    record: dict[str, Any] = {
        "title": ": ".join(filter(None, (f"{told['model']} on {_engine(told)}", arm))),
        "models": [subject],
        "identity": on[0],
        "hardware": on[1],
        "context_tokens": told.get("context") or context or unknown(_NOT_TOLD),
        "engine_sequences": declaration.engine_sequences or told.get("slots") or unknown(_NOT_TOLD),
        "modalities": ["text", *(name for name in told.get("modalities", ()) if name != "text")],
    }
    for name in ("parallelism", "kv_dtype", "prefix_cache", "speculation"):
        record[name] = declared.get(name) or unknown(_NOT_TOLD)
    for name in ("batch_tokens", "environment", "flags", "settings"):
        record[name] = declared.get(name) if name != "flags" else list(flags) or None
    record["settings"] = {**told.get("parsers", {}), **(record["settings"] or {})}
    return _named("dossier/recipe/v1", f"{subject}-{_slug(_engine(told))}", record)


def _plain(declaration: Declared) -> dict[str, Any]:
    return declaration.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def _named(schema: str, stem: str, record: dict[str, Any]) -> dict[str, Any]:
    digest = digest_of({"schema": schema, **record}).removeprefix("sha256:")
    return {"schema": schema, "id": f"{stem[:80].rstrip('-._')}-{digest[:8]}", **record}


def _engine(told: Mapping[str, Any]) -> str:
    return str(told["dialect"]) if told["dialect"] != "unknown" else "an unrecognised server"


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.") or "unnamed"


def _target(told: Mapping[str, Any]) -> dict[str, Any]:
    labels = [str(told[name]) for name in ("model_file", "root", "model_revision") if told.get(name)]
    sizes = {"n_params": "parameters", "size": "bytes of weights"}
    said = ", ".join(f"{word}: `{told[name]}`" for name, word in sizes.items() if name in told)
    return {
        "role": "target",
        "name": told["model"],
        "revision": unknown(_NOT_TOLD),
        "license": unknown(_NOT_TOLD),
        "labels": labels,
        "note": f"As the server tells it: {said}." if said else None,
    }


def _pinned(runtime: dict[str, Any]) -> dict[str, Any]:
    """A declared runtime; where nothing pins it, that is said."""
    return runtime if {"image", "commit"} & runtime.keys() else {**runtime, "commit": unknown(_NOT_TOLD)}


def _runtime(told: Mapping[str, Any]) -> dict[str, Any]:
    labels = [f"fingerprint {told['fingerprint']}"] if told.get("fingerprint") else []
    version = told.get("version")
    known = version if version and "unknown" not in version else unknown(f"The server says {version!r}.")
    return {
        "engine": _engine(told) if told["dialect"] != "unknown" else unknown("The server matches no known dialect."),
        "version": known if version else unknown(_NOT_TOLD),
        "commit": unknown(_NOT_TOLD),
        "labels": [*labels, *([told["image_label"]] if told.get("image_label") else [])],
    }


def _identity_notes(declared: Mapping[str, Any], told: Mapping[str, Any]) -> str:
    named = [name for name in ("artifacts", "runtime", "quantization") if name in declared]
    said = f"Declared by the operator: {', '.join(named)}. " if named else ""
    signs = "; ".join(f"`{sign}`" for sign in told["signs"])
    return f"{said}The rest is what the server told. The dialect was recognised by {signs or 'nothing'}."


def _host(here: Mapping[str, Any]) -> dict[str, Any]:
    cores = f", {here['cores']} cores" if here.get("cores") else ""
    found = {
        "os": f"{here['os']}, kernel {here['kernel']}" if "os" in here else None,
        "virtualization": here.get("virtualization"),
        "container": here.get("container"),
        "cpu": f"{here['cpu']}{cores}" if "cpu" in here else None,
        "memory": f"{here['memory_mib']} MiB" if "memory_mib" in here else None,
        "swap": f"{here['swap_mib']} MiB" if "swap_mib" in here else None,
        "driver": here.get("driver"),
        "cuda": here.get("cuda"),
    }
    return {name: value for name, value in found.items() if value is not None}


def _gpus(here: Mapping[str, Any]) -> list[dict[str, Any]]:
    cards = [(card.get("name") or "unnamed card", card["memory_mib"], card.get("power_limit_w"))
             for card in here.get("gpus", ())]  # fmt: skip
    return [
        {"name": name, "count": cards.count((name, memory, watts)), "memory": f"{memory} MiB",
         "power_limit": f"{watts} W" if watts else None}
        for name, memory, watts in dict.fromkeys(cards)
    ]  # fmt: skip


def _hardware_title(gpus: list[dict[str, Any]], host: Mapping[str, Any]) -> str:
    if gpus:
        return ", ".join(f"{gpu.get('count', 1)} x {gpu['name']}" for gpu in gpus)
    cpu = host.get("cpu")
    return f"CPU only: {cpu}" if isinstance(cpu, str) else "A machine that tells nothing about itself"
