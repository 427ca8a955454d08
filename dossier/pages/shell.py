"""The shell of the site: everything around an article, made once by mkdocs-material and then filled.

mkdocs builds the hand-written pages and one empty page for each section and depth. A derived page is made by
putting its title, description and article into the empty page of its place. A build whose shell did not change
never starts mkdocs (`shellbuild`).
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from dossier.errors import RenderError
from dossier.pages.article import article
from dossier.pages.shellbuild import cached_shell

SECTIONS: Mapping[str, str] = MappingProxyType(
    {
        "Home": "",
        "Models": "models/",
        "Findings": "findings/",
        "Recipes": "recipes/",
        "Identities": "identities/",
        "Hardware": "hardware/",
        "Artifacts": "artifacts/",
        "Decisions": "decisions/",
        "Methodology": "methodology/",
    }
)
"""Navigation tab -> path of its index page. The last tab, About, is written by hand."""

MAX_DEPTH = 2
_SLOTS = re.compile(
    r'dossier-title-slot|dossier-description-slot|<div class="dossier-article-slot"></div>'
    r'|(?<=<link rel="canonical" href=")[^"]*(?=">)'
)
_NEIGHBOURS = re.compile(r'<link rel="(?:prev|next)"[^>]*>')
_INLINE_SCRIPT = re.compile(r"<script(?![^>]*\b(?:src|type)=)[^>]*>(.*?)</script>", re.DOTALL)
_CHARSET = '<meta charset="utf-8">'
_POLICY = (
    "default-src 'self'; script-src 'self' {hashes}; style-src 'self'; img-src 'self' data:; "
    "object-src 'none'; base-uri 'none'; form-action 'none'"
)
_HASH = re.compile(r"'sha256-[A-Za-z0-9+/=]+'")
_NOT_COPIED = re.compile(r"_shell/|sitemap\.xml|search/search_index\.|.*\.map$")


@dataclass(frozen=True, slots=True)
class SearchEntry:
    """One hit of the site search: where it leads (`findings/x/#limits`), its title, and the words it is found by."""

    location: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Shells:
    """The empty pages of a site, and the finished files that go beside the derived ones."""

    folder: Path
    site_url: str
    was_built: bool
    _pages: Mapping[tuple[str, int], tuple[bytes, ...]]

    def fill(self, section: str, path: str, *, title: str, description: str, body: str) -> bytes:
        """A whole page. `path` is its place, such as `findings/x/` (the home page is empty), which gives the depth.

        `title` and `description` are plain text; `body` is finished, trusted HTML. The page is in UTF-8.
        """
        shell = self._pages.get((section, path.count("/")))
        if shell is None:
            raise RenderError(f"{path}: no page of section {section} lies so deep")
        values = {
            b"dossier-title-slot": html.escape(str(title)).encode(),
            b"dossier-description-slot": html.escape(str(description)).encode(),
            b'<div class="dossier-article-slot"></div>': article(body),
            b"canonical": html.escape(self.site_url + path).encode(),
        }
        return b"".join(values[part] if odd else part for odd, part in _numbered(shell))

    def static_files(self) -> dict[str, Path]:
        """Site path -> file for all that is finished: hand-written pages, styles, scripts, the 404 page."""
        shells = {f"{path}index.html" for path in SECTIONS.values()}
        files = ((path.relative_to(self.folder).as_posix(), path) for path in sorted(self.folder.rglob("*")))
        return {
            name: path for name, path in files if path.is_file() and name not in shells and not _NOT_COPIED.match(name)
        }

    def search_files(self, entries: Iterable[SearchEntry]) -> dict[str, str]:
        """Site path -> text of the search index: hand-written pages and the given entries, in their order.

        The second form is read when the site is opened from a folder, where a page may not fetch.
        """
        index = json.loads((self.folder / "search/search_index.json").read_text("utf-8"))
        index["docs"] += [_document(entry) for entry in entries]
        text = json.dumps(index, ensure_ascii=False, separators=(",", ":"))
        return {"search/search_index.json": text, "search/search_index.js": f"var __index={text}"}

    def headers(self) -> str:
        """What hosts that read a `_headers` file send with every page: the policy that allows the scripts of any."""
        pages = (path.read_text("utf-8") for path in sorted(self.folder.rglob("*.html")))
        hashes = sorted({found for page in pages for found in _HASH.findall(page)})
        policy = f"{_POLICY.format(hashes=' '.join(hashes))}; frame-ancestors 'none'"
        told = {
            "Content-Security-Policy": policy,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
        }
        lines = "".join(f"  {name}: {value}\n" for name, value in told.items())
        feeds = "/feeds/*.xml\n  Content-Type: application/atom+xml; charset=utf-8\n"
        return f"/*\n{lines}{feeds}/feeds/*.json\n  Content-Type: application/feed+json; charset=utf-8\n"

    def sitemap(self, paths: Iterable[str]) -> str | None:
        """The sitemap of the derived paths and the hand-written pages; None where no `site_url` is set."""
        if not self.site_url:
            return None
        written = {name.removesuffix("index.html") for name in self.static_files() if name.endswith("index.html")}
        places = sorted({*paths, *written})
        lines = [f"<url><loc>{html.escape(self.site_url + place)}</loc></url>" for place in places]
        head = '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
        return "\n".join([head, *lines, "</urlset>\n"])


def build_shells(project: Path, work: Path) -> Shells:
    """The shells of a project; mkdocs runs only when something that feeds them changed.

    `work` is a folder for derived files, usually `build/`.
    """
    sources = {name: _source(section) for section, _, name in _places()}
    folder, fresh = cached_shell(project, work, sources, _finish)
    home = (folder / "index.html").read_text("utf-8")
    canonical = re.search(r'<link rel="canonical" href="([^"]*)">', home)
    pages = {(section, depth): _cut(folder / _output(name)) for section, depth, name in _places()}
    return Shells(folder, html.unescape(canonical[1]) if canonical else "", fresh, MappingProxyType(pages))


def _places() -> Iterator[tuple[str, int, str]]:
    """Each shell: its section, its depth, and the Markdown file it is made from."""
    for section, path in SECTIONS.items():
        yield (section, 1, f"{path}index.md") if path else (section, 0, "index.md")
        yield section, 2, f"_shell/{section.lower()}.md"
    yield "Home", 1, "_shell.md"


def _output(name: str) -> str:
    return name.replace(".md", ".html") if name.endswith("index.md") else name.replace(".md", "/index.html")


def _source(section: str) -> bytes:
    return (
        "---\ntitle: dossier-title-slot\ndescription: dossier-description-slot\n"
        f"section: {section}\nhide: [navigation, toc]\nsearch: {{exclude: true}}\n---\n\n"
        '<div class="dossier-article-slot"></div>\n'
    ).encode()


def _finish(folder: Path) -> None:
    """Take the indentation out of the shells, and give every page its content security policy."""
    for path in folder.rglob("*.html"):
        page = path.read_text("utf-8")
        if "dossier-article-slot" in page:
            page = re.sub(r"\n\s+", "\n", _NEIGHBOURS.sub("", page))
        path.write_text(_with_policy(page), "utf-8")


def _with_policy(page: str) -> str:
    """Allow the inline scripts of the page by their digests, and nothing from elsewhere."""
    digests = (hashlib.sha256(script.encode()).digest() for script in _INLINE_SCRIPT.findall(page))
    hashes = " ".join(dict.fromkeys(f"'sha256-{base64.b64encode(each).decode()}'" for each in digests))
    policy = f'<meta http-equiv="Content-Security-Policy" content="{_POLICY.format(hashes=hashes)}">'
    return page.replace(_CHARSET, f"{_CHARSET}\n{policy}", 1)


def _cut(path: Path) -> tuple[bytes, ...]:
    """A shell as literal text at even places and the name of a slot at odd ones."""
    page = path.read_text("utf-8")
    parts: list[str] = []
    start = 0
    for slot in _SLOTS.finditer(page):
        name = slot[0] if "dossier-" in slot[0] else "canonical"
        parts += [page[start : slot.start()], name]
        start = slot.end()
    return tuple(part.encode() for part in (*parts, page[start:]))


def _numbered(parts: tuple[bytes, ...]) -> Iterator[tuple[bool, bytes]]:
    return ((bool(index % 2), part) for index, part in enumerate(parts))


def _document(entry: SearchEntry) -> dict[str, str]:
    """The search shows titles and texts as HTML, so they go in escaped."""
    return {
        "location": entry.location,
        "title": html.escape(entry.title, quote=False),
        "text": html.escape(entry.text, quote=False),
    }
