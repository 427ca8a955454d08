"""The metric dictionary: what each figure is, and what it does not establish.

Definitions follow the clock of a client: t0 is just before the request is written (open load: its scheduled
time). A project adds metrics of its own as records in `evidence/metrics/`.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from dossier.model.base import Line, Part, Prose, Record


class Metric(Part):
    """One entry of the dictionary."""

    id: str
    name: str
    unit: str
    better: Literal["higher", "lower", "neither"]
    definition: str
    formula: str = ""
    does_not_establish: str = ""
    other_units: dict[str, str] = Field({}, description="Other units, with the factor into `unit`.")


class MetricRecord(Record):
    """A metric that a project adds."""

    FOLDER: ClassVar[str] = "metrics"
    SCHEMA: ClassVar[str] = "dossier/metric/v1"

    schema_: Literal["dossier/metric/v1"] = Field(alias="schema")
    name: Line
    unit: str = Field("", description="Empty for a bare number.")
    better: Literal["higher", "lower", "neither"]
    definition: Prose
    formula: Line | None = None
    does_not_establish: Prose | None = None

    def as_metric(self) -> Metric:
        """The same entry in the dictionary's own form."""
        return Metric(
            id=self.id, name=self.name, unit=self.unit, better=self.better, definition=self.definition,
            formula=self.formula or "", does_not_establish=self.does_not_establish or "",
        )  # fmt: skip


_SECONDS = {"ms": "0.001", "min": "60", "h": "3600"}
_BYTES = {"GiB": "1024", "GB": "953.67431640625", "MB": "0.95367431640625", "KiB": "0.0009765625"}
PERCENTILE_METHOD = "Percentiles are nearest rank from p90 up; the median of an even count is the midpoint."


def _seconds(id_: str, name: str, definition: str, formula: str, not_: str) -> Metric:
    return Metric(id=id_, name=name, unit="s", better="lower", definition=definition, formula=formula,
                  does_not_establish=not_, other_units=_SECONDS)  # fmt: skip


def _rate(id_: str, name: str, unit: str, definition: str, formula: str, not_: str) -> Metric:
    return Metric(id=id_, name=name, unit=unit, better="higher", definition=definition, formula=formula,
                  does_not_establish=not_)  # fmt: skip


def _memory(id_: str, name: str, better: Literal["higher", "lower", "neither"], definition: str, not_: str) -> Metric:
    return Metric(id=id_, name=name, unit="MiB", better=better, definition=definition, does_not_establish=not_,
                  other_units=_BYTES)  # fmt: skip


def _count(id_: str, name: str, unit: str, better: Literal["higher", "lower", "neither"], definition: str,
           not_: str = "") -> Metric:  # fmt: skip
    return Metric(id=id_, name=name, unit=unit, better=better, definition=definition, does_not_establish=not_)


