"""The style guide filled into the real shell, served over HTTP and opened in Chromium."""

from __future__ import annotations

import functools
import http.server
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright
from style_guide import HOSTILE, PATH, PROJECT, style_guide_body

from dossier.pages.shell import SearchEntry, build_shells

CHROMIUM = os.environ.get("DOSSIER_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    shells = build_shells(PROJECT, tmp_path_factory.mktemp("work"))
    for name, source in shells.static_files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, folder / name)
    entry = SearchEntry(
        PATH, "ormandj runtime v0.4.2", "strict turnover retained baseline <img src=x onerror=alert(1)>"
    )
    texts = shells.search_files([entry])
    for section, path in (("Findings", PATH), ("Home", ""), ("Findings", "findings/")):
        texts[f"{path}index.html"] = shells.fill(
            section, path, title="Style guide " + HOSTILE, description=HOSTILE, body=style_guide_body()
        ).decode()
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_args):
        pass


@pytest.fixture(scope="session")
def base_url(site):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="session")
def site_url(tmp_path_factory):
    project = tmp_path_factory.mktemp("project")
    shutil.copy(PROJECT / "mkdocs.yml", project)
    for folder in ("docs", "evidence"):
        shutil.copytree(PROJECT / folder, project / folder)
    env = {"PATH": "/usr/bin:/bin", "DOSSIER_CACHE": "off", "PYTHONPATH": str(PROJECT)}
    subprocess.run(
        [sys.executable, "-m", "dossier.cli.main", "build"], cwd=project, env=env, check=True, capture_output=True
    )
    handler = functools.partial(_Quiet, directory=str(Path(project, "site")))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def browser():
    # One a module: the driver keeps an event loop running in this thread, and other tests start their own.
    assert CHROMIUM is not None, "no Chromium here: run tests/browser/install-chromium.sh, or set DOSSIER_CHROMIUM"
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(
            executable_path=CHROMIUM,
            args=[
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
            ],
        )
        yield chromium
        chromium.close()


class Visit:
    """A page with what it asked the network for and what it complained about."""

    def __init__(self, page):
        self.page = page
        self.requests: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("requestfailed", lambda request: self.complaints.append(f"failed: {request.url}"))


@pytest.fixture
def open_page(browser, base_url):
    contexts = []

    def open_it(path: str = PATH, *, width: int = 1440, scheme: str = "light", base: str = base_url) -> Visit:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        visit = Visit(context.new_page())
        visit.page.goto(base + path, wait_until="load")
        return visit

    yield open_it
    for context in contexts:
        context.close()
