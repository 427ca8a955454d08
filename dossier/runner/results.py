"""What other harnesses wrote, taken from the journal as artifacts of the finding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dossier.digest import sha256_hex
from dossier.runner.probes.external import results_name
from dossier.runner.told import Told


def results_of(told: Told) -> Iterator[tuple[str, bytes | None, dict[str, Any]]]:
    """Every results file: its name, its bytes as the journal keeps them (None where it was too large), its entry."""
    for spec in told.plan.populations:
        for entry in told.samples(spec.id):
            kept = entry.get("facts", {}).get("artifact")
            if kept is not None:
                name = results_name(spec.id, entry["index"])
                data = kept["text"].encode() if "text" in kept else None
                yield name, data, _listed(name, data, kept)


def _listed(name: str, data: bytes | None, kept: dict[str, Any]) -> dict[str, Any]:
    told = {"id": f"file-{name.removesuffix('.json')}", "media_type": "application/json"}
    title = "Results as another harness wrote them"
    if data is None:
        why = "Too large to publish; the operator keeps it."
        return {**told, "title": title, "private": why, "bytes": kept["bytes"], "sha256": kept["sha256"]}
    digest = sha256_hex(data)
    scrubbed = "" if digest == kept["sha256"] else f"; scrubbed, as written its sha256 was {kept['sha256']}"
    return {**told, "title": title + scrubbed, "path": name, "bytes": len(data), "sha256": digest}
