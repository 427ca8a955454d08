"""Ready-made plans: smoke (minutes, what every server should pass), scout (every probe), deep (long and loaded)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dossier.runner.look import Seen
from dossier.wire.dialect import Dialect

PROFILES = ("smoke", "scout", "deep")
_MARGIN = 64
_LONG, _FEW = 32_768, 12
_LARGEST_REFUSAL = 262_144


def slug_of(name: str) -> str:
    """A record id from a served name."""
    return re.sub(r"[^a-z0-9.]+", "-", name.rsplit("/", 1)[-1].lower()).strip("-.") or "model"


def plan_text(seen: Seen, profile: str, key_env: str | None, subject: str | None = None) -> str:
    """A commented plan for a server that was looked at."""
    subject = subject or slug_of(seen.model)
    return "\n".join(
        [
            *_head(seen, profile, subject),
            *_target(seen, key_env),
            *_bounds(profile),
            "",
            "# Each is one population, run in this order. What a probe asks and does not show is published with it.",
            "populations:",
            *(f"  {line}" if line.startswith("#") else f"  - {line}" for line in _populations(seen, profile)),
            "",
            *_gates(profile),
            "",
        ]
    )


def _head(seen: Seen, profile: str, subject: str) -> Iterator[str]:
    signs = ", ".join(seen.detection.evidence) or "no known sign"
    yield f"# A {profile} run. `dossier run THIS --dry-run` says what it sends and costs; nothing is sent before that."
    yield f"# The server was taken for {seen.detection.dialect} by: {signs}."
    yield "schema: dossier/plan/v1"
    yield f"id: {subject}-{profile}"
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
    seconds, per_request = {"smoke": (900, 120), "scout": (3600, 300), "deep": (28_800, 1800)}[profile]
    yield "# Where the run stops by itself, whatever happens."
    yield f"bounds: {{requests: 5000, tokens: 20000000, seconds: {seconds}, request_seconds: {per_request}}}"


def _populations(seen: Seen, profile: str) -> Iterator[str]:
    yield "{id: health, probe: health, title: Ready and listed}"
    yield "{id: chat, probe: chat, title: Chat replies, requests: 3}"
    yield "{id: streaming, probe: streaming, title: Chat streams, requests: 3}"
    yield "{id: choice, probe: structured, title: JSON schema with a closed choice, form: choice}"
    yield "{id: max-tokens, probe: controls, title: max_tokens, control: max_tokens}"
    yield "{id: bad-json, probe: errors, title: Broken JSON refused, wrong: json}"
    if seen.context is not None and seen.context <= _LARGEST_REFUSAL:
        yield "{id: too-long, probe: errors, title: Prompt beyond the context refused, wrong: length}"
    if profile != "smoke":
        yield from _scout(seen)
    yield from _cells(seen, profile)


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
    if profile == "deep":
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
    if profile != "smoke":
        yield "  - {id: tools-pass, title: Every tool call is right, subject: tools-auto, require: all passed}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
