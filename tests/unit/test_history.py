"""Published evidence cannot be rewritten: compared with a git ref, an index, or another folder."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dossier.cache import Cache
from dossier.catalog import load_catalog
from dossier.catalog.history import index_of, published_at, published_in
from dossier.checks.published import check_published
from dossier.errors import UsageError
from dossier.pages.context import Site
from dossier.pages.environment import environment
from dossier.pages.finding import finding_page

BASE = Path(__file__).parents[1] / "evidence" / "base"
FIRST, SECOND = "findings/2026-01-10-first.yaml", "findings/2026-01-20-second.yaml"


def git(folder, *arguments):
    about = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *about, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def project(tmp_path):
    """A repository whose branch `main` has published the evidence, on a branch of its own."""
    folder = tmp_path / "project"
    shutil.copytree(BASE, folder / "evidence")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "Publish")
    git(folder, "checkout", "-q", "-b", "topic")
    return folder


def catalog_of(folder):
    with Cache(None) as cache:
        return load_catalog(folder / "evidence", cache)


def against(project, ref="main"):
    catalog = catalog_of(project)
    return [(p.rule, p.path, p.line) for p in check_published(catalog, published_at(ref, catalog))]


def edit(project, name, old, new):
    file = project / "evidence" / name
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new), "utf-8")


def test_nothing_is_wrong_where_nothing_changed(project):
    assert against(project) == []


def test_comments_layout_and_order_of_keys_may_change(project):
    edit(project, FIRST, "title: Demo a is measured and promoted\ndate: 2026-01-10", "# A remark.\ndate: '2026-01-10'\n"
         "title:   Demo a is measured and promoted")  # fmt: skip
    assert against(project) == []


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        (FIRST, "value: 83.08 tok/s", "value: 83.09 tok/s"),
        (FIRST, "value: 83.08 tok/s", "value: 83.080 tok/s"),
        (SECOND, "title: Demo b is tried", "title: Demo b was tried"),
        ("identities/demo-fp8.yaml", "engine: Engine", "engine: Another"),
        ("hardware/bench.yaml", "count: 2", "count: 3"),
        ("recipes/demo-a.yaml", "context_tokens: 8192", "context_tokens: 8193"),
    ],
)
def test_a_published_record_may_not_change_in_meaning(project, name, old, new):
    line = (project / "evidence" / name).read_text("utf-8").partition(old)[0].count("\n") + 1
    edit(project, name, old, new)
    assert against(project) == [("lineage/changed", f"evidence/{name}", line)]


def test_the_message_says_what_changed_and_what_to_do(project):
    edit(project, FIRST, "value: 83.08 tok/s", "value: 91.39 tok/s")
    catalog = catalog_of(project)
    [problem] = check_published(catalog, published_at("main", catalog))
    assert "measurements/decode/value: 83.08\u00a0tok/s → 91.39\u00a0tok/s" in problem.message
    assert "dossier new erratum --for 2026-01-10-first" in problem.message


def test_a_model_may_change(project):
    edit(project, "models/demo.yaml", "name: Demo", "name: Demo, renamed")
    assert against(project) == []


def test_a_new_record_is_no_change(project):
    text = (project / "evidence/recipes/demo-b.yaml").read_text("utf-8")
    (project / "evidence/recipes/demo-c.yaml").write_text(text.replace("id: demo-b", "id: demo-c"), "utf-8")
    assert against(project) == []


def test_a_published_record_may_not_vanish(project):
    (project / "evidence" / SECOND).unlink()
    assert against(project) == [("lineage/vanished", f"evidence/{SECOND}", 1)]


def test_a_renamed_record_is_named(project):
    (project / "evidence/findings/2026-01-25-hearsay.yaml").unlink()
    text = (BASE / "findings/2026-01-25-hearsay.yaml").read_text("utf-8")
    (project / "evidence/findings/2026-01-25-rumour.yaml").write_text(text.replace("-hearsay", "-rumour"), "utf-8")
    catalog = catalog_of(project)
    [problem] = check_published(catalog, published_at("main", catalog))
    assert problem.rule == "lineage/vanished"
    assert "it seems to be 2026-01-25-rumour now" in problem.message


def test_a_record_that_is_renamed_and_changed_at_once_is_named_too(project):
    text = (BASE / SECOND).read_text("utf-8")
    (project / "evidence" / SECOND).unlink()
    changed = text.replace("2026-01-20-second", "2026-01-20-other").replace("title: ", "title: Really, ", 1)
    (project / "evidence/findings/2026-01-20-other.yaml").write_text(changed, "utf-8")
    catalog = catalog_of(project)
    [problem] = [p for p in check_published(catalog, published_at("main", catalog)) if SECOND in p.path]
    assert "it seems to be 2026-01-20-other now" in problem.message


def test_a_new_record_that_is_another_is_not_taken_for_the_one_that_is_gone(project):
    (project / "evidence" / SECOND).unlink()
    text = (BASE / "findings/2026-01-25-hearsay.yaml").read_text("utf-8")
    (project / "evidence/findings/2026-01-25-rumour.yaml").write_text(text.replace("-hearsay", "-rumour"), "utf-8")
    catalog = catalog_of(project)
    [problem] = [p for p in check_published(catalog, published_at("main", catalog)) if SECOND in p.path]
    assert "withdraw it" in problem.message


def test_an_artifact_may_neither_change_nor_vanish(project):
    results = project / "evidence/artifacts/2026-01-10-first/results.json"
    results.write_text(results.read_text("utf-8") + "\n", "utf-8")
    shown = "evidence/artifacts/2026-01-10-first/results.json"
    assert against(project) == [("lineage/artifact-changed", shown, 1)]
    results.unlink()
    assert against(project) == [("lineage/vanished", shown, 1)]


def test_what_main_published_after_the_branch_left_it_does_not_count(project):
    git(project, "checkout", "-q", "main")
    edit(project, "hardware/bench.yaml", "Bench machine", "The bench machine")
    git(project, "commit", "-q", "-a", "-m", "Change on main")
    git(project, "checkout", "-q", "topic")
    assert against(project) == []


def test_moving_the_whole_folder_hides_nothing(project):
    edit(project, FIRST, "value: 83.08 tok/s", "value: 84.00 tok/s")
    (project / "evidence").rename(project / "records")
    with Cache(None) as cache:
        catalog = load_catalog(project / "records", cache, "records")
    assert [p.rule for p in check_published(catalog, published_at("main", catalog))] == ["lineage/changed"]


def test_an_evidence_folder_at_the_top_of_the_repository(project):
    top = project / "evidence"
    git(top, "init", "-q", "-b", "main")
    git(top, "add", ".")
    git(top, "commit", "-q", "-m", "Publish")
    (top / SECOND).unlink()
    assert against(project) == [("lineage/vanished", f"evidence/{SECOND}", 1)]


@pytest.mark.parametrize("ref", ["--output=x", "-h", "no-such-branch", "main:evidence", "main\n", ""])
def test_a_ref_that_is_none_is_refused_and_never_an_option(project, ref):
    with pytest.raises(UsageError, match="knows no commit"):
        published_at(ref, catalog_of(project))
    assert not (project / "x").exists()


def test_a_shallow_clone_says_how_to_deepen_it(project, tmp_path):
    edit(project, FIRST, "83.08", "84.00")
    git(project, "commit", "-q", "-a", "-m", "Edit")
    git(tmp_path, "clone", "-q", "--depth", "1", "--no-single-branch", f"file://{project}", "clone")
    with pytest.raises(UsageError, match=r"this clone is shallow: run `git fetch --unshallow`"):
        published_at("origin/main", catalog_of(tmp_path / "clone"))


def test_a_folder_outside_a_repository_says_so(tmp_path):
    shutil.copytree(BASE, tmp_path / "evidence")
    with pytest.raises(UsageError, match="not a git repository"):
        published_at("main", catalog_of(tmp_path))


def test_a_hook_s_own_variables_do_not_mislead(project, monkeypatch):
    monkeypatch.setenv("GIT_DIR", str(project / ".git"))
    edit(project, FIRST, "83.08", "84.00")
    assert [rule for rule, _, _ in against(project)] == ["lineage/changed"]


@pytest.mark.parametrize("form", ["index", "folder"])
def test_without_git_an_index_or_a_folder_says_what_was_published(project, tmp_path, form):
    published = BASE
    if form == "index":
        published = tmp_path / "index.json"
        published.write_text(json.dumps(index_of(catalog_of(project))), "utf-8")
    catalog = catalog_of(project)
    assert check_published(catalog, published_in(published)) == []
    edit(project, FIRST, "83.08", "84.00")
    (project / "evidence" / SECOND).unlink()
    (project / "evidence/artifacts/2026-01-10-first/results.json").write_text("{}", "utf-8")
    rules = [p.rule for p in check_published(catalog_of(project), published_in(published))]
    assert rules == ["lineage/artifact-changed", "lineage/changed", "lineage/vanished"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"records": 1, "artifacts": {}}', "\0"])
def test_a_file_that_is_no_index_is_refused(tmp_path, text):
    (tmp_path / "index.json").write_text(text, "utf-8")
    with pytest.raises(UsageError, match="not an index of published evidence"):
        published_in(tmp_path / "index.json")


# A finding that is published while it is open ----------------------------------------------------------------------

OPEN = """schema: dossier/finding/v1
id: 2026-02-03-running
title: Still running
date: 2026-02-03
kind: recheck
provenance: transcribed
models: [demo]
completion: {completion}
summary: The first hour is done.
"""
END = """schema: dossier/finding/v1
id: 2026-02-04-done
title: It is done
date: 2026-02-04
kind: addendum
provenance: transcribed
models: [demo]
completion: {completion}
summary: The second hour is done too.
links: {{addendum_to: 2026-02-03-running}}
"""


def put(project, text, **fields):
    text = text.format(**fields)
    id_ = re.search(r"(?m)^id: (\S+)$", text)[1]
    (project / f"evidence/findings/{id_}.yaml").write_text(text, "utf-8")


def test_an_open_finding_is_published_with_a_warning_that_says_how_it_ends(project):
    put(project, OPEN, completion="open")
    catalog = catalog_of(project)
    [problem] = check_published(catalog, published_at("main", catalog))
    assert (problem.rule, problem.severity, problem.line) == ("lineage/open", "warning", 8)
    assert "`dossier new addendum --for 2026-02-03-running`" in problem.message
    put(project, OPEN, completion="concluded")
    assert against(project) == []


def test_once_published_it_stays_and_is_ended_by_a_record_of_its_own(project):
    put(project, OPEN, completion="open")
    git(project, "checkout", "-q", "main")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "Publish what is open")
    assert against(project) == []
    put(project, OPEN, completion="concluded")
    catalog = catalog_of(project)
    [problem] = check_published(catalog, published_at("main", catalog))
    assert problem.rule == "lineage/changed"
    assert "end it by a new record: `dossier new addendum --for 2026-02-03-running`" in problem.message


@pytest.mark.parametrize(
    ("completion", "shown"), [("concluded", "concluded"), ("aborted", "aborted"), ("open", "open")]
)
def test_its_page_shows_how_it_ended(project, completion, shown):
    put(project, OPEN, completion="open")
    put(project, END, completion=completion)
    site = Site(catalog_of(project), environment(project))
    assert site.completion("2026-02-03-running") == shown
    head = finding_page(site, "2026-02-03-running").body.partition("</header>")[0]
    assert ("published while it was open" in head) is (completion != "open")
    assert ("findings/2026-02-04-done/" in head) is (completion != "open")
