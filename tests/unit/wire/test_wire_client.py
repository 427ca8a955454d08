"""The HTTP client against servers that play given bytes: framing, reuse, redirects, bounds."""

from __future__ import annotations

import asyncio
import gzip
import zlib

import pytest
from wire_servers import ask, http, kinds, raw_server, serving

from dossier.wire.api import get_json, get_text
from dossier.wire.client import Limits, connect
from dossier.wire.errors import BadTargetError, FailureClass
from dossier.wire.loop import run

SHORT = Limits(deadline_s=0.3, idle_s=30)


# Framing


def test_a_body_of_stated_length_is_read():
    [reply], raw = ask(lambda *_: http(b'{"a":1}'))
    assert (reply.data, reply.failure) == ({"a": 1}, None)
    assert raw.requests[0].startswith(b"GET /v1/x HTTP/1.1\r\nHost: 127.0.0.1:")


def test_chunks_are_joined_and_trailers_dropped():
    body = b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{"a"\r\n3\r\n:1}\r\n0\r\nX-Sum: 1\r\n\r\n'
    [reply], _ = ask(lambda *_: body)
    assert reply.data == {"a": 1}
    assert "x-sum" not in reply.trace.headers


def test_a_body_without_length_ends_with_the_connection():
    [reply], _ = ask(lambda *_: b'HTTP/1.0 200 OK\r\n\r\n{"a":1}<close>')
    assert reply.data == {"a": 1}


def test_interim_replies_are_passed_over():
    [reply], _ = ask(lambda *_: b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + http(b'{"a":1}'))
    assert (reply.status, reply.data) == (200, {"a": 1})
    assert "link" not in reply.trace.headers


def test_a_reply_shorter_than_stated_is_a_broken_connection():
    [reply], _ = ask(lambda *_: b'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"a"<close>')
    assert kinds([reply]) == [FailureClass.DISCONNECTED]
    assert "inside the body" in reply.failure.message


