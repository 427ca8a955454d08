"""What a finding says in words: summary, caveat, limits, and what was seen and is no figure of the dictionary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dossier.runner.probes import probe_of
from dossier.runner.probes.base import Spec
from dossier.runner.probes.cell import Cell
from dossier.runner.told import Told

JOURNAL = "file-journal"
"""The artifact that the journal is listed as."""


def summary(told: Told) -> str:
    """What was done and what came out, every figure by reference."""
    server = told.server(told.seen[0])
    engine = server["dialect"] if server["dialect"] != "unknown" else "an unrecognised server"
    done = [spec for spec in told.specs if told.samples(spec.id)]
    plain = [f"`{spec.id}` [[{spec.id}]]" for spec in done if not isinstance(spec, Cell) and spec.id not in told.parts]
    parts = [f"A run of `{told.plan.id}` against `{server['model']}`, served by {engine}."]
    if plain:
        parts.append(f"Passed of planned: {', '.join(plain)}.")
    parts += [said for spec in done if isinstance(spec, Cell) and (said := _cell(told, spec))]
    if told.stopped is not None:
        parts.append(f"The run did not end as planned: `{told.stopped}`.")
    return " ".join(parts)


def _cell(told: Told, spec: Cell) -> str:
    found = told.figures_of(spec.id)
    wanted = (("ttft_any", "time to the first output"), ("decode_rate", "decode rate"), ("throughput", "throughput"))
    said = [f"{words} [[{found[metric]}]]" for metric, words in wanted if metric in found]
    if not said:
        return ""
    excluded = " (excluded: the client was the limit)" if told.excluded(spec) is not None else ""
    return f"`{spec.id}`{excluded}: {', '.join(said)}."


def caveats(told: Told) -> str:
    """The one thing to know before quoting a figure."""
    where = "Client and server shared one machine. " if any(map(told.local, told.seen)) else ""
    declared = f"{told.plan.declared.caveat} " if told.plan.declared.caveat else ""
    what = "One start of one server" if told.plan.arms is None else "A few starts of these servers"
    return f"{declared}{where}{what}, on one day: no figure here is a promise about another."


def limits(told: Told) -> list[dict[str, Any]]:
    """What no population of this run establishes, each bound to those that it limits."""
    by_probe: dict[str, list[Spec]] = {}
    for spec in told.specs:
        by_probe.setdefault(probe_of(spec).name, []).append(spec)
    found = [
        {"text": f"Not shown by {name}: {_lowered(probe_of(specs[0]).not_shown)}", "binds": [s.id for s in specs]}
        for name, specs in by_probe.items()
    ]
    cells = [spec.id for spec in told.specs if probe_of(spec).timed]
    if cells:
        text = (
            "The instrument was calibrated apart, against a server of known schedule in a process of its own; beside "
            "the server under test its error may be greater. A difference that it does not resolve is not claimed."
        )
        found.append({"text": text, "binds": cells})
    closed = [spec.id for spec in told.specs if probe_of(spec).timed and getattr(spec, "rate", None) is None]
    if closed:
        found.append({"text": "A closed load waits for slow replies; it never meets what clients of a service do.",
                      "binds": closed})  # fmt: skip
    found.append({"text": "What the plan declares of weights, runtime and hardware was not verified by the runner."})
    return found


def observations(told: Told) -> list[dict[str, Any]]:
    """The instrument's own error, its health in every cell, the server's counters, deviations of the wire, sessions."""
    return [*_instrument(told), *_cells(told), *_deviations(told), *_sessions(told)]


def _instrument(told: Told) -> Iterator[dict[str, Any]]:
    for entry in told.reading.of("calibration"):
        ttft, tpot, lag = entry["ttft_error_ms"], entry["tpot_error"], entry["health"]["loop_lag_ms"]
        verdict = f"client-limited: {'; '.join(entry['limits'])}" if entry["limits"] else "not client-limited"
        yield {
            "id": f"instrument-c{entry['streams']}",
            "what": "The client's own error at this many streams at once, against a server of known schedule.",
            "value": f"{entry['streams']} streams, n={entry['completed']}: TTFT error {_spread(ttft, ' ms')}; "
            f"TPOT error {_spread({k: 100 * v if k != 'n' and v is not None else v for k, v in tpot.items()}, ' %')}; "
            f"loop lag {_spread(lag, ' ms')}; {verdict}",
            "class": "performance",
            "artifact": JOURNAL,
        }


def _cells(told: Told) -> Iterator[dict[str, Any]]:
    for spec in told.specs:
        for number, entry in enumerate(told.cells(spec.id), 1):
            client, suffix = entry["client"], f"-{number}" if number > 1 else ""
            verdict = f"client-limited: {'; '.join(entry['limits'])}" if entry["limits"] else "not client-limited"
            yield {
                "id": f"{spec.id}-client{suffix}",
                "what": f"The client's health during [[{spec.id}]].",
                "value": f"{client['peak']} of {client['asked']} in flight, mean {client['mean']:.2f}; loop lag "
                f"{_spread(client['loop_lag_ms'], ' ms')}; {client['cpu_s']:.2f} CPU s in {client['wall_s']:.2f} s; "
                f"{verdict}",
                "artifact": JOURNAL,
            }
            if entry["server"]:
                yield {
                    "id": f"{spec.id}-server{suffix}",
                    "what": f"The server's own metrics around [[{spec.id}]]: greatest gauges seen, growth of counters.",
                    "value": _server(entry["server"]),
                    "artifact": JOURNAL,
                }


def _server(seen: Mapping[str, Any]) -> str:
    # Journals of before 0.2 kept the peaks only.
    peak = seen.get("peak") or {name: max(values) for name, values in seen["gauges"].items()}
    peaks = [f"{name} at most {value:g}" for name, value in peak.items()]
    grown = [f"{name} +{value:g}" for name, value in seen["grown"].items()]
    resets = [f"{seen['resets']} counters were reset"] if seen["resets"] else []
    return ", ".join([*peaks, *grown, *resets]) or "nothing of interest"


def _deviations(told: Told) -> Iterator[dict[str, Any]]:
    counts: dict[str, int] = {}
    retried = 0
    for entry in told.reading.of("sample"):
        retried += entry.get("stale_retries", 0)
        for name in entry.get("deviations", ()):
            counts[name] = counts.get(name, 0) + 1
    if counts:
        yield {
            "id": "wire-deviations",
            "what": "Ways in which replies left the OpenAI form and were read all the same.",
            "value": ", ".join(f"{name}: {count}" for name, count in sorted(counts.items())),
            "artifact": JOURNAL,
        }
    if retried:
        yield {
            "id": "stale-connections",
            "what": "Kept connections that the server had closed without a word; each request was sent once more, on a "
            "fresh connection, with its timer restarted.",
            "value": str(retried),
            "artifact": JOURNAL,
        }


def _sessions(told: Told) -> Iterator[dict[str, Any]]:
    sessions = told.reading.of("session")
    if len(sessions) > 1:
        lost = sum(len(entry["lost"]) for entry in sessions)
        yield {
            "id": "sessions",
            "what": "The run was interrupted and resumed; what was in flight then was sent again.",
            "value": f"{len(sessions)} sessions, {lost} requests lost in flight",
            "artifact": JOURNAL,
        }


def _spread(spread: Mapping[str, Any], unit: str) -> str:
    names = (("p50", "p50"), ("p99", "p99"), ("greatest", "max"))
    return (
        ", ".join(f"{word} {spread[key]:.2f}{unit}" for key, word in names if spread.get(key) is not None) or "unknown"
    )


def _lowered(text: str) -> str:
    return text[0].lower() + text[1:]
