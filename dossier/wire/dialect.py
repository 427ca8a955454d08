"""Which server answers: a table of signs, observations of one server, and a verdict that may be `unknown`.

The table is data: a sign is where to look and what to find there. A server is named only when the signs of
exactly one dialect are seen; two at once (a gateway before another server) are unknown, with both kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from dossier.wire import api
from dossier.wire.client import Client
from dossier.wire.status import parse_json


class Dialect(StrEnum):
    """A family of servers with the same habits."""

    VLLM = "vllm"
    SGLANG = "sglang"
    LLAMA_CPP = "llama.cpp"
    TGI = "tgi"
    OLLAMA = "ollama"
    TRTLLM = "tensorrt-llm"
    LM_STUDIO = "lm-studio"
    OPENAI = "openai"
    UNKNOWN = "unknown"


class Place(StrEnum):
    """Where a sign is looked for; the value is the path, from the root or (`/v1/models`) the API base."""

    OWNER = "/v1/models"
    HEADERS = "headers"
    METRICS = "/metrics"
    ROOT = "/"
    VERSION = "/version"
    PROPS = "/props"
    INFO = "/info"
    MODEL_INFO = "/model_info"
    OLLAMA_VERSION = "/api/version"
    LM_MODELS = "/api/v0/models"


@dataclass(frozen=True, slots=True)
class Sign:
    """A pattern that, found at a place, speaks for a dialect."""

    dialect: Dialect
    place: Place
    pattern: str


# Each pattern is searched in the place's text: the owners of all models (one a line), `name: value` headers,
# or the body as sent.
SIGNS = (
    Sign(Dialect.VLLM, Place.OWNER, r"^vllm$"),
    Sign(Dialect.VLLM, Place.METRICS, r"^vllm:"),
    Sign(Dialect.SGLANG, Place.OWNER, r"^sglang$"),
    Sign(Dialect.SGLANG, Place.METRICS, r"^sglang:"),
    Sign(Dialect.SGLANG, Place.MODEL_INFO, r'"(weight_version|is_generation)"'),
    Sign(Dialect.LLAMA_CPP, Place.OWNER, r"^llamacpp$"),
    Sign(Dialect.LLAMA_CPP, Place.HEADERS, r"^server: llama\.cpp"),
    Sign(Dialect.LLAMA_CPP, Place.PROPS, r'"default_generation_settings"'),
    Sign(Dialect.LLAMA_CPP, Place.METRICS, r"^llamacpp:"),
    Sign(Dialect.TGI, Place.INFO, r'"(docker_label|max_total_tokens)"'),
    Sign(Dialect.TGI, Place.METRICS, r"^tgi_"),
    Sign(Dialect.OLLAMA, Place.ROOT, r"^Ollama is running"),
    Sign(Dialect.OLLAMA, Place.OLLAMA_VERSION, r'"version"'),
    Sign(Dialect.TRTLLM, Place.OWNER, r"^tensorrt_llm$"),
    Sign(Dialect.TRTLLM, Place.METRICS, r"^trtllm_"),
    Sign(Dialect.LM_STUDIO, Place.LM_MODELS, r'"(max_context_length|compatibility_type)"'),
    Sign(Dialect.OPENAI, Place.HEADERS, r"^openai-(version|processing-ms|organization):"),
    Sign(Dialect.OPENAI, Place.OWNER, r"^(openai|openai-internal)$"),
)


@dataclass(frozen=True, slots=True)
class Habits:
    """What is known of a dialect and needed by the runner; None where nothing is known.

    `ready` is a readiness path that costs the server nothing; `tokenize` its path and the field that takes text;
    `salt` a request field that takes a text which isolates the request in the prefix cache; `uncached` request fields
    that keep it out of that cache.
    """

    ready: str | None = "/health"
    metrics: str | None = "/metrics"
    tokenize: tuple[str, str] | None = None
    salt: str | None = None
    uncached: Mapping[str, Any] = field(default_factory=dict)
    rejects_unknown_fields: bool = False
    rejects_wrong_model: bool | None = None


HABITS: Mapping[Dialect, Habits] = {
    Dialect.VLLM: Habits(tokenize=("/tokenize", "prompt"), salt="cache_salt", rejects_wrong_model=True),
    # SGLang's /health may run one token; /ready does not.
    Dialect.SGLANG: Habits(ready="/ready", tokenize=("/tokenize", "prompt"), salt="cache_salt"),
    Dialect.LLAMA_CPP: Habits(
        tokenize=("/tokenize", "content"), uncached={"cache_prompt": False}, rejects_wrong_model=False
    ),
    Dialect.TGI: Habits(tokenize=("/tokenize", "inputs")),
    Dialect.OLLAMA: Habits(ready="/", metrics=None),
    # TensorRT-LLM's /metrics is JSON; its Prometheus text lies apart.
    Dialect.TRTLLM: Habits(metrics="/prometheus/metrics", salt="cache_salt", rejects_unknown_fields=True),
    Dialect.LM_STUDIO: Habits(ready=None, metrics=None),
    Dialect.OPENAI: Habits(ready=None, metrics=None, rejects_unknown_fields=True, rejects_wrong_model=True),
    Dialect.UNKNOWN: Habits(ready=None),
}


@dataclass(frozen=True, slots=True)
class Observations:
    """What a server answered, by place; places that gave no 2xx are absent."""

    texts: Mapping[Place, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Detection:
    """The verdict with the signs that were seen, as `place ~ pattern`, and the version where one is stated."""

    dialect: Dialect
    evidence: tuple[str, ...]
    version: str | None

    @property
    def habits(self) -> Habits:
        """The habits of the detected dialect."""
        return HABITS[self.dialect]


LOOKS = len(Place) - 1
"""Requests that `observe` sends: the headers come with the list of models."""


async def observe(client: Client) -> Observations:
    """Ask every place of the table once, with GET; none of them generates or changes anything."""
    texts: dict[Place, str] = {}
    reply, served = await api.models(client)
    if reply.failure is None:
        texts[Place.OWNER] = "\n".join(model.owned_by or "" for model in served)
    texts[Place.HEADERS] = "\n".join(f"{name}: {value}" for name, value in reply.trace.headers.items())
    for place in Place:
        if place in (Place.OWNER, Place.HEADERS):
            continue
        answer = await api.get_text(client, client.target.root + place)
        if answer.failure is None:
            texts[place] = answer.data
    return Observations(texts)


def detect(seen: Observations) -> Detection:
    """Name the dialect whose signs, and no other's, were seen."""
    found = [sign for sign in SIGNS if _shows(sign, seen)]
    dialects = {sign.dialect for sign in found}
    dialect = dialects.pop() if len(dialects) == 1 else Dialect.UNKNOWN
    return Detection(dialect, tuple(f"{sign.place} ~ {sign.pattern}" for sign in found), _version(seen))


def _shows(sign: Sign, seen: Observations) -> bool:
    text = seen.texts.get(sign.place)
    return text is not None and re.search(sign.pattern, text, re.MULTILINE) is not None


_VERSION_FIELDS = (
    (Place.VERSION, "version"),
    (Place.INFO, "version"),
    (Place.OLLAMA_VERSION, "version"),
    (Place.PROPS, "build_info"),
)


def _version(seen: Observations) -> str | None:
    for place, name in _VERSION_FIELDS:
        value = _object(seen.texts.get(place, "")).get(name)
        if isinstance(value, str) and value:
            return value[:200]
    return None


def _object(text: str) -> Mapping[str, Any]:
    try:
        value = parse_json(text.encode())
    except ValueError:
        return {}
    return value if isinstance(value, Mapping) else {}