def test_chunks_that_never_end_are_a_broken_connection():
    [reply], _ = ask(lambda *_: b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{"a"\r\n<close>')
    assert kinds([reply]) == [FailureClass.DISCONNECTED]


@pytest.mark.parametrize("reply", [b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 banana\r\n\r\n", b"\x16\x03\x01\x00\x05"])
def test_what_is_not_http_is_said_to_be(reply):
    assert kinds(ask(lambda *_: reply + b"<close>")[0]) == [FailureClass.HTTP_PROTOCOL]


def test_headers_without_end_are_refused():
    endless = b"HTTP/1.1 200 OK\r\n" + b"X-Fill: " + b"x" * 300_000
    assert kinds(ask(lambda *_: endless)[0]) == [FailureClass.HTTP_PROTOCOL]


def test_no_listener_is_a_connect_failure():
    [reply], _ = ask(lambda *_: http(), url="http://127.0.0.1:1/v1")
    assert kinds([reply]) == [FailureClass.CONNECT]


# Reuse


def test_a_connection_is_reused():
    replies, raw = ask(lambda *_: http(), times=3)
    assert [reply.trace.reused for reply in replies] == [False, True, True]
    assert len(raw.connections) == 1


def test_fresh_connections_on_request():
    replies, raw = ask(lambda *_: http(), times=3, fresh=True)
    assert len(raw.connections) == 3
    assert b"Connection: close" in raw.requests[0]
    assert kinds(replies) == [None, None, None]


def test_a_reused_connection_that_dies_unanswered_is_retried_once_and_counted():
    """The server takes the second request of its first connection and hangs up without a byte."""
    replies, raw = ask(lambda c, n: http() if (c, n) != (0, 1) else None, times=2, method="POST")
    assert kinds(replies) == [None, None]
    assert [reply.trace.stale_retries for reply in replies] == [0, 1]
    assert [len(requests) for requests in raw.connections] == [2, 1]
    assert not replies[1].trace.reused


def test_a_connection_closed_while_idle_is_not_used_again():
    replies, raw = ask(lambda *_: http() + b"<close>", times=2)
    assert kinds(replies) == [None, None]
    assert [reply.trace.stale_retries for reply in replies] == [0, 0]
    assert len(raw.connections) == 2


def test_a_fresh_connection_that_dies_unanswered_is_the_servers_failure():
    replies, raw = ask(lambda *_: None)
    assert kinds(replies) == [FailureClass.DISCONNECTED]
    assert len(raw.connections) == 1


def test_a_retry_that_dies_too_is_a_failure():
    replies, raw = ask(lambda c, n: http() if (c, n) == (0, 0) else None, times=2)
    assert kinds(replies) == [None, FailureClass.DISCONNECTED]
    assert (replies[1].trace.stale_retries, len(raw.connections)) == (1, 2)


def test_once_a_byte_came_there_is_no_retry():
    replies, raw = ask(lambda _, n: http() if n == 0 else b"HTTP/1.1 2<close>", times=2)
    assert kinds(replies) == [None, FailureClass.DISCONNECTED]
    assert (replies[1].trace.stale_retries, len(raw.connections)) == (0, 1)


def test_connection_close_is_honoured():
    _, raw = ask(lambda *_: http(b"{}", "200 OK", "application/json", "Connection: close"), times=2)
    assert len(raw.connections) == 2


def test_bytes_after_a_reply_spoil_the_connection_not_the_reply():
    replies, raw = ask(lambda *_: http(b'{"a":1}') + b"HTTP/1.1 500 Extra\r\n\r\n", times=2)
    assert [reply.data for reply in replies] == [{"a": 1}, {"a": 1}]
    assert len(raw.connections) == 2


# Redirects


def redirect(to: str, status: str = "307 Temporary Redirect"):
    return lambda _, n: http(b"", status, "text/plain", f"Location: {to}") if n == 0 else http(b'{"at":1}')


def test_a_redirect_on_the_same_host_keeps_method_and_body():
    [reply], raw = ask(redirect("/v2/x?q=1"), method="POST")
    assert (reply.data, reply.trace.redirects) == ({"at": 1}, 1)
    assert raw.requests[1].startswith(b"POST /v2/x?q=1 ")
    assert raw.requests[1].endswith(b'{"a":1}')


@pytest.mark.parametrize(
    ("to", "status"),
    [
        ("http://elsewhere.example/v1/x", "307 Temporary Redirect"),
        ("ftp://127.0.0.1/", "307 Temporary Redirect"),
        ("/v2/x", "302 Found"),
    ],
    ids=["another host", "no http", "POST would become GET"],
)
def test_other_redirects_are_failures(to, status):
    [reply], raw = ask(redirect(to, status), method="POST")
    assert kinds([reply]) == [FailureClass.REDIRECT]
    assert len(raw.requests) == 1


def test_a_redirect_loop_ends():
    [reply], raw = ask(lambda *_: http(b"", "302 Found", "text/plain", "Location: /v1/x"))
    assert kinds([reply]) == [FailureClass.REDIRECT]
    assert len(raw.requests) == Limits().max_redirects + 1


# Content encodings


@pytest.mark.parametrize(
    ("name", "squeeze"), [("gzip", gzip.compress), ("x-gzip", gzip.compress), ("deflate", zlib.compress)]
)
def test_compressed_bodies_are_read(name, squeeze):
    body = squeeze(b'{"a":"' + b"x" * 3_000_000 + b'"}')
    [reply], _ = ask(lambda *_: http(body, "200 OK", "application/json", f"Content-Encoding: {name}"))
    assert len(reply.data["a"]) == 3_000_000


def test_a_compression_bomb_stops_at_the_limit():
    body = gzip.compress(b" " * 50_000_000)
    limits = Limits(max_body=1_000_000)
    [reply], _ = ask(lambda *_: http(body, "200 OK", "application/json", "Content-Encoding: gzip"), limits=limits)
    assert kinds([reply]) == [FailureClass.OVERSIZE_BODY]


@pytest.mark.parametrize(("name", "body"), [("br", b"x"), ("gzip", b"not gzip")])
def test_encodings_nobody_asked_for_and_broken_ones_are_failures(name, body):
    [reply], _ = ask(lambda *_: http(body, "200 OK", "application/json", f"Content-Encoding: {name}"))
    assert kinds([reply]) == [FailureClass.HTTP_PROTOCOL]


# Bounds


def test_silence_ends_with_the_idle_timeout():
    [reply], _ = ask(lambda *_: b"", limits=Limits(deadline_s=30, idle_s=0.2))
    assert kinds([reply]) == [FailureClass.IDLE]


def test_the_deadline_is_hard_however_slowly_bytes_drip():
    async def drip(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        while True:
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.01)

    async def main():
        async with (
            serving(drip) as port,
            connect(f"http://127.0.0.1:{port}", proxy=None, limits=SHORT) as client,
        ):
            return await get_json(client, "/x")

    reply = run(main())
    assert reply.failure.kind is FailureClass.DEADLINE
    assert reply.trace.received > 0


def test_a_body_over_the_limit_is_refused():
    [reply], _ = ask(lambda *_: http(b" " * 2000), limits=Limits(max_body=1000))
    assert kinds([reply]) == [FailureClass.OVERSIZE_BODY]


def test_a_cancelled_request_closes_its_connection():
    async def main():
        async with raw_server(lambda *_: b"") as raw, connect(raw.url, proxy=None) as client:
            task = asyncio.create_task(get_json(client, "/x"))
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            reply = asyncio.create_task(get_json(client, "/x"))
            await asyncio.sleep(0.05)
            reply.cancel()
            return len(raw.connections)

    assert run(main()) == 2


# JSON and text


def test_a_reply_that_is_no_json_is_said_to_be():
    [reply], _ = ask(lambda *_: http(b"<html>"))
    assert kinds([reply]) == [FailureClass.BAD_JSON]


def test_json_nested_beyond_reason_is_bad_json():
    [reply], _ = ask(lambda *_: http(b"[" * 200_000))
    assert kinds([reply]) == [FailureClass.BAD_JSON]


def test_text_is_taken_as_it_is():
    async def main():
        async with (
            raw_server(lambda *_: http(b"up\xff", "200 OK", "text/plain")) as raw,
            connect(raw.url, proxy=None) as client,
        ):
            return await get_text(client, "/")

    assert run(main()).data == "up\ufffd"


# Secrets and bad targets


def test_a_key_is_sent_but_never_told():
    body = b'{"error":{"message":"Incorrect API key provided: sk-secret-1","type":"invalid"}}'
    [reply], raw = ask(lambda *_: http(body, "401 Unauthorized"), api_key="sk-secret-1")
    assert b"Authorization: Bearer sk-secret-1\r\n" in raw.requests[0]
    assert reply.failure.kind is FailureClass.AUTHENTICATION
    assert reply.failure.message == "Incorrect API key provided: <redacted>"


@pytest.mark.parametrize(
    "url",
    [
        *["", "localhost:8000", "ftp://h/v1", "http://", "http://h:99999/v1", "http://h:x/v1", "http://user:pw@h/v1"],
        *["http://h/v1?key=1", "http://h/v1#x", "http://h /v1", "http://höst/v1", "http://h/\r\nX: y", "http://[::1"],
    ],
)
def test_a_url_that_cannot_be_a_target_is_refused_without_its_password(url):
    with pytest.raises(BadTargetError) as caught:
        connect(url)
    assert "pw" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "root", "api"),
    [
        ("http://h", "", "/v1"),
        ("http://h:8000/", "", "/v1"),
        ("http://h/v1/", "", "/v1"),
        ("https://h/openai/v1", "/openai", "/v1"),
        ("https://h/api/v3", "/api/v3", "/api/v3"),
    ],
)
def test_the_base_url_names_root_and_api(url, root, api):
    target = connect(url).target
    assert target.root == root
    assert target.api == (root + api if api == "/v1" else api)


@pytest.mark.parametrize("key", ["a\r\nX-Evil: 1", "kéy", "a\0b"])
def test_a_key_that_http_cannot_carry_is_refused_and_not_shown(key):
    with pytest.raises(BadTargetError) as caught:
        connect("http://h", api_key=key)
    assert key not in str(caught.value)


def test_only_plain_http_proxies_are_taken():
    with pytest.raises(BadTargetError, match="socks5"):
        connect("http://h", proxy="socks5://127.0.0.1:1080")


def test_a_missing_certificate_file_is_refused(tmp_path):
    with pytest.raises(BadTargetError, match="cannot read certificates"):
        connect("https://h", ca_file=str(tmp_path / "none.pem"))
