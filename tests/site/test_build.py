"""`dossier build`: what is published, when nothing is, and that the same evidence gives the same bytes."""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from projects import ROOT, dossier, make_project, tree

from dossier.cache import Cache
from dossier.catalog import load_catalog
from dossier.checks.rules import rule_docs
from dossier.pages.asof import day_path, days_of_change
from dossier.pages.context import Site
from dossier.pages.environment import environment
from dossier.pages.shell import SECTIONS
from dossier.pages.swap import MARKER


def test_every_record_has_its_page(corpus_site):
    catalog = load_catalog(ROOT / "evidence", Cache(None))
    expected = {f"{folder}/{id_}/index.html" for folder, id_ in catalog.entries if folder != "metrics"}
    expected |= {f"{path}index.html" for path in SECTIONS.values()}
    expected |= {f"methodology/{rule.replace('/', '-')}/index.html" for rule in rule_docs()}
    pages = {name for name in tree(corpus_site) if name.endswith("index.html")}
    assert expected <= pages
    expected |= {f"findings/{s.date.year}/index.html" for s in catalog.dated} | {
        "whats-new/index.html",
        "compare/index.html",
        "data/index.html",
    }
    expected |= {f"{day_path(day)}index.html" for day in days_of_change(Site(catalog, environment(ROOT)))}
    recipes = [(catalog.recipe(id_), id_) for id_ in catalog.ids("recipes")]
    expected |= {f"recipes/{r.derived_from}--{id_}/index.html" for r, id_ in recipes if r and r.derived_from}
    expected |= {f"findings/{old}--{s.id}/index.html" for s in catalog.dated for old in s.links.supersedes}
    assert pages - expected == {"about/index.html"}


def test_every_link_inside_the_site_leads_somewhere(corpus_site):
    files = tree(corpus_site)
    ids = {
        name: set(re.findall(r'\bid="([^"]+)"', page.decode()))
        for name, page in files.items()
        if name.endswith(".html")
    }
    broken = []
    for name in ids:
        if name == "404.html":  # its links are absolute
            continue
        for href in re.findall(r'(?:href|src)="([^"]*)"', files[name].decode()):
            if re.match(r"https:|mailto:|data:", href):
                continue
            path, _, fragment = href.partition("#")
            path = path.partition("?")[0]
            folder = posixpath.dirname(name)
            target = posixpath.normpath(posixpath.join("/", folder, path)).lstrip("/") if path else name
            file = target if target in files else f"{target}/index.html".lstrip("/")
            if file not in files or (fragment and fragment not in ids.get(file, {fragment})):
                broken.append((name, href))
    assert broken == []


def test_no_page_asks_for_anything_from_elsewhere(corpus_site):
    for name, page in tree(corpus_site).items():
        if name.endswith(".html"):
            sources = re.findall(rb'<(?:script|img|iframe|link|source)\b[^>]*(?:src|href)="(https?:[^"]*)"', page)
            assert [s for s in sources if b"canonical" not in s] == [], name


def test_the_manifest_holds_the_digest_of_every_other_file(corpus_site):
    files = tree(corpus_site)
    told = json.loads(files["manifest.json"])
    others = {name: hashlib.sha256(data).hexdigest() for name, data in files.items() if name != "manifest.json"}
    del others[MARKER]
    assert told == {"schema": "dossier/manifest/v1", "files": others}


def test_the_header_file_allows_the_scripts_of_every_page_and_no_frame(corpus_site):
    files = tree(corpus_site)
    headers = files["_headers"].decode()
    hashes = {h for name, page in files.items() if name.endswith(".html") for h in re.findall(rb"'sha256-[^']+'", page)}
    assert hashes
    assert all(h.decode() in headers for h in hashes)
    assert "frame-ancestors 'none'" in headers
    assert "unsafe" not in headers


def test_the_same_evidence_gives_the_same_bytes_anywhere(tmp_path):
    one = make_project(tmp_path / "one", ROOT / "evidence")
    other = tmp_path / "a" / "far folder"
    other.mkdir(parents=True)
    for source in sorted(one.rglob("*"), reverse=True):  # files come into being in another order
        if source.is_file():
            target = other / source.relative_to(one)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    first = dossier(one, "build", TZ="UTC", PYTHONHASHSEED="0", LC_ALL="C")
    second = dossier(other, "build", TZ="Asia/Kolkata", PYTHONHASHSEED="1", LC_ALL="tr_TR.UTF-8")
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert tree(one / "site") == tree(other / "site")


def test_a_second_build_makes_nothing_anew_and_changes_nothing(project):
    assert dossier(project, "build").returncode == 0
    before = tree(project / "site")
    done = dossier(project, "build")
    assert "(0 made anew)" in done.stderr
    assert tree(project / "site") == before


def _edit(file: Path, old: str, new: str) -> None:
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new), "utf-8")


def _decide_otherwise(project: Path) -> None:
    _edit(project / "evidence/findings/2026-01-20-second.yaml", "outcome: no-promotion", "outcome: reject")


def _retitle(project: Path) -> None:
    _edit(project / "evidence/recipes/demo-a.yaml", "title: ", "title: Another ")
    assert dossier(project, "pin", "evidence").returncode == 0


