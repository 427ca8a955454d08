"""`dossier check` over damaged evidence: problems with a place, never a traceback and never a hang.

Bounded: each way of damaging runs a few dozen times; `FUZZ=N` in the environment multiplies that.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dossier.cache import Cache
from dossier.catalog import load_catalog
from dossier.catalog.history import published_in
from dossier.checks.published import check_published
from dossier.checks.run import check_catalog
from dossier.cli.reporters import REPORTERS
from dossier.source import read_document

BASE = Path(__file__).parents[1] / "evidence" / "base"
FILES = sorted(file.relative_to(BASE).as_posix() for file in BASE.rglob("*") if file.is_file())
RECORDS = [name for name in FILES if name.endswith(".yaml")]
TIMES = int(os.environ.get("FUZZ", "1"))
bounded = settings(
    max_examples=40 * TIMES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture
def folder(tmp_path):
    shutil.copytree(BASE, tmp_path / "evidence")
    return tmp_path / "evidence"


def checked(folder):
    """Every problem, reported in every form; each stands at a place that an editor can go to."""
    with Cache(None) as cache:
        catalog = load_catalog(folder, cache)
        problems = check_catalog(catalog, cache) + check_published(catalog, published_in(BASE))
    for problem in problems:
        assert problem.line >= 1
        assert problem.column >= 1
        assert problem.message
        assert "\n" not in str(problem)
    for report in REPORTERS.values():
        report(problems).encode("utf-8")
    return problems


def damaged(folder, name, data):
    """Check with one file changed, then put it back."""
    before = (folder / name).read_bytes()
    (folder / name).write_bytes(data)
    try:
        return checked(folder)
    finally:
        (folder / name).write_bytes(before)


@bounded
@given(name=st.sampled_from(FILES), at=st.floats(0, 1), put=st.binary(max_size=4), cut=st.integers(0, 40))
def test_bytes_cut_out_and_put_in(folder, name, at, put, cut):
    data = (folder / name).read_bytes()
    start = int(at * len(data))
    damaged(folder, name, data[:start] + put + data[start + cut :])


@bounded
@given(
    name=st.sampled_from(RECORDS),
    lines=st.lists(st.integers(0, 60), min_size=1, max_size=3),
    how=st.sampled_from("dxi"),
)
def test_lines_dropped_doubled_and_indented(folder, name, lines, how):
    text = (folder / name).read_text("utf-8").splitlines(keepends=True)
    for number in lines:
        line = number % len(text)
        text[line] = {"d": "", "x": text[line] * 2, "i": f"  {text[line]}"}[how]
        text = [part for part in text if part] or ["\n"]
    damaged(folder, name, "".join(text).encode())


ODD = st.sampled_from(
    ["", "0", "-1", "1e999", "999999999999999", "99999999999999999999", "NaN", "[[", "]]", "[[x]]", "[[x|]]", "[[#]]",
     "[[a#b#c]]", "[[recipes/]]", "[[/]]", "[[checks]] [[checks.x]]", "{unknown: x}", "{unknown: }", "{}", "[]", "[[]]",
     "{a: {b: {c: d}}}", "2026-01-10-first#decode", "2026-01-10-first#", "#decode", "a#b", "../x", "/etc/passwd",
     "0 tok/s", "0.0 s", "-5 tok/s", "1 tok/s", "100 %", "±0 %", "-100 %", "0x", "0..0", "5..1", "1000-01-01",
     "9999-12-31", "0001-01-01", "all passed", "within ±0 s", ">= 0 x", "(((((((((1)))))))))", "[[decode]] / 0",
     "1 / ([[decode]] - [[decode]])", "https://[", "https://a:b@c", "javascript:alert(1)", "<b>", "%00", "\\0",
     "'\U0001f600'", "a" * 2000, "'" + "**" * 500 + "'", "'" + "[" * 500 + "'", "'" + "`" * 501 + "'", "- - - x"],
)  # fmt: skip


@st.composite
def with_another_value(draw):
    """A record of the folder with one to three values replaced by odd ones, at the places where values stand."""
    name = draw(st.sampled_from(RECORDS))
    text = (BASE / name).read_text("utf-8")
    document, _ = read_document(text, name)
    lines = text.split("\n")
    leaves = [mark for path, mark in sorted(document.marks.items(), key=str) if path]
    for mark in sorted(
        draw(st.lists(st.sampled_from(leaves), min_size=1, max_size=3)), key=lambda m: (m.line, m.column), reverse=True
    ):
        line = lines[mark.line - 1]
        end = min((at for sign in ",}]" if (at := line.find(sign, mark.column - 1)) >= 0), default=len(line))
        lines[mark.line - 1] = line[: mark.column - 1] + draw(ODD) + line[end:]
    return name, "\n".join(lines)


@settings(bounded, max_examples=150 * TIMES)
@given(with_another_value())
def test_values_replaced_by_odd_ones(folder, changed):
    damaged(folder, changed[0], changed[1].encode())


@bounded
@given(name=st.sampled_from(FILES), other=st.sampled_from(FILES))
def test_files_in_the_place_of_others(folder, name, other):
    damaged(folder, name, (folder / other).read_bytes())


@bounded
@given(names=st.lists(st.sampled_from(FILES), min_size=1, max_size=6, unique=True))
def test_files_taken_away(folder, names):
    kept = {name: (folder / name).read_bytes() for name in names}
    for name in names:
        (folder / name).unlink()
    try:
        checked(folder)
    finally:
        for name, data in kept.items():
            (folder / name).write_bytes(data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["decode", "median", "ttft_s", "~", "/"]), inner)
    ),
    max_leaves=9,
)


@bounded
@given(JSON)
def test_artifacts_with_other_contents(folder, data):
    damaged(folder, "artifacts/2026-01-10-first/results.json", json.dumps(data).encode())


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("findings/2026-01-10-first.yaml", b"[" * 100_000),
        ("findings/2026-01-10-first.yaml", b"a: &a [*a, *a]\n"),
        ("findings/2026-01-10-first.yaml", b"\xff\xfe" * 1000),
        ("findings/2026-01-10-first.yaml", b"? " * 20_000),
        ("findings/2026-01-10-first.yaml", b"x: " + b"y: {" * 5000),
        ("artifacts/2026-01-10-first/results.json", b"[" * 200_000),
        ("artifacts/2026-01-10-first/results.json", b'{"decode": {"median": 1e999999999}}'),
        ("artifacts/2026-01-10-first/results.json", b'{"decode": {"median": ' + b"9" * 10_000 + b"}}"),
    ],
)
def test_files_that_were_made_to_exhaust_end_in_problems(folder, name, data):
    assert damaged(folder, name, data)


def test_the_command_itself_never_prints_a_traceback(folder):
    for number, name in enumerate(RECORDS):
        data = (folder / name).read_bytes()
        (folder / name).write_bytes(data[: len(data) * (number + 1) // (len(RECORDS) + 1)])
    environment = {**os.environ, "DOSSIER_CACHE": "off"}
    program = "from dossier.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "check", "evidence"], cwd=folder.parent, env=environment, capture_output=True,
        text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
