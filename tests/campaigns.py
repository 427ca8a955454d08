"""What tests of live campaigns share: the planted server, a port for it, and an end to whatever is left."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

from dossier.runner.journal import read_journal

PLANTED = Path(__file__).parent / "planted_server.py"


def free_port():
    """A port that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def leave_none_running(journal):
    """Stop every server that the journal says was started."""
    for entry in read_journal(journal.read_bytes()).of("server-started") if journal.exists() else ():
        try:
            os.killpg(entry["pid"], signal.SIGKILL)
        except ProcessLookupError:
            continue
