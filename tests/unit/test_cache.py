"""The cache keeps what it was given, or nothing; it never gives a wrong value and never fails a command."""

from __future__ import annotations

import hashlib
import os
import random
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from dossier.cache import Cache


def key(number):
    return hashlib.sha256(str(number).encode()).hexdigest()


VALUES = {key(number): f"value {number} ".encode() * 40 for number in range(60)}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "made" / "cache.sqlite"


@pytest.fixture
def filled(path):
    with Cache(path) as cache:
        cache.put_many("record/1", VALUES)
    return path


def kept(path, namespace="record/1"):
    with Cache(path) as cache:
        return cache.get_many(namespace, VALUES)


def test_what_was_put_is_found_by_the_next_run(filled):
    assert kept(filled) == VALUES


def test_only_the_keys_asked_for_are_given(filled):
    with Cache(filled) as cache:
        assert cache.get_many("record/1", [key(1), key(1000)]) == {key(1): VALUES[key(1)]}
        assert cache.get_many("record/1", []) == {}


def test_bytes_of_every_kind_are_kept(path):
    values = {key(1): b"", key(2): bytes(range(256)), key(3): b"x" * 1_000_000}
    with Cache(path) as cache:
        cache.put_many("record/1", values)
        assert cache.get_many("record/1", values) == values


def test_a_later_value_replaces_an_earlier_one(filled):
    with Cache(filled) as cache:
        cache.put_many("record/1", {key(1): b"new"})
        assert cache.get_many("record/1", [key(1)]) == {key(1): b"new"}


def test_another_version_finds_nothing(filled):
    assert kept(filled, "record/2") == {}


def test_a_new_version_of_a_family_drops_the_older_ones_and_no_other_family(filled):
    with Cache(filled) as cache:
        cache.put_many("recorder/1", VALUES)
        cache.put_many("record/2", {key(1): b"new"})
        assert cache.get_many("record/1", VALUES) == {}
        assert cache.get_many("record/2", VALUES) == {key(1): b"new"}
        assert cache.get_many("recorder/1", VALUES) == VALUES


def test_what_nobody_wants_goes_once_it_is_more_than_what_is_wanted(filled):
    with Cache(filled) as cache:
        cache.put_many("record/1", {key(1): b"new"}, set(VALUES))
        assert set(cache.get_many("record/1", VALUES)) == set(VALUES)
        cache.put_many("record/1", {key(1): b"newer"}, {key(1)})
        assert cache.get_many("record/1", VALUES) == {key(1): b"newer"}


def test_without_a_path_nothing_is_kept():
    with Cache(None) as cache:
        cache.put_many("record/1", VALUES, VALUES)
        assert cache.get_many("record/1", VALUES) == {}


def test_a_closed_cache_is_empty(filled):
    cache = Cache(filled)
    cache.close()
    cache.close()
    assert cache.get_many("record/1", VALUES) == {}


def test_it_is_one_file(filled):
    assert [entry.name for entry in filled.parent.iterdir()] == ["cache.sqlite"]


@pytest.mark.parametrize("seed", range(12))
def test_damage_never_gives_a_wrong_value(filled, seed):
    rng = random.Random(seed)
    whole = filled.read_bytes()
    for number in range(25):
        damaged = bytearray(whole)
        reach = len(damaged) if number % 2 else 8192
        for _ in range(rng.choice([1, 3, 50])):
            damaged[rng.randrange(reach)] = rng.randrange(256)
        filled.write_bytes(damaged)
        with Cache(filled) as cache:
            assert cache.get_many("record/1", VALUES).items() <= VALUES.items()
            cache.put_many("record/1", VALUES, VALUES)
            assert cache.get_many("record/1", VALUES).items() <= VALUES.items()


@pytest.mark.parametrize("length", [1, 50, 100, 4096, 8192, 20000])
def test_a_cut_file_is_survived(filled, length):
    os.truncate(filled, length)
    assert kept(filled).items() <= VALUES.items()


def test_a_flipped_byte_of_a_value_loses_that_value_only(filled):
    raw = filled.read_bytes()
    filled.write_bytes(raw.replace(b"value 7 value 7", b"value 7 valuE 7", 1))
    assert kept(filled) == {name: value for name, value in VALUES.items() if name != key(7)}


def test_a_damaged_cache_is_begun_anew(filled):
    raw = bytearray(filled.read_bytes())
    raw[100:4096] = b"\xff" * 3996
    filled.write_bytes(raw)
    assert kept(filled) == {}
    with Cache(filled) as cache:
        cache.put_many("record/1", VALUES)
    assert kept(filled) == VALUES


def test_an_older_layout_is_begun_anew(filled):
    with closing(sqlite3.connect(filled)) as connection:
        connection.execute("ALTER TABLE entry ADD COLUMN age INTEGER")
    assert kept(filled) == {}
    with Cache(filled) as cache:
        cache.put_many("record/1", VALUES)
    assert kept(filled) == VALUES


@pytest.mark.parametrize("content", [b"my notes\n" * 100, b"x"], ids=["long", "short"])
def test_a_file_of_somebody_else_is_left_alone(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with Cache(path) as cache:
        cache.put_many("record/1", VALUES)
        assert cache.get_many("record/1", VALUES) == {}
    assert path.read_bytes() == content


def test_a_database_of_somebody_else_is_left_alone(tmp_path):
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE other (a)")
    before = path.read_bytes()
    with Cache(path) as cache:
        cache.put_many("record/1", VALUES)
    assert path.read_bytes() == before


def test_a_folder_and_a_path_below_a_file_are_survived(tmp_path):
    (tmp_path / "file").write_text("x")
    for path in (tmp_path, tmp_path / "file" / "cache.sqlite"):
        with Cache(path) as cache:
            cache.put_many("record/1", VALUES)
            assert cache.get_many("record/1", VALUES) == {}


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert kept(tmp_path / "pipe") == {}


def test_a_locked_cache_is_bypassed_and_kept(filled):
    with closing(sqlite3.connect(filled, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert kept(filled) == {}
    assert kept(filled) == VALUES


def test_a_reader_goes_on_while_another_run_is_writing(filled):
    with closing(sqlite3.connect(filled, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with Cache(filled) as cache:
            assert cache.get_many("record/1", VALUES) == VALUES
            cache.put_many("record/1", {key(1000): b"bypassed"})
    assert kept(filled) == VALUES


WRITER = """
import sys
from pathlib import Path
from dossier.cache import Cache
for turn in range(20):
    with Cache(Path(sys.argv[1])) as cache:
        cache.put_many("record/1", {f"{n:064x}": f"{n}".encode() * 500 for n in range(turn, turn + 20)})
"""


def test_runs_side_by_side_do_not_harm_the_file(path):
    runs = [subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stderr=subprocess.PIPE) for _ in range(3)]
    assert [run.communicate()[1] for run in runs] == [b""] * 3
    assert [run.returncode for run in runs] == [0] * 3
    expected = {f"{number:064x}": f"{number}".encode() * 500 for number in range(39)}
    with Cache(path) as cache:
        assert cache.get_many("record/1", expected).items() <= expected.items()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
