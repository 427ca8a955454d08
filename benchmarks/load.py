"""What reading evidence costs: `read_document` and the cache against a bare libyaml-to-dict load.

    python benchmarks/load.py [FOLDER] [--rounds N]

The ways are alternated in one process over the same bytes; each round gives CPU milliseconds a file. Without a
folder, 300 synthetic findings of about 110 lines are made.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import yaml

from dossier.cache import Cache
from dossier.digest import canonical, sha256_hex
from dossier.source import read_document

NAMESPACE = "record/benchmark"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or write_findings(Path(scratch) / "findings", 300)
        texts = [path.read_bytes() for path in sorted(folder.rglob("*.yaml"))]
        if not texts:
            sys.exit(f"no *.yaml under {folder}")
        report(texts, measure(ways(texts, Path(scratch) / "cache.sqlite"), len(texts), options.rounds))


def ways(texts: list[bytes], store: Path) -> dict[str, Callable[[], object]]:
    """Each way reads every text once; the first is what the others are compared with."""
    keys = [sha256_hex(text) for text in texts]
    with Cache(store) as cache:
        cache.put_many(NAMESPACE, {key: canonical(read(text)) for key, text in zip(keys, texts, strict=True)})
    return {
        "yaml.load, CSafeLoader": lambda: [yaml.load(text, yaml.CSafeLoader) for text in texts],
        "read_document": lambda: [read(text) for text in texts],
        "read_document, one place": lambda: [place(text) for text in texts],
        "digest, cache, JSON": lambda: from_cache(texts, store),
    }


def read(text: bytes) -> object:
    document, problems = read_document(text, "finding.yaml")
    if document is None:
        sys.exit(str(problems[0]))
    return document.data


def place(text: bytes) -> object:
    document, _ = read_document(text, "finding.yaml")
    return document and document.locate(("title",))


def from_cache(texts: list[bytes], store: Path) -> list[object]:
    with Cache(store) as cache:
        found = cache.get_many(NAMESPACE, [sha256_hex(text) for text in texts])
    if len(found) != len(set(texts)):
        sys.exit("the cache lost an entry")
    return [json.loads(value) for value in found.values()]


def measure(tasks: dict[str, Callable[[], object]], files: int, rounds: int) -> dict[str, list[float]]:
    """CPU milliseconds a file in each round, one warm-up round apart."""
    spent: dict[str, list[float]] = {name: [] for name in tasks}
    for number in range(rounds + 1):
        for name, task in tasks.items():
            gc.collect()
            start = time.process_time()
            task()
            elapsed = time.process_time() - start
            if number:
                spent[name].append(elapsed * 1e3 / files)
    return spent


def report(texts: list[bytes], spent: dict[str, list[float]]) -> None:
    lines = statistics.median(len(text.splitlines()) for text in texts)
    size = statistics.median(map(len, texts))
    print(f"{len(texts)} files, median {lines:.0f} lines, {size:.0f} bytes; CPU ms a file")
    print(f"Python {platform.python_version()}, PyYAML {yaml.__version__}, {platform.machine()}")
    base = next(iter(spent.values()))
    print(f"{'way':26} {'median':>8} {'min':>8} {'max':>8} {'ratio':>7} {'min':>7} {'max':>7}  rounds")
    for name, values in spent.items():
        ratios = [value / other for value, other in zip(values, base, strict=True)]
        row = [f"{pick(values):8.3f}" for pick in (statistics.median, min, max)]
        row += [f"{pick(ratios):7.3f}" for pick in (statistics.median, min, max)]
        print(f"{name:26} {' '.join(row)}  {len(values)}")


def write_findings(folder: Path, count: int) -> Path:
    folder.mkdir()
    for number in range(count):
        (folder / f"2026-09-09-synthetic-{number:04}.yaml").write_text(finding(number), encoding="utf-8")
    return folder


def finding(number: int) -> str:
    """A finding in the manner that authors write: short flow mappings, some blocks, some prose."""
    return "".join((head(number), populations(number), measurements(number), tail(number)))


def head(number: int) -> str:
    return f"""\
