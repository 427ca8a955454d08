"""Small pictures whose content is known because they are drawn here: shapes in plain colours, and large digits.

A picture is rows of palette indices, written as an indexed PNG by the standard library alone. Its digest is of the
pixels, which are the same everywhere; the compressed bytes of a file may not be.
"""

from __future__ import annotations

import base64
import math
import struct
import zlib
from dataclasses import dataclass, field

from dossier.digest import sha256_hex

COLOURS = {
    "white": (255, 255, 255), "black": (0, 0, 0), "red": (214, 39, 40), "blue": (31, 84, 200),
    "green": (40, 150, 60), "yellow": (245, 210, 40), "purple": (130, 60, 170),
}  # fmt: skip
SHAPES = ("circle", "square", "triangle")
_NAMES = list(COLOURS)
_DIGITS = (
    "111101101101111", "010110010010111", "111001111100111", "111001111001111", "101101111001001",
    "111100111001111", "111100111101111", "111001001001001", "111101111101111", "111101111001111",
)  # fmt: skip


@dataclass(slots=True)
class Picture:
    """A white square of `side` pixels to draw on; positions and sizes are in pixels from the top left."""

    side: int
    rows: list[bytearray] = field(init=False)

    def __post_init__(self) -> None:
        self.rows = [bytearray(self.side) for _ in range(self.side)]

    def shape(self, kind: str, colour: str, x: int, y: int, size: int) -> None:
        """A shape that fits a square of `size`, with its corner at x, y."""
        for row in range(size):
            left, right = _span(kind, row, size)
            self._fill(colour, y + row, x + left, x + right)

    def number(self, digits: str, x: int, y: int, size: int) -> None:
        """Black digits, each 3 by 5 blocks of `size` pixels, a block apart."""
        for place, digit in enumerate(digits):
            for at, block in enumerate(_DIGITS[int(digit)]):
                if block == "1":
                    left, top = x + (4 * place + at % 3) * size, y + at // 3 * size
                    for row in range(top, top + size):
                        self._fill("black", row, left, left + size)

    def _fill(self, colour: str, row: int, left: int, right: int) -> None:
        if 0 <= row < self.side:
            left, right = max(0, left), min(self.side, right)
            self.rows[row][left:right] = bytes([_NAMES.index(colour)]) * max(0, right - left)

    @property
    def digest(self) -> str:
        """SHA-256 of the pixels, row by row."""
        return sha256_hex(b"".join(self.rows))

    def png(self) -> bytes:
        """The picture as an indexed PNG."""
        head = struct.pack(">IIBBBBB", self.side, self.side, 8, 3, 0, 0, 0)
        palette = b"".join(bytes(rgb) for rgb in COLOURS.values())
        pixels = zlib.compress(b"".join(b"\0" + bytes(row) for row in self.rows), 9)
        chunks = ((b"IHDR", head), (b"PLTE", palette), (b"IDAT", pixels), (b"IEND", b""))
        return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)

    def url(self) -> str:
        """The PNG as a data URL."""
        return f"data:image/png;base64,{base64.b64encode(self.png()).decode()}"


def _span(kind: str, row: int, size: int) -> tuple[int, int]:
    if kind == "square":
        return 0, size
    if kind == "triangle":
        half = (row + 1) / size * size / 2
        return round(size / 2 - half), round(size / 2 + half)
    middle = size / 2
    half = math.sqrt(max(0.0, middle**2 - (row + 0.5 - middle) ** 2))
    return round(middle - half), round(middle + half)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
