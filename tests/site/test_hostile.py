"""Text of a record is shown literally wherever it stands: no field of any record can put an element on a page."""

from __future__ import annotations

import json
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import feedparser
import pytest
import yaml
from projects import ROOT, dossier, make_project, tree

from dossier.source import read_document

HOSTILE = (
    "</script><img src=x onerror=alert(1)>{{7*7}}{% raw %}\"onmouseover='alert(1)' </pre></table><svg/onload=alert(2)>"
)
BENIGN = "plain words"
# Fields that hold free text, wherever they stand.
FREE = re.compile(
    r"title|name|scope|summary|caveat|why_it_matters|narrative|note|notes|what|because|reason|limitation|by|about|holds|"
    r"text|words|where|rule|license|engine|version|served_name|quantization|os|driver|redactions|no_artifacts|probe"
)


class Tags(HTMLParser):
    """Counts start tags with the names of their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: Counter[tuple[str, tuple[str, ...]]] = Counter()
        self.values: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen[tag, tuple(sorted(name for name, _ in attrs))] += 1
        self.values += [value or "" for _, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def _with(text: str, data: Any, key: str = "") -> Any:
    if key == "excluded":  # its reason is a word of a closed list
        return data
    if isinstance(data, dict):
        unknown = set(data) == {"unknown"}
        return {k: text if unknown else _with(text, v, k) for k, v in data.items()}
    if isinstance(data, list):
        return [_with(text, item, key) for item in data]
    return text if FREE.fullmatch(key) else data


def _site(folder: Path, text: str) -> dict[str, bytes]:
    project = make_project(folder, ROOT / "tests/evidence/base")
    for file in sorted((project / "evidence").rglob("*.yaml")):
        document, problems = read_document(file.read_bytes(), file.name)
        assert document is not None, problems
        file.write_text(yaml.safe_dump(_with(text, document.data), sort_keys=False, allow_unicode=True), "utf-8")
    assert dossier(project, "pin", "evidence").returncode == 0
    done = dossier(project, "build")
    assert done.returncode == 0, done.stdout
    return tree(project / "site")


@pytest.fixture(scope="module")
def sites(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    return _site(folder / "benign", BENIGN), _site(folder / "hostile", HOSTILE)


def test_no_text_becomes_an_element_or_an_attribute(sites):
    benign, hostile = sites
    pages = [name for name in hostile if name.endswith(".html")]
    assert [name for name in benign if name.endswith(".html")] == pages
    shown = 0
    for name in pages:
        before, after = Tags(), Tags()
        before.feed(benign[name].decode())
        after.feed(hostile[name].decode())
        assert after.seen == before.seen, name
        assert not [v for v in after.values if v.lower().startswith("javascript:")], name
        shown += HOSTILE in "".join(after.text)
    assert shown > 10


def test_the_search_index_stays_valid_and_holds_no_markup(sites):
    _, hostile = sites
    index = json.loads(hostile["search/search_index.json"])
    for entry in index["docs"]:
        assert "<img" not in entry["title"] + entry["text"]


def test_feeds_stay_valid_and_hold_the_text_as_text(sites):
    _, hostile = sites
    feeds = [name for name in hostile if name.startswith("feeds/") and name.endswith(".xml")]
    titles = []
    for name in feeds:
        read = feedparser.parse(hostile[name])
        assert not read.bozo, name
        titles += [(entry.title_detail.type, entry.title) for entry in read.entries]
        json.loads(hostile[name.removesuffix("xml") + "json"])
    assert ("text/plain", HOSTILE) in titles


def test_a_template_in_a_text_is_not_executed(sites):
    _, hostile = sites
    assert all(b"49{% raw" not in page for page in hostile.values())
