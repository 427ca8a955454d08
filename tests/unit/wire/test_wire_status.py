"""HTTP errors to failure classes: by status, by the four error shapes, with Retry-After and the hop."""

from __future__ import annotations

import pytest

from dossier.wire.errors import TEXT_LIMIT, FailureClass
from dossier.wire.status import http_failure

SHAPES = {
    "nested (vLLM, OpenAI)": (
        b'{"error":{"message":"no such model","type":"NotFoundError","code":404}}',
        "NotFoundError",
    ),
    "flat (SGLang, TensorRT-LLM)": (
        b'{"object":"error","message":"no such model","type":"NotFound","code":404}',
        "NotFound",
    ),
    "text and type (TGI)": (b'{"error":"no such model","error_type":"validation"}', "validation"),
    "bare text": (b'{"error":"no such model"}', None),
    "FastAPI": (b'{"detail":"no such model"}', None),
    "no JSON": (b"no such model\n", None),
}


@pytest.mark.parametrize(("body", "code"), SHAPES.values(), ids=SHAPES.keys())
def test_every_error_shape_gives_its_message_and_code(body, code):
    failure = http_failure(404, {}, body)
    assert (failure.kind, failure.message, failure.code) == (FailureClass.NOT_FOUND, "no such model", code)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid-request"),
        (401, "authentication"),
        (403, "authorization"),
        (404, "not-found"),
        (413, "too-large"),
        (418, "http-error"),
        (422, "invalid-request"),
        (429, "rate-limited"),
        (500, "server-error"),
        (501, "server-error"),
        (503, "overloaded"),
        (304, "redirect"),
    ],
)
def test_the_status_gives_the_class(status, kind):
    assert http_failure(status, {}, b"").kind == kind


@pytest.mark.parametrize(
    "body",
    [
        b'{"error":{"message":"This model\'s maximum context length is 4096 tokens.","type":"BadRequestError"}}',
        b'{"error":{"code":400,"message":"too long","type":"exceed_context_size_error","n_ctx":2048}}',
        b'{"error":"`inputs` tokens + `max_new_tokens` must be <= 4096","error_type":"validation"}',
        b'{"error":{"message":"too many tokens","code":"context_length_exceeded"}}',
    ],
    ids=["vLLM", "llama.cpp", "TGI", "OpenAI"],
)
def test_a_prompt_that_is_too_long_has_a_class_of_its_own(body):
    assert http_failure(400, {}, body).kind is FailureClass.CONTEXT_EXCEEDED


def test_retry_after_in_seconds_or_as_a_date():
    assert http_failure(429, {"retry-after": "7"}, b"").retry_after_s == 7
    date = {"retry-after": "Thu, 01 Jan 1970 00:01:40 GMT"}
    assert http_failure(503, date, b"", now=lambda: 40.0).retry_after_s == 60
    assert http_failure(503, {"retry-after": "soon"}, b"").retry_after_s is None


def test_the_hop_that_answered_is_kept():
    failure = http_failure(413, {"server": "nginx", "via": "1.1 gateway"}, b"<html>")
    assert failure.hop == "server: nginx; via: 1.1 gateway"


def test_long_text_is_cut_and_says_so():
    failure = http_failure(500, {}, b'{"error":"' + b"x" * 5000 + b'"}')
    assert failure.message == "x" * TEXT_LIMIT + f"... [{5000 - TEXT_LIMIT} characters more]"
