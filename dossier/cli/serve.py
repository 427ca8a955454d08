"""`dossier serve`: build, serve, and rebuild once for a change."""

from __future__ import annotations

import functools
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import click
from watchfiles import watch

from dossier.cli.build import progress_display, tell
from dossier.cli.project import open_cache, require_project
from dossier.errors import DossierError, UsageError
from dossier.pages.build import build as build_site

_SCRIPT_PATH = "/_dossier/reload.js"
_EVENTS_PATH = "/_dossier/events"
_SCRIPT = f"new EventSource('{_EVENTS_PATH}').onmessage = () => location.reload();"
_TAG = f'<script src="{_SCRIPT_PATH}"></script></body>'
_KEEP_ALIVE_SECONDS = 15


class Changes:
    """A count of finished builds that open pages wait on."""

    def __init__(self) -> None:
        self.builds = 0
        self.condition = threading.Condition()

    def announce(self) -> None:
        """Tell every open page that the site changed."""
        with self.condition:
            self.builds += 1
            self.condition.notify_all()

    def wait(self, seen: int) -> int:
        """The number of builds, once it differs from the one seen or some seconds have passed."""
        with self.condition:
            self.condition.wait_for(lambda: self.builds != seen, _KEEP_ALIVE_SECONDS)
            return self.builds


class Handler(SimpleHTTPRequestHandler):
    """Serves the site; pages get a script that reloads them after a build."""

    def __init__(self, *args: Any, changes: Changes, **kwargs: Any) -> None:
        self.changes = changes
        super().__init__(*args, **kwargs)

    def do_GET(self) -> None:
        """Answer a page, a file, the script, or the stream of changes."""
        path = self.translate_path(self.path)
        page = Path(path, "index.html") if self.path.endswith("/") else Path(path)
        if self.path == _EVENTS_PATH:
            self._events()
        elif self.path == _SCRIPT_PATH:
            self._send(_SCRIPT.encode(), "text/javascript")
        elif page.suffix == ".html" and page.is_file():
            self._send(page.read_text("utf-8").replace("</body>", _TAG, 1).encode(), "text/html; charset=utf-8")
        else:
            super().do_GET()

    def _send(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def _events(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        seen = self.changes.builds
        try:
            while True:
                now = self.changes.wait(seen)
                self.wfile.write(b"data: built\n\n" if now != seen else b": still here\n\n")
                self.wfile.flush()
                seen = now
        except OSError:  # the page was closed
            return

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Stay quiet: builds are what the terminal shows."""


@click.command()
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535))
@click.option("--evidence", default="evidence", show_default=True, help="The evidence folder.")
def serve(port: int, evidence: str) -> None:
    """Build the site, serve it on this machine, and rebuild it once for every change; open pages reload."""
    project = require_project(evidence)
    changes = Changes()
    site = project / "build" / "served"
    _build(project, site, evidence)
    site.mkdir(parents=True, exist_ok=True)
    handler = functools.partial(Handler, directory=str(site), changes=changes)
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    except OSError as error:
        raise UsageError(f"port {port}: {error.strerror}; choose another with --port") from error
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    click.echo(f"http://127.0.0.1:{server.server_port}/  (Ctrl-C ends it)", err=True)
    watched = [project / name for name in (evidence, "docs", "templates", "mkdocs.yml") if (project / name).exists()]
    for _ in watch(*watched, raise_interrupt=True):
        _build(project, site, evidence)
        changes.announce()


def _build(project: Path, site: Path, evidence: str) -> None:
    """One build; what is wrong is shown, and the last good site goes on being served."""
    try:
        with open_cache(project / evidence) as cache, progress_display() as progress:
            tell(build_site(project, site, evidence, cache, progress), site)
    except DossierError as error:
        click.echo(f"dossier: {error}", err=True)