schema: dossier/finding/v1
id: 2026-09-09-synthetic-{number:04}
title: Synthetic runtime {number} against its baseline
date: 2026-09-09
kind: qualification
completion: concluded
provenance: retained
models: [synthetic-model]
sources:
  - {{title: A synthetic source, published: 2026-09-09}}

arms:
  candidate: {{recipe: candidate-{number}, lane: direct}}
  baseline: {{recipe: baseline-{number}, lane: direct}}
boundary:
  fixed: [weights, tensor parallelism, context, concurrency, adaptive speculation, P2P on]
  varied: [runtime image, PCIe IPC, FP8 head, graphs, kernel settings]
  attribution: whole-profile

"""


def populations(number: int) -> str:
    flow = "".join(
        f"  - {{id: {arm}-{size}, arm: {arm}, class: performance, target_tokens: {size}, concurrency: 1,"
        f" planned: 12, completed: {12 - number % 2}}}\n"
        for size in (4096, 32768, 120000, 300000)
        for arm in ("candidate", "baseline")
    )
    block = "".join(
        f"""\
  - id: {arm}-turnover
    arm: {arm}
    class: endurance
    probe: strict-controlled-output
    planned: 60
    completed: 60
    passed: {58 - number % 5}
    misses:
      - {{index: {number % 60}, kind: word-count, observed: 33, expected: 32, finish: stop}}
      - {{index: unknown, kind: truncated, observed: 499 words, limit: 512 tokens, finish: length}}
    excluded: {{from: [performance], reason: strict-output-miss}}
"""
        for arm in ("candidate", "baseline")
    )
    return f"populations:\n{flow}{block}\n"


def measurements(number: int) -> str:
    rows = "".join(
        f"  - {{id: {metric}-{arm}, metric: {metric}, statistic: median, value: {100 + number % 50}.{digit}0,"
        f" unit: {unit}, n: 12, population: {arm}-4096}}\n"
        for digit, (metric, unit) in enumerate([("ttft_visible", "ms"), ("decode_rate", "tok/s"), ("e2e", "s")])
        for arm in ("candidate", "baseline")
    )
    comparisons = "".join(
        f"  - {{id: {metric}, metric: {metric}, candidate: {metric}-candidate, baseline: {metric}-baseline}}\n"
        for metric in ("ttft_visible", "decode_rate", "e2e")
    )
    return f"measurements:\n{rows}\ncomparisons:\n{comparisons}\n"


def tail(number: int) -> str:
    return f"""\
gates:
  - {{id: strict-turnover, population: candidate-turnover, require: all passed, declared: before the run}}

decision:
  lane: text-reference
  outcome: retain-baseline
  by: human
  exception: {{asked: true, granted: false}}

restoration: {{arm: baseline, direct: 2/2, routed: 2/2, active_requests: 0, restarts: 0, identity: equal}}
not_attempted:
  - {{what: routed gate of the candidate, because: "[[strict-turnover]] failed"}}
  - what: a second repeat
    because: the first repeat of run {number} gave the same class of misses
failures:
  - what: one start in three ran out of memory
    when: before the first request
    remedy: a smaller pool of graph memory
  - what: "the client closed a stream early: no terminal event"
    when: request {number}
    remedy: not retried, counted as a failure
artifacts:
  - path: journal.jsonl
    bytes: {81920 + number}
    sha256: {sha256_hex(str(number).encode())}
    media_type: application/jsonl
  - path: metrics.txt
    bytes: {4096 + number}
    sha256: {sha256_hex(str(-number).encode())}
    media_type: text/plain
links:
  - {{follows: 2026-09-08-synthetic-{number:04}}}
limits:
  - Populations of [[candidate-4096.n]] describe this run; no tail, no general runtime claim.
  - Nothing is claimed of concurrency above one.

caveat: >
  Faster is not qualified: the candidate gains [[decode_rate]] decode at long context, yet
  [[candidate-turnover]] of the strict turnover passed.
why: |
  The runtime replaces the kernels of the attention and of the head. A reader who runs
  the same hardware wants to know if the gain survives a strict output check.
"""


if __name__ == "__main__":
    main()
