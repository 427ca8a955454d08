"""The HTTP client over TLS and through proxies."""

from __future__ import annotations

import asyncio

import pytest
from wire_servers import ask, connect_proxy, http, kinds, raw_server

from dossier.runner.reference_server import ReferenceServer
from dossier.runner.schedule import Schedule
from dossier.wire.api import get_json, stream
from dossier.wire.client import Limits, connect
from dossier.wire.decode import Protocol
from dossier.wire.errors import FailureClass
from dossier.wire.loop import run


def test_tls_with_a_private_authority(certificates):
    [reply], _ = ask(
        lambda *_: http(b'{"a":1}'),
        url="https://localhost:{port}/v1",
        ca_file=certificates.ca_file,
        server={"ssl": certificates.server},
    )
    assert reply.data == {"a": 1}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_unknown_authority_is_a_tls_failure(certificates):
    [reply], raw = ask(lambda *_: http(), url="https://localhost:{port}/v1", server={"ssl": certificates.server})
    assert kinds([reply]) == [FailureClass.TLS]
    assert raw.requests == []


def test_plain_http_behind_https_is_a_tls_failure():
    [reply], _ = ask(lambda *_: http(), url="https://127.0.0.1:{port}/v1", limits=Limits(deadline_s=2))
    assert kinds([reply])[0] in {FailureClass.TLS, FailureClass.DEADLINE}


def through_proxy(answer, certificates, refusal=None, scheme="https", user=""):
    async def main():
        async with (
            raw_server(answer, ssl=certificates.server) as raw,
            connect_proxy(refusal) as proxy,
            connect(
                f"{scheme}://localhost:{raw.port}/v1",
                proxy=f"http://{user}127.0.0.1:{proxy.port}",
                ca_file=certificates.ca_file,
            ) as client,
        ):
            return await get_json(client, "/v1/x"), raw, proxy

    return run(main())


def test_https_goes_through_a_proxys_tunnel(certificates):
    reply, raw, proxy = through_proxy(lambda *_: http(b'{"a":1}'), certificates, user="me:pa%20ss@")
    assert reply.data == {"a": 1}
    assert reply.trace.proxied
    head = proxy.requests[0]
    assert head.startswith(f"CONNECT localhost:{raw.port} HTTP/1.1\r\n".encode())
    assert b"Proxy-Authorization: Basic bWU6cGEgc3M=\r\n" in head
    assert b"Proxy-Authorization" not in raw.requests[0]


def test_plain_http_is_asked_of_the_proxy_in_full(certificates):
    reply, raw, proxy = through_proxy(lambda *_: http(), certificates, scheme="http")
    assert reply.failure is None
    assert proxy.requests[0].startswith(f"GET http://localhost:{raw.port}/v1/x HTTP/1.1\r\n".encode())
    assert raw.requests == []


@pytest.mark.parametrize("proxied", [False, True], ids=["direct", "through a proxy"])
def test_a_stream_over_tls_is_timed_as_one_without(certificates, proxied):
    """Six tokens at 20 ms gaps after 50 ms, of a server that logs when it sent what; several streams at once."""
    schedule = Schedule(ttft_ms=50, gap_ms=20, tokens=6)

    async def main():
        async with (
            ReferenceServer(schedule, host="localhost", tls=certificates.server) as server,
            connect_proxy() as proxy,
            connect(
                server.base_url, proxy=f"http://127.0.0.1:{proxy.port}" if proxied else None,
                ca_file=certificates.ca_file,
            ) as client,
        ):  # fmt: skip
            body = {"model": "reference", "messages": [{"role": "user", "content": "one"}]}
            asked = (stream(client, Protocol.CHAT, body) for _ in range(3))
            return await asyncio.gather(*asked), server.log, len(proxy.connections)

    outcomes, log, tunnels = run(main())
    assert [outcome.failure for outcome in outcomes] == [None] * 3
    assert [len(outcome.arrivals) for outcome in outcomes] == [6] * 3
    assert tunnels == (3 if proxied else 0)
    first = min(served.sent_ns[0] for served in log)
    assert all(outcome.arrivals[0].at_ns >= first for outcome in outcomes)
    assert all(outcome.trace.connect_ns > 0 and outcome.trace.proxied == proxied for outcome in outcomes)


@pytest.mark.parametrize("refusal", [b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", b"", b"nonsense\r\n\r\n"])
def test_a_proxy_that_refuses_is_named(certificates, refusal):
    reply, _, _ = through_proxy(lambda *_: http(), certificates, refusal=refusal)
    assert reply.failure.kind is FailureClass.PROXY


def test_the_environments_proxy_is_never_used_for_loopback(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    [reply], _ = ask(lambda *_: http(), proxy="environment")
    assert reply.failure is None
    assert not reply.trace.proxied


def test_the_environments_proxy_is_used_for_other_hosts(monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    [reply], _ = ask(lambda *_: http(), proxy="environment", url="http://server.example/v1")
    assert kinds([reply]) == [FailureClass.PROXY]
