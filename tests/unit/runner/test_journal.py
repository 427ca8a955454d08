"""The journal: a chain in which every change has a place, one writer, and no end that a crash could spoil."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from itertools import pairwise

import pytest

from dossier.errors import StorageError, UsageError
from dossier.runner.journal import Journal, JournalError, read_journal
from dossier.runner.scrub import Scrub


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "run.jsonl"
    with Journal.create(file, Scrub()) as journal:
        for number in range(5):
            journal.append("sample", index=number)
    return file


def lines_of(path):
    return path.read_bytes().splitlines(keepends=True)


def test_each_line_names_the_sha256_of_the_one_before(path):
    lines = lines_of(path)
    assert json.loads(lines[0])["prev"] == "0" * 64
    for before, line in pairwise(lines):
        assert json.loads(line)["prev"] == hashlib.sha256(before.rstrip(b"\n")).hexdigest()
    assert read_journal(path.read_bytes()).head == hashlib.sha256(lines[-1].rstrip(b"\n")).hexdigest()


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_an_altered_line_is_named(path, number):
    lines = lines_of(path)
    lines[number - 1] = lines[number - 1].replace(b'"index":', b'"index":1')
    with pytest.raises(JournalError, match=f"line {number} of the journal was altered"):
        read_journal(b"".join(lines))


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_a_removed_line_is_named(path, number):
    lines = lines_of(path)
    del lines[number - 1]
    with pytest.raises(JournalError, match=f"line {number} of the journal is missing"):
        read_journal(b"".join(lines))


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_swapped_lines_are_named(path, number):
    lines = lines_of(path)
    lines[number - 1 : number + 1] = reversed(lines[number - 1 : number + 1])
    with pytest.raises(JournalError, match=f"line {number} of the journal is out of order"):
        read_journal(b"".join(lines))


def test_a_line_whose_predecessor_was_forged_is_named(path):
    lines = lines_of(path)
    lines[2] = lines[2].replace(json.loads(lines[2])["prev"].encode(), b"f" * 64)
    with pytest.raises(JournalError, match="line 3 of the journal was altered"):
        read_journal(b"".join(lines))


@pytest.mark.parametrize("damage", [b"{not json", b"[]", b'{"n": 1}', b"\xff\xfe", b"[" * 5000])
def test_what_is_no_entry_is_named_and_never_a_traceback(path, damage):
    lines = lines_of(path)
    lines[1] = damage + b"\n"
    with pytest.raises(JournalError, match="line 2"):
        read_journal(b"".join(lines))


def test_a_torn_last_line_is_torn_and_not_altered(path):
    whole = path.read_bytes()
    reading = read_journal(whole + b'{"n":6,"prev":"ab')
    assert (len(reading.entries), reading.torn, reading.size) == (5, 17, len(whole))


def test_going_on_cuts_the_torn_line_and_chains_to_the_last_whole_one(path):
    with path.open("ab") as file:
        file.write(b'{"n":6,')
    journal, reading = Journal.reopen(path, Scrub())
    with journal:
        assert reading.torn == 7
        journal.append("sample", index=5)
    entries = read_journal(path.read_bytes()).entries
    assert [entry["index"] for entry in entries] == [0, 1, 2, 3, 4, 5]


def test_only_one_writes(path):
    journal, _ = Journal.reopen(path, Scrub())
    with journal, pytest.raises(UsageError, match="another run is writing"):
        Journal.reopen(path, Scrub())


def test_a_journal_is_never_begun_over_another(path):
    with pytest.raises(UsageError, match="is there already; --resume"):
        Journal.create(path, Scrub())


def test_a_full_disk_is_a_clear_stop_that_leaves_whole_lines(path, monkeypatch):
    journal, _ = Journal.reopen(path, Scrub())
    write, written = os.write, []

    def full(fd, data):
        if written:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(1)
        return write(fd, data[:10])

    with journal:
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(StorageError, match="No space left on device; the run stops, and --resume goes on"):
            journal.append("sample", index=5)
        monkeypatch.undo()
    assert read_journal(path.read_bytes()).torn == 0
    assert len(read_journal(path.read_bytes()).entries) == 5


def test_secrets_never_reach_the_file(tmp_path):
    """A key of no known form is replaced as it stands, in a URL and in Base64; what looks like a secret as well."""
    key = "correct/horse+battery"
    texts = ["echo: correct/horse+battery", "?k=correct%2Fhorse%2Bbattery", "Y29ycmVjdC9ob3JzZStiYXR0ZXJ5"]
    file = tmp_path / "run.jsonl"
    with Journal.create(file, Scrub.of([key])) as journal:
        journal.append("sample", observed=texts, facts={"path": "/home/alice/models/x.gguf"}, host="http://10.1.2.3:80")
    kept = file.read_text()
    for leak in (key, "horse", "Y29ycmVj", "alice", "10.1.2.3"):
        assert leak not in kept
