"""The shell: made once by mkdocs, filled for every page, the same bytes wherever it is built."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dossier.errors import RenderError, StorageError, UsageError
from dossier.model import vocabulary
from dossier.pages.article import article, as_markdown
from dossier.pages.environment import environment, number, packaged_templates, short_digest, signed, size
from dossier.pages.shell import SECTIONS, SearchEntry, build_shells
from dossier.pages.shellbuild import write_mkdocs_tree

CHECKOUT = Path(__file__).parents[2]
HOSTILE = (
    '</script><img src=x onerror=alert(1)> "onmouseover="x" {{7*7}} {% raw %} \U0001f600 \x02wzxhzdk:0\x03 [a](b) # *b*'
)
BODY = """<h1>A</h1>
    <p>text &lt;script&gt; &amp;#60; {{7*7}} * _ ` | data-search-exclude="" &#34;</p>

<table class="dx-t"><tr><td>a|b</td></tr></table>


<pre class="dx-pre"><code>line

   \n\ttab
    four   \n
# no heading
&lt;/pre&gt; [x]: y </code></pre>
<svg viewBox="0 0 1 1"><rect width="1" height="1"/></svg><br><hr>
<p>last</p>"""


def project(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(CHECKOUT / "mkdocs.yml", folder)
    shutil.copytree(CHECKOUT / "docs", folder / "docs")
    return folder


@pytest.fixture(scope="module")
def shells(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shell")
    return build_shells(project(folder / "project"), folder / "work")


def page(shells, section="Findings", path="findings/x/", body="<p>body</p>"):
    return shells.fill(section, path, title="A & B", description='say "x"', body=body).decode()


def inner_article(html: str) -> str:
    return re.search(r"<article[^>]*>(.*)</article>", html, re.DOTALL)[1].strip()


def test_title_description_and_article_are_filled_in(shells):
    html = page(shells)
    assert "<title>A &amp; B - Dossier</title>" in html
    assert '<meta name="description" content="say &quot;x&quot;">' in html
    assert inner_article(html) == '<div class="dx" id="content" tabindex="-1">\n<p>body</p>\n</div>'
    assert "slot" not in html


@pytest.mark.parametrize(
    ("section", "path", "root"),
    [
        ("Home", "", ""),
        ("Home", "whats-new/", "../"),
        ("Findings", "findings/", "../"),
        ("Models", "models/x/", "../../"),
    ],
)
def test_each_depth_reaches_the_assets(shells, section, path, root):
    assert f'<link rel="stylesheet" href="{root}assets/dossier.css">' in page(shells, section, path)


@pytest.mark.parametrize("section", SECTIONS)
def test_each_section_marks_its_own_tab(shells, section):
    html = page(shells, section, "a/b/")
    active = re.findall(r'md-tabs__item--active">\s*<a [^>]*>([^<]+)</a>', html)
    assert active == [section]


def test_a_page_deeper_than_any_shell_is_an_error(shells):
    with pytest.raises(RenderError, match="a/b/c/"):
        page(shells, "Findings", "a/b/c/")


def test_hostile_text_in_the_head_makes_no_element(shells):
    html = shells.fill("Findings", "findings/x/", title=HOSTILE, description=HOSTILE, body="").decode()
    assert "<img" not in html
    assert "{{7*7}} {% raw %}" in html


def test_every_inline_script_is_allowed_by_its_digest(shells):
    pages = [
        page(shells),
        *(path.read_text() for name, path in shells.static_files().items() if name.endswith(".html")),
    ]
    assert len(pages) >= 3
    for html in pages:
        policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)[1]
        assert html.index("Content-Security-Policy") < html.index("<script")
        assert "unsafe" not in policy
        for script in re.findall(r"<script>(.*?)</script>", html, re.DOTALL):
            digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in policy


def test_no_page_asks_anything_of_another_host(shells):
    html = page(shells) + (shells.folder / "about/index.html").read_text()
    assert re.findall(r'(?:src|href)="(?:https?:)?//[^"]*"', html) == []
    assert re.findall(r'\son\w+="', html) == []


def test_the_static_files_hold_no_shell(shells):
    names = shells.static_files()
    assert "about/index.html" in names
    assert "404.html" in names
    assert "assets/dossier.css" in names
    assert not [name for name in names if "_shell" in name or name in {"index.html", "findings/index.html"}]
    assert not [name for name in names if name.endswith((".map", "sitemap.xml", "sitemap.xml.gz"))]


def test_the_search_index_holds_written_pages_and_given_entries_as_text(shells):
    files = shells.search_files([SearchEntry("findings/x/", "A <b>", "c & d")])
    index = json.loads(files["search/search_index.json"])
    places = [each["location"] for each in index["docs"]]
    assert "about/" in places
    assert not [place for place in places if "_shell" in place or place == "findings/"]
    assert index["docs"][-1] == {"location": "findings/x/", "title": "A &lt;b&gt;", "text": "c &amp; d"}
    assert files["search/search_index.js"] == "var __index=" + files["search/search_index.json"]


def test_without_a_site_address_there_is_no_sitemap_and_no_canonical_link(shells):
    assert shells.sitemap(["findings/x/"]) is None
    assert "canonical" not in page(shells)


def test_with_a_site_address_pages_know_their_own(tmp_path):
    folder = project(tmp_path / "p")
    (folder / "mkdocs.yml").write_text("site_url: https://example.org/d/\n" + (folder / "mkdocs.yml").read_text())
    shells = build_shells(folder, tmp_path / "w")
    assert '<link rel="canonical" href="https://example.org/d/findings/x/">' in page(shells)
    assert re.findall("<loc>(.*)</loc>", shells.sitemap(["", "findings/x/"])) == [
        "https://example.org/d/",
        "https://example.org/d/about/",
        "https://example.org/d/findings/x/",
    ]


def test_an_unchanged_shell_is_not_built_again_and_mkdocs_is_not_imported(tmp_path):
    folder = project(tmp_path / "p")
    assert build_shells(folder, tmp_path / "w").was_built
    code = (
        "import sys, pathlib\nfrom dossier.pages.shell import build_shells\n"
        "s = build_shells(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))\n"
        "print(s.was_built, 'mkdocs' in sys.modules, 'markdown' in sys.modules)"
    )
    env = os.environ | {"PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run(
        [sys.executable, "-c", code, folder, tmp_path / "w"], capture_output=True, text=True, check=True, env=env
    )
    assert done.stdout == "False False False\n"


@pytest.mark.parametrize(
    "change", ["docs/about.md", "mkdocs.yml", "templates/assets/dossier.css", "templates/theme/main.html"]
)
def test_whatever_feeds_the_shell_makes_it_anew(tmp_path, change):
    folder = project(tmp_path / "p")
    first = build_shells(folder, tmp_path / "w").folder
    target = folder / change
    target.parent.mkdir(parents=True, exist_ok=True)
    old = CHECKOUT / change
    target.write_text(old.read_text() + "\n")
    second = build_shells(folder, tmp_path / "w")
    assert second.was_built
    assert not first.exists()


def test_the_shell_is_the_same_in_another_zone_locale_and_folder(tmp_path, monkeypatch):
    def files(name, zone, locale, seed):
        for key, value in {"TZ": zone, "LC_ALL": locale, "PYTHONHASHSEED": seed}.items():
            monkeypatch.setenv(key, value)
        folder = build_shells(project(tmp_path / name / "p"), tmp_path / name / "w").folder
        return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    assert files("one", "Asia/Kolkata", "C", "1") == files("far/other", "America/St_Johns", "tr_TR.UTF-8", "2")


def test_plain_mkdocs_makes_the_same_article(tmp_path, shells):
    folder = project(tmp_path / "p")
    markdown = {path: as_markdown("Findings", HOSTILE, HOSTILE, BODY) for path in ("", "findings/", "findings/x/")}
    write_mkdocs_tree(folder, folder / "build", markdown)
    env = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    subprocess.run([sys.executable, "-m", "mkdocs", "build", "-q"], cwd=folder, env=env, check=True)
    plain = (folder / "build/mkdocs/findings/x/index.html").read_text()
    ours = page(shells, body=BODY)
    assert inner_article(plain) == inner_article(ours) == article(BODY).decode()


def test_writing_the_markdown_tree_again_touches_nothing_and_removes_what_is_gone(tmp_path):
    folder = project(tmp_path / "p")
    write_mkdocs_tree(folder, folder / "build", {"findings/x/": b"x", "findings/y/": b"y"})
    kept = folder / "build/docs/findings/x.md"
    os.utime(kept, (1, 1))
    write_mkdocs_tree(folder, folder / "build", {"findings/x/": b"x"})
    assert kept.stat().st_mtime == 1
    assert not (folder / "build/docs/findings/y.md").exists()
    assert (folder / "build/theme/main.html").is_file()


def test_excerpts_keep_their_blanks():
    done = article("<pre>a\n  \n\tb  c</pre>").decode()
    assert "<pre>a\n&#32;&#32;\n&#9;b  c</pre>" in done


def test_a_written_page_does_not_hide_a_derived_one(tmp_path):
    folder = project(tmp_path / "p")
    (folder / "docs/findings").mkdir()
    (folder / "docs/findings/index.md").write_text("# mine")
    with pytest.raises(UsageError, match=r"docs/findings/index\.md"):
        build_shells(folder, tmp_path / "w")


def test_a_link_out_of_the_docs_is_refused(tmp_path):
    folder = project(tmp_path / "p")
    (folder / "docs/secret.md").symlink_to("/etc/hostname")
    with pytest.raises(UsageError, match="symbolic link"):
        build_shells(folder, tmp_path / "w")


def test_a_project_without_settings_says_so(tmp_path):
    with pytest.raises(StorageError, match=r"mkdocs\.yml"):
        build_shells(tmp_path, tmp_path / "w")


def test_what_mkdocs_says_is_passed_on_and_nothing_half_made_stays(tmp_path):
    folder = project(tmp_path / "p")
    (folder / "mkdocs.yml").write_text("site_name: x\ntheme: {name: material}\nplugins: [no-such-plugin]\n")
    with pytest.raises(RenderError, match="no-such-plugin"):
        build_shells(folder, tmp_path / "w")
    assert list((tmp_path / "w/shell").iterdir()) == []


def test_a_project_may_replace_one_template(tmp_path):
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates/own.html.j2").write_text('{% import "components.html.j2" as c %}{{ c.unknown("<b>") }}')
    rendered = environment(tmp_path).get_template("own.html.j2").render()
    assert rendered == '<span class="dx-unknown"><span class="dx-unknown-word">unknown:</span> &lt;b&gt;</span>'


def test_numbers_keep_the_digits_they_were_recorded_with():
    assert number("97.60") == "97.60"
    assert number(393216) == "393,216"
    assert number("-5.19") == "\u22125.19"
    assert number("1E+3") == "1,000"
    assert signed("3.93") == "+3.93"
    assert signed("0.0") == "0.0"


def test_sizes_and_digests():
    assert (size(900), size(5368709120), size(1310720)) == ("900 bytes", "5 GiB", "1.25 MiB")
    assert short_digest("sha256:" + "ab" * 32) == "abababababab"


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("prov", vocabulary.Provenance),
        ("class", vocabulary.MeasurementClass),
        ("status", [*vocabulary.Role, *vocabulary.Outcome]),
        ("verdict", vocabulary.Verdict),
    ],
)
def test_every_word_of_a_closed_list_has_a_tone_and_an_icon(kind, words):
    css = (packaged_templates() / "assets/dossier.css").read_text()
    rules = re.findall(r"^(\.dx-[^{]*)\{ --tone: [^}]*--icon: [^}]*\}", css, re.MULTILINE)
    styled = {selector.strip() for rule in rules for selector in rule.split(",")}
    assert [word for word in words if f".dx-{kind}-{word}" not in styled] == []
