"""What became of a sample, and what makes a request a good one."""

from __future__ import annotations

from enum import StrEnum

from dossier.model.base import Figure, Part


class Goal(Part):
    """Latency limits in milliseconds; a request is good that meets all of them."""

    ttft_ms: Figure | None = None
    tpot_ms: Figure | None = None
    e2e_ms: Figure | None = None


class Outcome(StrEnum):
    """What became of one sample."""

    PASSED = "passed"
    MISSED = "missed"
    FAILED = "failed"