def _measure_otherwise(project: Path) -> None:
    _edit(project / "evidence/findings/2026-01-20-second.yaml", "value: 90.00 tok/s", "value: 90.01 tok/s")


def _supersede(project: Path) -> None:
    finding = """\
schema: dossier/finding/v1
id: 2027-01-01-later
title: A later one
date: 2027-01-01
kind: recheck
provenance: reported
models: [demo]
summary: Looked at again.
links: {supersedes: [2026-01-25-hearsay]}
"""
    (project / "evidence/findings/2027-01-01-later.yaml").write_text(finding, "utf-8")


def _rename(project: Path) -> None:
    old = project / "evidence/findings/2026-01-25-hearsay.yaml"
    _edit(old, "id: 2026-01-25-hearsay", "id: 2026-01-25-renamed")
    old.rename(old.with_name("2026-01-25-renamed.yaml"))


CHANGES = {
    "a finding that supersedes another": _supersede,
    "a renamed finding": _rename,
    "a withdrawal taken out": lambda p: (p / "evidence/findings/2026-01-27-taken-back.yaml").unlink(),
    "a finding's summary": lambda p: _edit(
        p / "evidence/findings/2026-01-25-hearsay.yaml", "summary:", "summary: Edited."
    ),
    "a title that others show": lambda p: _edit(
        p / "evidence/findings/2026-01-10-first.yaml", "title:", "title: Other"
    ),
    "a model's name": lambda p: _edit(p / "evidence/models/demo.yaml", "name:", "name: Renamed"),
    "a measured value": _measure_otherwise,
    "an outcome": _decide_otherwise,
    "a recipe's title": _retitle,
    "a deleted finding": lambda p: (p / "evidence/findings/2026-01-25-hearsay.yaml").unlink(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_an_incremental_build_equals_a_clean_one(project, change):
    assert dossier(project, "build").returncode == 0
    before = tree(project / "site")
    CHANGES[change](project)
    second = dossier(project, "build")
    if second.returncode:
        pytest.fail(second.stdout + second.stderr)
    incremental = tree(project / "site")
    shutil.rmtree(project / "build")
    shutil.rmtree(project / ".cache")
    assert dossier(project, "build").returncode == 0
    assert incremental == tree(project / "site")
    assert incremental != before


def test_evidence_with_a_problem_leaves_the_site_as_it_was(project):
    assert dossier(project, "build").returncode == 0
    before = tree(project / "site")
    _edit(project / "evidence/models/demo.yaml", "name:", "nam:")
    done = dossier(project, "build")
    assert done.returncode == 1
    assert re.search(r"^evidence/models/demo\.yaml:\d+:\d+: schema/", done.stdout, re.MULTILINE)
    assert "nothing was published" in done.stderr
    assert tree(project / "site") == before


def test_a_folder_that_dossier_did_not_make_is_never_replaced(project):
    (project / "site").mkdir()
    (project / "site/thesis.txt").write_text("mine")
    done = dossier(project, "build")
    assert done.returncode == 2
    assert (project / "site/thesis.txt").read_text() == "mine"


def test_another_template_of_the_project_is_used(project):
    assert dossier(project, "build").returncode == 0
    (project / "templates").mkdir()
    text = (ROOT / "templates/methodology.html.j2").read_text("utf-8")
    (project / "templates/methodology.html.j2").write_text(text + "<p>Our own house rules.</p>", "utf-8")
    assert dossier(project, "build").returncode == 0
    assert "Our own house rules." in (project / "site/methodology/index.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\n{% bad", "templates/home.html.j2:2: Encountered unknown tag 'bad'"),
        ("{{ nobody.there }}", "templates/home.html.j2: 'nobody' is undefined"),
    ],
)
def test_a_wrong_template_of_the_project_is_said_without_a_traceback(project, text, said):
    (project / "templates").mkdir()
    (project / "templates/home.html.j2").write_text(text, "utf-8")
    done = dossier(project, "build")
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (project / "site").exists()


@pytest.mark.parametrize("missing", ["mkdocs.yml", "evidence"])
def test_outside_a_project_it_says_what_is_missing(project, missing):
    target = project / missing
    shutil.rmtree(target) if target.is_dir() else target.unlink()
    done = dossier(project, "build")
    assert done.returncode == 2
    assert done.stderr.startswith(f"dossier: {missing}")
    assert "Traceback" not in done.stderr


def test_plain_mkdocs_makes_the_same_articles(project):

    assert dossier(project, "build").returncode == 0
    assert dossier(project, "render").returncode == 0
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet"]
    env = {"NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true", "PATH": "/usr/bin:/bin"}
    subprocess.run(command, cwd=project, env=env, check=True)
    article = re.compile(rb'<div class="dx" id="content".*\n</div>', re.DOTALL)
    derived = [
        name for name, page in tree(project / "site").items() if name.endswith("index.html") and article.search(page)
    ]
    assert len(derived) > 10
    for name in derived:
        ours = article.search((project / "site" / name).read_bytes())
        theirs = article.search((project / "build/mkdocs" / name).read_bytes())
        assert theirs is not None, name
        assert ours[0].split(b"\n</div>\n")[0] == theirs[0].split(b"\n</div>\n")[0], name
