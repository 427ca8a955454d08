"""What was held fixed and what was varied between arms, as observed and as declared; attribution follows from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dossier.runner.told import Told

_TOLD = {
    "dialect": "engine", "version": "engine version", "model": "served name", "context": "context tokens",
    "template_sha256": "chat template", "slots": "engine sequences", "model_file": "model file",
    "model_revision": "model revision", "fingerprint": "fingerprint", "root": "model root", "ftype": "weights format",
}  # fmt: skip
_FIELDS = ("parallelism", "engine_sequences", "batch_tokens", "kv_dtype", "prefix_cache", "speculation", "quantization",
           "runtime", "artifacts", "gpus", "links", "host")  # fmt: skip
_SHOWN = 200


def boundary(told: Told) -> dict[str, Any] | None:
    """The boundary between the arms; None for a plan of one target."""
    arms = told.seen
    if told.plan.arms is None or len(arms) < 2:
        return None
    axes = {name: [_axes(told, arm).get(name) for arm in arms] for name in _names(told, arms)}
    fixed = [f"{name}: {values[0]}" for name, values in axes.items() if len(set(values)) == 1 and values[0]]
    varied = [_varied(name, arms, values) for name, values in axes.items() if len(set(values)) > 1]
    course = told.plan.course
    return {
        "fixed": [line[:_SHOWN] for line in fixed],
        "varied": [line[:_SHOWN] for line in _merged(varied)],
        "attribution": {0: "none", 1: "single-variable"}.get(len(_merged(varied)), "whole-profile"),
        "order": f"{course.order}, {course.starts} starts an arm" if course.starts > 1 else str(course.order),
        "note": "Computed from what the servers told of themselves, from the commands that started them, and from what "
        "the plan declares. What none of these shows may differ as well.",
    }


def flags_of(told: Told, arm: str) -> list[str]:
    """The flags of an arm: as declared, else as they stand in its start command, each with its value."""
    declared = told.plan.declared_of(arm).flags
    if declared or told.plan.arms is None:
        return list(declared)
    return _flags(told.plan.sides[arm].start)


def _flags(command: tuple[str, ...]) -> list[str]:
    found: list[str] = []
    for word in command:
        if word.startswith("--"):
            found.append(word)
        elif found and " " not in found[-1] and "=" not in found[-1]:
            found[-1] = f"{found[-1]} {word}"
    return found


def _names(told: Told, arms: list[str]) -> list[str]:
    return list(dict.fromkeys(name for arm in arms for name in _axes(told, arm)))


def _axes(told: Told, arm: str) -> Mapping[str, str]:
    """Everything that could differ, by name, in words."""
    return dict(_each(told, arm))


def _each(told: Told, arm: str) -> Iterator[tuple[str, str]]:
    side, server, declared = told.plan.sides[arm], told.server(arm), told.plan.declared_of(arm)
    yield "path", side.path.value
    for name, words in _TOLD.items():
        if name in server:
            yield words, str(server[name])
    data = declared.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)
    for name in _FIELDS:
        if data.get(name):
            yield f"declared {name.replace('_', ' ')}", _words(data[name])
    for flag in flags_of(told, arm):
        name, _, value = flag.replace("=", " ", 1).partition(" ")
        switched_off = name.startswith("--no-")
        yield f"flag --{name.removeprefix('--no-').lstrip('-')}", value or ("no" if switched_off else "given")
    for kind, values in (("setting", declared.settings), ("variable", declared.environment)):
        for name, value in values.items():
            yield f"{kind} {name}", value


def _words(value: Any) -> str:
    """A declared value on one line: `engine vLLM, version 0.26.0`."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_words(item)}" for key, item in value.items())
    return "; ".join(map(_words, value)) if isinstance(value, list) else str(value)


def _varied(name: str, arms: list[str], values: list[str | None]) -> str:
    return f"{name}: " + ", ".join(f"{arm} {value or 'not given'}" for arm, value in zip(arms, values, strict=True))


def _merged(varied: list[str]) -> list[str]:
    """One flag and one declared field that differ, and nothing else, are one thing said twice."""
    flags = [line for line in varied if line.startswith("flag ")]
    fields = [line for line in varied if line.startswith("declared ")]
    if len(flags) == len(fields) == 1 and len(varied) == 2:
        return [f"{fields[0]} ({flags[0]})"]
    return varied
