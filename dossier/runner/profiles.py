"""Ready-made plans. `PROFILES` says what each is for; its cost is what `dossier run PLAN --dry-run` counts.

A plan names its profile with the SHA-256 of the populations and gates that were written from it: two servers with
the same digest were asked the same. What is edited afterwards is told by the plan's own digest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dossier.digest import sha256_hex
from dossier.runner import ladders
from dossier.runner.look import Seen
from dossier.wire.dialect import Dialect

PROFILES = {
    "smoke": "minutes: what every server should pass, and two small cells",
    "scout": "up to an hour: every probe once or a few times, retrieval to 128K, three steps of concurrency",
    "deep": "hours: retrieval to the configured context, strict turnover, suites three times, load to 32 at once, soak",
    "apc": "a prefix cache: cold and again, and shared against unique prompts under load; two arms show what it gains",
    "speculation": "ordinary tasks beside the engine's counters of drafts; a matched arm shows what it gains",
    "soak": "one cell for thousands of requests, and whether speed or memory drift",
}
_ALONE = frozenset({"apc", "speculation", "soak"})
_MARGIN = 64
_LONG, _FEW = 32_768, 12
_LARGEST_REFUSAL = 262_144


def slug_of(name: str) -> str:
    """A record id from a served name."""
    return re.sub(r"[^a-z0-9.]+", "-", name.rsplit("/", 1)[-1].lower()).strip("-.") or "model"


def plan_text(seen: Seen, profile: str, key_env: str | None, subject: str | None = None) -> str:
    """A commented plan for a server that was looked at."""
    subject = subject or slug_of(seen.model)
    asked, gates = list(_populations(seen, profile)), list(_gates(profile))
    made = f"From the profile {profile}, sha256:{sha256_hex(chr(10).join((*asked, *gates)).encode())}."
    return "\n".join(
        [
            *_head(seen, profile, subject, made),
            *_target(seen, key_env),
            *_bounds(profile),
            "",
            "# Each is one population, run in this order. What a probe asks and does not show is published with it.",
            "populations:",
            *(f"  {line}" if line.startswith("#") else f"  - {line}" for line in asked),
            "",
            *gates,
            "",
        ]
    )


def _head(seen: Seen, profile: str, subject: str, made: str) -> Iterator[str]:
    signs = ", ".join(seen.detection.evidence) or "no known sign"
    yield f"# {profile}: {PROFILES[profile]}."
    yield "# `dossier run THIS --dry-run` says what it sends and costs; nothing is sent before that."
    yield f"# The server was taken for {seen.detection.dialect} by: {signs}."
    yield "schema: dossier/plan/v1"
    yield f"id: {subject}-{profile}"
    yield f"notes: {_quoted(made)}"
    yield f"title: {_quoted(f'{profile.capitalize()} run of {seen.model}')}"
    yield f"subject: {subject}    # the model record that the finding belongs to"
    yield ""


def _target(seen: Seen, key_env: str | None) -> Iterator[str]:
    yield "target:"
    yield f"  base_url: {_quoted(seen.base_url)}    # never published"
    yield f"  model: {_quoted(seen.model)}"
    if key_env is not None:
        yield f"  api_key_env: {key_env}    # the name of the variable; the key itself is written nowhere"
    yield "  path: direct    # or routed, through what clients use"
    if seen.context is not None:
        yield f"  context_tokens: {seen.context}"
    yield ""
    yield "# What no request can find out. It is published as declared:"
    yield "#   model_name, artifacts (repo, revision, files with sha256), runtime (engine, version, commit, image),"
    yield "#   quantization, gpus, host, parallelism, kv_dtype, prefix_cache, speculation, flags, environment, settings"
    yield "declared: {}"
    yield ""


def _bounds(profile: str) -> Iterator[str]:
    seconds, per_request, requests, tokens = {
        "smoke": (900, 120, 5000, 20_000_000), "scout": (3600, 300, 5000, 20_000_000),
    }.get(profile, (28_800, 1800, 50_000, 200_000_000))  # fmt: skip
    yield "# Where the run stops by itself, whatever happens."
    yield f"bounds: {{requests: {requests}, tokens: {tokens}, seconds: {seconds}, request_seconds: {per_request}}}"


def _populations(seen: Seen, profile: str) -> Iterator[str]:
    yield "{id: health, probe: health, title: Ready and listed}"
    yield "{id: chat, probe: chat, title: Chat replies, requests: 3}"
    yield "{id: streaming, probe: streaming, title: Chat streams, requests: 3}"
    if profile in _ALONE:
        yield from _alone(seen, profile)
        return
    yield "{id: choice, probe: structured, title: JSON schema with a closed choice, form: choice}"
    yield "{id: max-tokens, probe: controls, title: max_tokens, control: max_tokens}"
    yield "{id: bad-json, probe: errors, title: Broken JSON refused, wrong: json}"
    if seen.context is not None and seen.context <= _LARGEST_REFUSAL:
        yield "{id: too-long, probe: errors, title: Prompt beyond the context refused, wrong: length}"
    if profile != "smoke":
        yield from _scout(seen)
        yield from ladders.retrieval(profile, seen.context)
        yield from ladders.turnover(profile)
        yield from ladders.use(profile, seen.context)
    yield from _cells(seen, profile)


def _alone(seen: Seen, profile: str) -> Iterator[str]:
    match profile:
        case "apc":
            yield from ladders.apc(seen.context)
        case "speculation":
            yield from ladders.speculation()
        case _:
            yield ladders.soak(min(1024, (seen.context or 4096) // 2), 3000)


def _scout(seen: Seen) -> Iterator[str]:
    yield "{id: bad-model, probe: errors, title: Unknown model refused, wrong: model}"
    yield "{id: chat-exact, probe: chat, title: Chat answer to the word, exact: true, requests: 3}"
    yield "{id: json, probe: json, title: JSON asked for in words, requests: 3}"
    yield "{id: object, probe: structured, title: JSON schema with an object, form: object, requests: 3}"
    yield "{id: nested, probe: structured, title: Streamed nested schema, form: nested, stream: true, requests: 3}"
    for want in ("auto", "required", "named", "none", "parallel", "result"):
        yield f"{{id: tools-{want}, probe: tools, title: 'Tool calls, {want}', want: {want}, requests: 3}}"
    yield "{id: tools-stream, probe: tools, title: 'Tool calls, streamed', stream: true, requests: 3}"
    for control in ("stop", "seed", "logprobs", "unicode"):
        yield f"{{id: {control}, probe: controls, title: {control}, control: {control}}}"
    if seen.detection.dialect in {Dialect.VLLM, Dialect.SGLANG, Dialect.LLAMA_CPP, Dialect.TRTLLM}:
        yield "{id: thinking-off, probe: thinking, title: Thinking switched off, state: 'off'}"
        yield "# For a model that thinks: {id: thinking-on, probe: thinking, state: 'on', max_tokens: 2048}"
    for way in ("whole", "stream", "cut"):
        yield f"{{id: responses-{way}, probe: responses, title: 'Responses protocol, {way}', way: {way}}}"


_SIZES = {"smoke": (128,), "scout": (1024, 8192), "deep": (1024, 8192, 32_768, 131_072)}
_STREAMS = {"smoke": (1, 2), "scout": (1, 4), "deep": (1, 4, 16)}
_OUTPUT = {"smoke": 32, "scout": 128, "deep": 256}
_REQUESTS = {"smoke": 6, "scout": 12, "deep": 36}


def _cells(seen: Seen, profile: str) -> Iterator[str]:
    output = _OUTPUT[profile]
    room = (seen.context or 4096) - output - _MARGIN
    sizes = [size for size in _SIZES[profile] if size <= room] or [max(16, room // 2)]
    for size in sizes:
        for streams in _STREAMS[profile]:
            requests = max(_REQUESTS[profile] if size < _LONG else _FEW, 2 * streams)
            yield (
                f"{{id: p{size}-c{streams}, probe: cell, title: '{size} tokens in, {streams} at once', "
                f"prompt_tokens: {size}, output_tokens: {output}, concurrency: {streams}, requests: {requests}, "
                f"warmups: {streams}}}"
            )
    if profile != "smoke":
        yield ladders.steps(profile, sizes[0])
    if profile == "deep":
        yield ladders.soak(sizes[0], 600)
        size, shared = sizes[0], sizes[0] * 3 // 4
        yield (
            f"{{id: shared, probe: cell, title: Shared prefix, prompt_tokens: {size}, output_tokens: {output}, "
            f"cache: shared, shared_tokens: {shared}, concurrency: 4, requests: 36, warmups: 4}}"
        )
        yield (
            f"{{id: open, probe: cell, title: Open load, prompt_tokens: {size}, output_tokens: {output}, rate: 0.5, "
            "arrivals: poisson, concurrency: 64, requests: 72, warmups: 4}"
        )


def _gates(profile: str) -> Iterator[str]:
    yield "# Declared before the first request: the digest of this plan heads the journal."
    yield "gates:"
    yield "  - {id: chat-passes, title: Every chat reply is whole, subject: chat, require: all passed}"
    yield "  - {id: streams-pass, title: Every stream is whole, subject: streaming, require: all passed}"
    if profile in {"scout", "deep"}:
        yield (
            "  - {id: no-leak, title: No marker of another request, subject: canary-foreign_markers-total, "
            "require: <= 0 replies}"
        )
        yield "  - {id: tools-pass, title: Every tool call is right, subject: tools-auto, require: all passed}"
    if profile == "deep":
        yield "  - {id: strict-turnover, title: Strict turnover, subject: turnover, require: all passed}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
