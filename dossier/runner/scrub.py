"""What leaves the runner is scrubbed: the run's own secrets in any spelling, then whatever looks like one."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from urllib.parse import quote, urlsplit

from dossier.redact import redact

MARK = "[redacted secret]"
SERVER = "[server]"
QUOTED = "[quoted prompt]"
_SHORTEST_LEAK = 8
_SHORTEST_QUOTE = 16


@dataclass(frozen=True, slots=True)
class Scrub:
    """Takes secrets out of texts and of JSON data."""

    spellings: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()

    @classmethod
    def of(cls, secrets: Iterable[str], base_urls: Iterable[str] = ()) -> Scrub:
        """A scrubber that knows these secrets, plain, in a URL, and in Base64; and the servers' addresses."""
        found = {spelling for secret in secrets if secret for spelling in _spellings(secret)}
        hosts = {urlsplit(url).netloc.rpartition("@")[2] for url in base_urls}
        servers = [host for host in hosts if len(host) >= _SHORTEST_LEAK or ":" in host]
        return cls(tuple(sorted(found, key=len, reverse=True)), tuple(sorted(servers, key=len, reverse=True)))

    def text(self, text: str) -> str:
        """The text without secrets, home paths, private addresses and the like."""
        for spelling in self.spellings:
            text = text.replace(spelling, MARK)
        for server in self.servers:
            text = text.replace(server, SERVER)
        return redact(text) if len(text) >= _SHORTEST_LEAK else text

    def data(self, value: Any) -> Any:
        """JSON data with every text in it scrubbed, keys too."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(key): self.data(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.data(item) if isinstance(item, str | dict | list | tuple) else item for item in value]
        return value


def unquoted(text: str, prompt: str) -> str:
    """The text without what it quotes of a prompt: every stretch of 16 characters that stands in both, and longer."""
    plain = " ".join(prompt.split())
    size = min(_SHORTEST_QUOTE, max(1, len(plain)))
    quoted = bytearray(len(text))
    for start in range(len(text) - size + 1):
        if text[start : start + size] in plain:
            quoted[start : start + size] = b"\1" * size
    runs = groupby(zip(text, quoted, strict=True), key=lambda pair: pair[1])
    return "".join(QUOTED if is_quote else "".join(char for char, _ in run) for is_quote, run in runs)


def _spellings(secret: str) -> set[str]:
    raw = secret.encode()
    coded = {base64.b64encode(raw).decode().rstrip("="), base64.urlsafe_b64encode(raw).decode().rstrip("=")}
    return {secret, quote(secret, safe=""), *coded}
