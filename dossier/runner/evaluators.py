"""What other harnesses write down: lm-eval's results, an inspect log, a SWE-bench report."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeGuard


class Tool(StrEnum):
    """Whose results file it is."""

    LM_EVAL = "lm-eval"
    INSPECT = "inspect"
    SWE_BENCH = "swe-bench"


class NotResultsError(ValueError):
    """The file is not what that harness writes, or says that its own run failed."""


@dataclass(frozen=True, slots=True)
class Score:
    """One figure of a results file, of `n` items; None where the file does not say of how many."""

    name: str
    value: float
    n: int | None

    @property
    def label(self) -> str:
        """Its name as an id."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")[:60]


def scores_of(tool: Tool, data: bytes, instances: tuple[str, ...] = ()) -> list[Score]:
    """Every score of a results file. Raises NotResultsError."""
    try:
        read = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise NotResultsError(f"it is not JSON: {error}") from None
    if not isinstance(read, dict):
        raise NotResultsError("it holds no JSON object")
    found = list(_READERS[tool](read, instances))
    if not found:
        raise NotResultsError("it holds no score")
    return found


def _lm_eval(read: Mapping[str, Any], _: tuple[str, ...]) -> Iterator[Score]:
    """`results`: task -> "metric,filter" -> value, beside "metric_stderr,filter"; `n-samples`: task -> effective."""
    counts = _mapping(read.get("n-samples"))
    for task, metrics in _mapping(read.get("results")).items():
        for key, value in _mapping(metrics).items():
            metric, comma, filter_ = str(key).partition(",")
            if _is_number(value) and not metric.endswith("_stderr") and comma:
                n = _mapping(counts.get(task)).get("effective")
                name = f"{task}, {metric}" + ("" if filter_ == "none" else f", {filter_}")
                yield Score(name, float(value), n if isinstance(n, int) else None)


def _inspect(read: Mapping[str, Any], _: tuple[str, ...]) -> Iterator[Score]:
    """`status`, and `results.scores`: a list of scorers, each with `metrics`: name -> {name, value}."""
    if read.get("status") != "success":
        raise NotResultsError(f"its status is {str(read.get('status'))[:40]!r}, not 'success'")
    results, task = _mapping(read.get("results")), str(_mapping(read.get("eval")).get("task", "task"))
    total, completed = results.get("total_samples"), results.get("completed_samples")
    if isinstance(total, int) and isinstance(completed, int) and completed < total:
        raise NotResultsError(f"{completed} of {total} samples were completed")
    scorers = results.get("scores")
    for scorer in scorers if isinstance(scorers, list) else ():
        for name, metric in _mapping(_mapping(scorer).get("metrics")).items():
            value = _mapping(metric).get("value")
            if _is_number(value) and name not in {"stderr", "std", "var"}:
                yield Score(f"{task}, {_mapping(scorer).get('name', 'score')}, {name}", float(value),
                            completed if isinstance(completed, int) else None)  # fmt: skip


def _swe_bench(read: Mapping[str, Any], instances: tuple[str, ...]) -> Iterator[Score]:
    """The grader's own report: id lists of what was submitted, completed, resolved, and went wrong."""
    lists = {name: read.get(f"{name}_ids") for name in ("submitted", "resolved", "error")}
    if not all(isinstance(ids, list) for ids in (lists["submitted"], lists["resolved"])):
        raise NotResultsError("it names no submitted_ids and resolved_ids")
    submitted, resolved = set(lists["submitted"] or ()), set(lists["resolved"] or ())
    missing = sorted(set(instances) - submitted)
    if missing:
        raise NotResultsError(f"it does not name the instance {missing[0]}, nor {len(missing) - 1} others")
    errors = set(lists["error"] or ()) & (set(instances) or submitted)
    if errors:
        raise NotResultsError(f"the grader failed on {len(errors)} instances, {min(errors)} among them")
    wanted = set(instances) or submitted
    if wanted:
        yield Score("resolved", len(resolved & wanted) / len(wanted), len(wanted))


_READERS: Mapping[Tool, Callable[[Mapping[str, Any], tuple[str, ...]], Iterator[Score]]] = {
    Tool.LM_EVAL: _lm_eval,
    Tool.INSPECT: _inspect,
    Tool.SWE_BENCH: _swe_bench,
}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