_DICTIONARY: tuple[Metric, ...] = (
    _seconds("ttft_visible", "TTFT (visible)", "Time to the first non-empty visible content.",
             "t(first visible content) - t0", "How soon a reasoning model starts to work; that is TTFT (any)."),
    _seconds("ttft_any", "TTFT (any)", "Time to the first non-empty output of any kind: content, reasoning or tool call.",
             "t(first output) - t0", "When a reader first sees an answer."),
    _seconds("ttft_unstated", "TTFT (kind not stated)",
             "Time to a first token, where the source does not say which output counts.",
             "t(first token) - t0", "Comparability with a TTFT of a stated kind."),
    _seconds("e2e", "End-to-end latency", "Time from sending a request to the last output.",
             "t(last output) - t0", "Latency under another load or output length."),
    _seconds("tpot", "TPOT", "Mean time per output token after the first; undefined for one token.",
             "(e2e - ttft) / (output tokens - 1)", "The distribution of gaps between tokens."),
    _seconds("inter_chunk_gap", "Inter-chunk gap", "Time between two stream chunks that carry output; chunks are not tokens.",
             "t(chunk k) - t(chunk k-1)", "A per-token latency, unless one token a chunk is proven."),
    _seconds("inter_token_gap", "Inter-token gap (engine)", "Time between tokens as the engine's own telemetry reports it.",
             "", "What a client sees; bucketed sources resolve no finer than a bucket."),
    _seconds("wall_time", "Wall time", "Elapsed time of a whole piece of work.", "", "Serving speed."),
    _seconds("load_time", "Load time", "Time from starting the server to its first readiness.", "", "Cold-cache load time."),
    _rate("decode_rate", "Decode rate", "tok/s", "Output tokens a second of one request after its first.",
          "(output tokens - 1) / (e2e - ttft)", "Throughput of the service; speed at another length or load."),
    _rate("effective_prefill", "Effective prefill rate", "tok/s", "Prompt tokens over the time to first output, queueing included.",
          "prompt tokens / ttft_any", "The engine's own prefill speed."),
    _rate("throughput", "Output throughput", "tok/s", "All output tokens over the wall time of the whole batch.",
          "sum(output tokens) / wall", "The rate that one user sees; a mean of rates is not this ratio."),
    _rate("request_throughput", "Request throughput", "req/s", "Completed requests over the wall time of the whole batch.",
          "completed / wall", "Latency."),
    _rate("goodput", "Goodput", "req/s", "Requests a second that met the stated latency limits.", "good / wall",
          "Anything under other limits."),
    Metric(id="speedup", name="Ratio to a control", unit="x", better="higher",
           definition="How many times the control's value, as the source states it.", formula="candidate / control",
           does_not_establish="The two values themselves."),
    Metric(id="pass_rate", name="Pass rate", unit="%", better="higher", definition="Passed over planned requests.",
           formula="passed / planned", does_not_establish="A rate in service; see the interval for so many requests."),
    Metric(id="acceptance_rate", name="Draft acceptance", unit="%", better="higher",
           definition="Accepted over proposed draft tokens, from the engine's counters.", formula="accepted / drafted",
           does_not_establish="A speed-up; repetitive filler inflates it. Credit only against a matched control."),
    Metric(id="prefix_hit_rate", name="Prefix cache hit rate", unit="%", better="higher",
           definition="Cached over prompt tokens, from usage or the engine's counters.", formula="cached / prompt tokens",
           does_not_establish="A latency gain."),
    Metric(id="engine_prefix_hit_rate", name="Prefix cache hit rate (engine)", unit="%", better="higher",
           definition="Hits over queries of the prefix cache, in tokens, by growth of the engine's own counters.",
           formula="hits / queries", does_not_establish="A latency gain; other clients' requests are counted too."),
    Metric(id="warm_ttft_ratio", name="TTFT of a repeated prompt", unit="x", better="lower",
           definition="Time to first output of a prompt sent again, over that of the same prompt when it was new; geometric mean of pairs.",
           formula="exp(mean(ln(warm / cold)))", does_not_establish="The gain under load, or for prompts that share less."),
    *(Metric(id=f"{id_}_drift", name=f"Drift of {name}", unit="%", better="neither",
             definition=f"Change of {name} from the first to the last request, of a straight line through its logarithms over time.",
             formula="exp(slope * duration) - 1",
             does_not_establish="Drift beyond the run; requests that share a cause look surer than they are.")
      for id_, name in (("ttft", "TTFT (any)"), ("tpot", "TPOT"))),
    _memory("host_memory_growth", "Host memory growth", "lower",
            "Growth of host memory in use from the first to the last reading, of a straight line through the readings.",
            "Which process grew."),
    _memory("gpu_memory_growth", "GPU memory growth", "lower",
            "Growth of the memory in use on the fullest card from the first to the last reading, of a straight line.", "Why."),
    _count("saturation_concurrency", "Concurrency at saturation", "requests", "higher",
           "The least of the declared steps of concurrency that reaches 95 % of the greatest rate of all steps.",
           "A limit of the service: steps between were not tried, and an open load saturates otherwise."),
    _count("stable_items", "Items always right", "items", "higher",
           "Items of a suite whose every repetition passed.", "How the same items fare at another temperature or load."),
    _count("unstable_items", "Items sometimes right", "items", "lower",
           "Items of a suite of which some repetitions passed and some did not.", "Why: batching, load and sampling all do it."),
    Metric(id="stage_rate", name="Stage met", unit="%", better="higher",
           definition="Tasks whose work met one stage, over all tasks that came to an end.", formula="met / ended",
           does_not_establish="That the task was done: the population counts those that met every stage."),
    _count("least_budget", "Least sufficient budget", "tokens", "lower",
           "The smallest declared output budget, reasoning included, at which and above which every answer came and was right.",
           "That harder questions need no more."),
    Metric(id="kv_use", name="KV cache in use", unit="%", better="neither",
           definition="Share of the KV cache that the engine's own gauge says is in use, over readings a second apart.",
           does_not_establish="The peak between two readings, or that so many tokens would fit."),
    Metric(id="wer", name="Word error rate", unit="%", better="lower",
           definition="Word edits over reference words, pooled over all utterances after a named normalisation.",
           formula="(S + D + I) / N", does_not_establish="Accuracy on other speech, or under another normalisation."),
    Metric(id="cer", name="Character error rate", unit="%", better="lower",
           definition="Character edits over reference characters.", formula="(S + D + I) / N"),
    Metric(id="rtf", name="Real-time factor", unit="", better="lower",
           definition="Processing time over audio duration.", formula="processing / audio"),
    Metric(id="score", name="Score", unit="", better="higher", definition="A suite's own score, as that suite defines it.",
           does_not_establish="Intelligence in general."),
    _memory("gpu_memory_free", "GPU memory free", "higher", "Memory free on a card at the stated moment.",
            "What a larger workload would leave."),
    _memory("gpu_memory_used", "GPU memory used", "lower", "Memory in use on a card at the stated moment.", ""),
    _memory("kv_memory", "KV cache memory", "neither", "Memory that the engine reports for its KV cache.",
            "That so many tokens were ever resident."),
    _memory("host_memory_used", "Host memory used", "lower", "Host memory in use at the stated moment.", ""),
    _count("kv_tokens", "KV cache tokens", "tokens", "higher", "Tokens that the engine says its KV cache holds.",
           "That many tokens of concurrent prompts were served."),
    _count("full_windows", "Full windows", "windows", "higher", "KV cache tokens over the configured context.",
           "Concurrent full-context requests."),
    _count("prompt_tokens", "Prompt tokens (actual)", "tokens", "neither", "Prompt tokens as the server counted them."),
    _count("output_tokens", "Output tokens", "tokens", "neither", "Completion tokens as the server counted them."),
    _count("requests_running", "Requests running (engine)", "requests", "neither",
           "Requests that the engine's own gauge says it works on, over readings a second apart.",
           "What happened between two readings."),
    _count("requests_waiting", "Queue depth (engine)", "requests", "lower",
           "Requests that the engine's own gauge says are waiting, over readings a second apart.",
           "How long any request waited; a short queue between two readings goes unseen."),
    _count("model_requests", "Model requests", "requests", "lower", "Requests that an agent or client made for one task."),
    Metric(id="samples", name="Samples", unit="samples", better="neither",
           definition="Samples or windows behind a figure.", other_units={"windows": "1"}),
    _count("tokens_per_request", "Tokens a request (planning)", "tokens", "higher",
           "A shared pool divided by the requests that share it.", "That any such request was served."),
    _count("effective_context", "Effective context", "tokens", "higher",
           "Actual prompt tokens of the greatest size before retrieval first fell below the stated floor, or lost more than the stated drop against the first size.",
           "A limit of the server, or that other tasks work at that size."),
    _count("largest_retrieved", "Largest prompt with a right answer", "tokens", "higher",
           "Actual prompt tokens of the longest prompt whose hidden values were all found.", "That prompts of that size are answered reliably."),
    _count("foreign_markers", "Replies with a foreign marker", "replies", "lower",
           "Replies that bore the marker of another request.", "That no other text leaked; only markers are looked for."),
    _count("value", "Value", "", "neither", "A number that no other metric of the dictionary covers; its title says what."),
)  # fmt: skip

ANY_UNIT = frozenset({"value", "score"})
"""Metrics whose figures carry whatever unit their title or suite gives them."""
METRICS: dict[str, Metric] = {metric.id: metric for metric in _DICTIONARY}
