"""The digest of this package's own code and data: what a cache holds is good only for the code that made it."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path


@cache
def code_stamp() -> str:
    """Twelve hex digits over every module of the package."""
    digest = hashlib.sha256()
    package = Path(__file__).resolve().parent
    for file in sorted(file for kind in ("*.py", "*.yaml") for file in package.rglob(kind)):
        digest.update(file.relative_to(package).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:12]
