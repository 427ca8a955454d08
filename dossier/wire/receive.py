"""Receivers: a bounded body, and a body handed on as it arrives; both undo gzip and deflate."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from dossier.wire.errors import FailureClass, WireError
from dossier.wire.trace import Trace

_STEP = 1024 * 1024


class Decoder(Protocol):
    """Undoes a content encoding."""

    def __call__(self, data: bytes, limit: int) -> bytes:
        """Return the plain bytes of this piece, stopping soon after `limit` of them."""


@dataclass(slots=True)
class Body:
    """Collects a reply's body, at most `limit` plain bytes."""

    limit: int
    data: bytearray = field(default_factory=bytearray)
    _decode: Decoder | None = None

    def begin(self, trace: Trace) -> None:
        """Start anew; the decoder follows the content encoding."""
        self.data.clear()
        self._decode = decoder_for(trace.headers.get("content-encoding", ""))

    def body(self, at_ns: int, data: bytes) -> bool:  # noqa: ARG002
        """Take a piece. Raises WireError (oversize-body)."""
        plain = self._decode(data, self.limit + 1) if self._decode else data
        self.data += plain
        if len(self.data) > self.limit:
            raise WireError(FailureClass.OVERSIZE_BODY, f"the body exceeds {self.limit} bytes")
        return False


@dataclass(slots=True)
class Stream:
    """Hands a 2xx event stream on; any other reply is collected in `other`.

    `sink` gets the stamp of the read and plain bytes, and returns True once the stream has said that it is over.
    """

    sink: Callable[[int, bytes], bool]
    limit: int
    other: Body
    is_stream: bool = False
    _taken: int = 0
    _decode: Decoder | None = None

    def begin(self, trace: Trace) -> None:
        """Decide by status and content type."""
        kind = trace.headers.get("content-type", "").lower()
        success = trace.status is not None and 200 <= trace.status < 300
        self.is_stream = success and "json" not in kind and "html" not in kind
        self._decode = decoder_for(trace.headers.get("content-encoding", ""))
        self.other.begin(trace)

    def body(self, at_ns: int, data: bytes) -> bool:
        """Take a piece. Raises WireError (oversize-body, and whatever the sink raises)."""
        if not self.is_stream:
            return self.other.body(at_ns, data)
        if self._decode is not None:
            data = self._decode(data, self.limit + 1)
        self._taken += len(data)
        if self._taken > self.limit:
            raise WireError(FailureClass.OVERSIZE_BODY, f"the stream exceeds {self.limit} bytes")
        return self.sink(at_ns, data)


def decoder_for(encoding: str) -> Decoder | None:
    """The decoder of a Content-Encoding; None for identity. Raises WireError (http-protocol) for others."""
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return None
    if name in ("gzip", "x-gzip", "deflate"):
        return _inflater()
    raise WireError(FailureClass.HTTP_PROTOCOL, f"content encoding {name[:40]!r} was not asked for")


def _inflater() -> Decoder:
    inflate = zlib.decompressobj(wbits=47)  # gzip or zlib, told by its header

    def decode(data: bytes, limit: int) -> bytes:
        plain = bytearray()
        try:
            while len(plain) < limit:
                piece = inflate.decompress(data, _STEP)
                plain += piece
                data = inflate.unconsumed_tail
                if len(piece) < _STEP and not data:
                    break
        except zlib.error as error:
            raise WireError(FailureClass.HTTP_PROTOCOL, f"broken compressed body: {error}") from error
        return bytes(plain)

    return decode
