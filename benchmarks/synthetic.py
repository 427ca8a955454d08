"""Synthetic evidence: N findings of about 110 lines over a few models, valid, with pins, links and decisions."""

from __future__ import annotations

import random
import sys
from datetime import date, timedelta
from pathlib import Path

MODELS = 20
_WORDS = [
    "candidate",
    "baseline",
    "arm",
    "route",
    "prompt",
    "decode",
    "prefill",
    "memory",
    "window",
    "cache",
    "draft",
    "engine",
    "template",
    "router",
    "client",
    "retrieval",
    "answer",
    "budget",
    "token",
    "stream",
    "reserve",
    "gate",
    "bounded",
    "matched",
    "retained",
    "measured",
    "visible",
    "long",
    "short",
]


def write_evidence(folder: Path, count: int, seed: int = 7) -> None:
    """Write `count` findings and the records they rest on under a folder; the same seed gives the same bytes."""
    draw = random.Random(seed)
    for model in range(min(MODELS, count)):
        _write(folder / "models" / f"model-{model}.yaml", _model(model))
        _write(folder / "identities" / f"identity-{model}.yaml", _identity(model, draw))
        for side in ("a", "b"):
            _write(folder / "recipes" / f"recipe-{model}-{side}.yaml", _recipe(model, side))
    _write(folder / "hardware" / "two-cards.yaml", _HARDWARE)
    for number in range(count):
        day = date(2016, 1, 1) + timedelta(days=number * 3650 // max(count, 1))
        _write(folder / "findings" / f"{_id(number, day)}.yaml", _finding(number, day, count, draw))


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")


def _id(number: int, day: date) -> str:
    return f"{day.isoformat()}-run-{number:05d}"


def _hex(draw: random.Random, digits: int) -> str:
    return f"{draw.getrandbits(4 * digits):0{digits}x}"


def _text(draw: random.Random, words: int) -> str:
    return " ".join(draw.choice(_WORDS) for _ in range(words)).capitalize() + "."


def _model(number: int) -> str:
    return f"""schema: dossier/model/v1
id: model-{number}
name: Model {number}
scope: A synthetic model for benchmarks.
lanes:
  - {{id: text, title: Text, scope: Text and tools.}}
"""


def _identity(number: int, draw: random.Random) -> str:
    return f"""schema: dossier/identity/v1
id: identity-{number}
title: Identity {number}
artifacts:
  - role: target
    repo: example/model-{number}
    revision: {_hex(draw, 40)}
    license: Apache-2.0
    files:
      - {{path: model-00001.safetensors, bytes: 4964101384, sha256: {_hex(draw, 64)}}}
      - {{path: model-00002.safetensors, bytes: 4964101384, sha256: {_hex(draw, 64)}}}
runtime:
  engine: vLLM
  version: 0.26.0
  image: {{repo: example/vllm, digest: "sha256:{_hex(draw, 64)}"}}
served_name: model-{number}
quantization: {{weights: W4A16, kv: FP8}}
"""


def _recipe(model: int, side: str) -> str:
    return f"""schema: dossier/recipe/v1
id: recipe-{model}-{side}
title: Recipe {model} {side.upper()}
models: [model-{model}]
identity: identity-{model}
hardware: two-cards
context_tokens: 131072
output_reserve_tokens: 8192
concurrency: {4 if side == "a" else 8}
kv_dtype: FP8
parallelism: TP2
modalities: [text, tools]
"""


_HARDWARE = """schema: dossier/hardware/v1
id: two-cards
title: Two cards
gpus:
  - {name: Card, count: 2, memory: 96 GB}
links:
  - {kind: PCIe, state: available}
host: {os: Linux, driver: 580.1, cuda: 13.0, memory: 256 GB}
"""


def _finding(number: int, day: date, count: int, draw: random.Random) -> str:
    model = number % min(MODELS, count)
    before = number - min(MODELS, count)
    lines = [
        "schema: dossier/finding/v1",
        f"id: {_id(number, day)}",
        f"title: Run {number} of model {model}, candidate against baseline",
        f"date: {day.isoformat()}",
        "kind: qualification",
        "provenance: transcribed",
        f"models: [model-{model}]",
        "summary: >",
        f"  {_text(draw, 18)} Decode changed by [[decode-4k]] at 4K; the strict turnover passed [[turnover-b]].",
        f"why_it_matters: {_text(draw, 14)}",
        f"caveat: {_text(draw, 16)} It holds for [[candidate-4k.planned]] requests.",
        "arms:",
        f"  candidate: {{recipe: recipe-{model}-b, path: direct}}",
        f"  baseline: {{recipe: recipe-{model}-a, path: direct}}",
        "boundary:",
        "  fixed: [weights, context, parallelism]",
        "  varied: [concurrency]",
        "  attribution: single-variable",
        "populations:",
    ]
    short = draw.randrange(400)
    for arm in ("candidate", "baseline"):
        for cell, tokens in (("4k", 4096), ("32k", 32768), ("120k", 120000)):
            lines += [
                f"  - id: {arm}-{cell}",
                f"    arm: {arm}",
                "    class: performance",
                f"    target_tokens: {tokens}",
                f"    prompt_tokens: {tokens - short}",
                "    planned: 12",
                "    completed: 12",
                "    concurrency: 1",
                "    load: serial",
                "    cache: unique",
            ]
    passed = draw.randrange(55, 61)
    lines += [
        "  - id: turnover-b",
        "    arm: candidate",
        "    class: endurance",
        "    planned: 60",
        "    completed: 60",
    ]
    lines += [f"    passed: {passed}", "measurements:"]
    for arm in ("candidate", "baseline"):
        for cell in ("4k", "32k", "120k"):
            for metric, value, unit in (
                ("decode_rate", draw.uniform(40, 160), "tok/s"),
                ("ttft_visible", draw.uniform(0.1, 9), "s"),
            ):
                name = f"{arm}-{cell}-{metric.split('_')[0]}"
                figure = f"value: {value:.2f} {unit}, n: 12, population: {arm}-{cell}"
                lines.append(f"  - {{id: {name}, metric: {metric}, statistic: median, {figure}, arm: {arm}}}")
    lines.append("comparisons:")
    for metric in ("decode", "ttft"):
        for cell in ("4k", "32k", "120k"):
            sides = f"candidate: candidate-{cell}-{metric}, baseline: baseline-{cell}-{metric}"
            lines.append(f"  - {{id: {metric}-{cell}, {sides}, matched: [prompt size, requests]}}")
    lines += [
        "gates:",
        "  - {id: strict-turnover, title: Strict turnover, require: at least 58 passed, subject: turnover-b,",
        "     predeclared: true}",
        "decisions:",
        "  - id: decide",
        f"    outcome: {'promote' if before < 0 else 'no-promotion'}",
        "    lanes: [text]",
        f"    recipe: recipe-{model}-{'a' if before < 0 else 'b'}",
        "    human_approval: true",
        f"    reason: {_text(draw, 10)}",
        "limits:",
        f"  - {_text(draw, 14)}",
        "  - Populations of [[candidate-4k.planned]] describe these runs.",
        "not_attempted:",
        f"  - {{what: Routed gate, because: {_text(draw, 6)}}}",
    ]
    if before >= 0:
        earlier = date(2016, 1, 1) + timedelta(days=before * 3650 // max(count, 1))
        lines.append(f"links: {{follows: [{_id(before, earlier)}]}}")
    lines += ["sources:", f"  - {{title: Synthetic page {number}, published: {day.isoformat()}}}"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    write_evidence(Path(sys.argv[1]), int(sys.argv[2]))
