"""`dossier check --fix` writes what has one right answer and leaves every other character alone."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from dossier.cli.check import check
from dossier.cli.fixes import with_pins

BASE = Path(__file__).parents[1] / "evidence" / "base"
FIRST = "evidence/findings/2026-01-10-first.yaml"
RESULTS = BASE / "artifacts/2026-01-10-first/results.json"
DIGEST = hashlib.sha256(RESULTS.read_bytes()).hexdigest()


def fix(*options):
    return CliRunner().invoke(check, ["--fix", *options])


def replaced(file, old, new):
    text = file.read_bytes().decode()
    assert old in text
    file.write_bytes(text.replace(old, new).encode())
    return text


def test_a_clean_folder_is_left_byte_for_byte_as_it_is(project):
    before = {file: file.read_bytes() for file in project.rglob("*") if file.is_file()}
    assert fix().exit_code == 0
    assert {file: file.read_bytes() for file in project.rglob("*") if file.is_file()} == before


@pytest.mark.parametrize(
    "broken",
    [
        DIGEST[:62],
        DIGEST.upper(),
        '"' + DIGEST[:-1] + '"',
    ],
)
def test_a_malformed_digest_of_a_file_that_lies_there_is_written(project, broken):
    text = replaced(project / FIRST, DIGEST, broken)
    assert fix().exit_code == 0
    assert (project / FIRST).read_text("utf-8") == text


def test_a_missing_digest_and_size_are_added_beside_the_path(project):
    replaced(project / FIRST, f", bytes: {RESULTS.stat().st_size}, sha256: {DIGEST}", "")
    assert fix().exit_code == 0
    kept = f"path: results.json, bytes: {RESULTS.stat().st_size}, sha256: {DIGEST}, media_type"
    assert kept in (project / FIRST).read_text("utf-8")


def test_a_block_item_gets_lines_of_its_own(project):
    text = (project / FIRST).read_text("utf-8")
    start, end = text.index("  - {id: results"), text.index("\n\npins")
    (project / FIRST).write_text(f"{text[:start]}  - id: results\n    path: results.json  # raw\n{text[end:]}", "utf-8")
    assert fix().exit_code == 0
    added = f"    path: results.json  # raw\n    bytes: {RESULTS.stat().st_size}\n    sha256: {DIGEST}\n"
    assert added in (project / FIRST).read_text("utf-8")


def test_a_well_formed_digest_that_differs_is_left_for_a_person_to_see(project):
    replaced(project / FIRST, DIGEST, "0" * 64)
    done = fix()
    assert done.exit_code == 1
    assert "0" * 64 in (project / FIRST).read_text("utf-8")


def test_pins_are_written_where_there_are_none(project):
    text = (project / FIRST).read_text("utf-8")
    (project / FIRST).write_text(text[: text.index("\npins:")], "utf-8")
    assert fix().exit_code == 0
    assert (project / FIRST).read_text("utf-8") == text


@pytest.mark.parametrize(
    ("written", "quoted"),
    [
        ("Faster: not qualified", "'Faster: not qualified'"),
        ("*not* qualified  # a remark", "'*not* qualified'  # a remark"),
        ("@home, isn't it", "'@home, isn''t it'"),
        ("!important", "'!important'"),
        ("&c.", "'&c.'"),
        ("%d passed", "'%d passed'"),
    ],
)
def test_text_that_must_stand_in_quotes_is_quoted(project, written, quoted):
    title = "title: Demo a is measured and promoted"
    text = replaced(project / FIRST, title, f"title: {written}")
    assert fix().exit_code == 0
    assert (project / FIRST).read_text("utf-8") == text.replace(title, f"title: {quoted}")


def test_a_byte_order_mark_goes_and_crlf_stays(project):
    file = project / "evidence/hardware/bench.yaml"
    text = file.read_bytes().replace(b"\n", b"\r\n")
    file.write_bytes(b"\xef\xbb\xbf" + text)
    assert fix().exit_code == 0
    assert file.read_bytes() == text


def test_what_is_broken_in_another_way_is_not_touched(project):
    file = project / "evidence/hardware/bench.yaml"
    file.write_text("schema: [dossier\nid: x\n", "utf-8")
    assert fix().exit_code == 1
    assert file.read_text("utf-8") == "schema: [dossier\nid: x\n"


def test_with_a_base_new_findings_are_mended_and_published_ones_never(project):
    def git(*arguments):
        about = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *about, *arguments], cwd=project, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-q", "-m", "Publish")
    published = replaced(project / FIRST, DIGEST, "0" * 64).replace(DIGEST, "0" * 64)
    new = project / "evidence/findings/2026-02-01-new.yaml"
    shutil.copytree(BASE / "artifacts/2026-01-10-first", project / "evidence/artifacts/2026-02-01-new")
    new.write_text(published.replace("2026-01-10-first", "2026-02-01-new").replace("2026-01-10", "2026-02-01"), "utf-8")
    fix("--base", "main")
    assert (project / FIRST).read_text("utf-8") == published
    assert DIGEST in new.read_text("utf-8")


def test_pins_are_replaced_where_they_stand():
    text = "a: b\npins:\n  recipes/x: old\n# why\nz: y\n"
    assert with_pins(text, {"recipes/x": "new"}) == "a: b\npins:\n  recipes/x: new\n# why\nz: y\n"
    assert with_pins("a: b\r\n", {"recipes/x": "new"}) == "a: b\r\n\r\npins:\r\n  recipes/x: new\r\n"
