"""Where requests go: the base URL an operator writes, split into origin, root path and API path; and proxies."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from dossier.wire.errors import BadTargetError

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port."""

    scheme: str
    host: str
    port: int

    @property
    def authority(self) -> str:
        """`host` or `host:port` as the Host header wants it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def loopback(self) -> bool:
        """Does the name say this machine?"""
        return self.host in {"localhost", "::1"} or self.host.startswith("127.")

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}"


@dataclass(frozen=True, slots=True)
class Target:
    """An OpenAI-compatible server: `api` is the path of its `/v1`, `root` the path above that."""

    origin: Origin
    root: str
    api: str


@dataclass(frozen=True, slots=True)
class Proxy:
    """A plain-HTTP proxy and the value of its Proxy-Authorization header, if any."""

    origin: Origin
    authorization: str | None


def parse_target(base_url: str) -> Target:
    """Read `http://host:port`, `.../v1` or any other API base.

    A URL without a path gets `/v1`. Raises BadTargetError for anything that is not plain http(s) without
    credentials, query or fragment.
    """
    parts = _split(base_url)
    if parts.username is not None or parts.query or parts.fragment:
        raise BadTargetError(f"base URL must not carry credentials, a query or a fragment: {_shown(parts)}")
    path = parts.path.rstrip("/")
    api = path or "/v1"
    root = api.removesuffix("/v1")
    return Target(_origin(parts), root, api)


def parse_origin(url: str) -> tuple[Origin, str]:
    """Split an absolute URL into its origin and request target."""
    parts = _split(url)
    target = parts.path or "/"
    return _origin(parts), f"{target}?{parts.query}" if parts.query else target


def parse_proxy(url: str) -> Proxy:
    """Read a proxy URL, with or without credentials. Raises BadTargetError for other than http."""
    parts = _split(url if "://" in url else f"http://{url}")
    if parts.scheme != "http":
        raise BadTargetError(f"only http:// proxies are supported, not {parts.scheme}://")
    if parts.username is None:
        return Proxy(_origin(parts), None)
    user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return Proxy(_origin(parts), "Basic " + base64.b64encode(user.encode()).decode())


def environment_proxy(origin: Origin) -> Proxy | None:
    """The proxy that the environment names for this origin; never one for a loopback address."""
    if origin.loopback or proxy_bypass(f"{origin.host}:{origin.port}"):
        return None
    proxies = getproxies()
    url = proxies.get(origin.scheme) or proxies.get("all")
    return parse_proxy(url) if url else None


def _split(url: str) -> SplitResult:
    if any(ord(char) <= 32 or ord(char) >= 127 for char in url):
        raise BadTargetError("a URL must be plain ASCII without spaces (write an international name as xn--...)")
    try:
        parts = urlsplit(url)
        port_is_fine = parts.port is None or parts.port > 0
    except ValueError as error:
        raise BadTargetError(f"not a URL: {error}") from error
    if parts.scheme not in _PORTS or not parts.hostname or not port_is_fine:
        raise BadTargetError(f"not an http:// or https:// URL with a host: {_shown(parts)}")
    return parts


def _origin(parts: SplitResult) -> Origin:
    return Origin(parts.scheme, parts.hostname or "", parts.port or _PORTS[parts.scheme])


def _shown(parts: SplitResult) -> str:
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
