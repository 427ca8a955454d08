from __future__ import annotations

import base64
import hashlib
import json

import pytest
from rule_cases import cases, check_text, expected

from dossier.checks.registry import RECORD_RULES
from dossier.redact import RULES

TOKEN = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
FINDING = """schema: dossier/finding/v1
id: 2026-02-01-case
title: A case
date: 2026-02-01
kind: incident
provenance: retained
models: [demo]
summary: Something was kept.
artifacts:
  - id: log
    path: {name}
    bytes: {size}
    sha256: {sha256}
"""


def check_artifact(data: bytes, tmp_path, name="log.txt"):
    text = FINDING.format(name=name, size=len(data), sha256=hashlib.sha256(data).hexdigest())
    return check_text(text, tmp_path, {name: data})


@pytest.mark.parametrize("case", cases("privacy"), ids=lambda path: path.stem)
def test_case(case, tmp_path):
    text = case.read_text(encoding="utf-8")
    assert [(p.rule, p.line) for p in check_text(text, tmp_path)] == expected(text)


def test_every_rule_has_a_case():
    rules = {rule for rule in RECORD_RULES if rule.startswith("privacy/")}
    assert {rule for case in cases("privacy") for rule, _ in expected(case.read_text())} == rules
    assert len(rules) == len(RULES)


def test_a_digest_is_no_secret(tmp_path):
    assert check_artifact(b"nothing to hide: " + hashlib.sha256(b"x").hexdigest().encode(), tmp_path) == []


@pytest.mark.parametrize(
    "data",
    [
        f"line one\nAuthorization went with {TOKEN}\n".encode(),
        b"line one\n" + base64.b64encode(f"went with {TOKEN} and on".encode()),
        f"line one\n{TOKEN[:20]}\n{TOKEN[20:]}\n".encode(),
        f"line one\n{TOKEN}\n".encode("utf-16"),
        b"line one\ncaf\xe9 " + TOKEN.encode(),
    ],
    ids=["plain", "base64", "wrapped", "utf-16", "latin-1"],
)
def test_secret_in_an_artifact(data, tmp_path):
    [problem] = check_artifact(data, tmp_path)
    assert (problem.rule, problem.line) == ("privacy/secret", 11)
    assert "line 2 of evidence/artifacts/2026-02-01-case/log.txt" in problem.message
    assert TOKEN[:12] not in problem.message


def test_secret_cut_up_by_a_stream(tmp_path):
    pieces = ["key: ", TOKEN[:7], TOKEN[7:19], TOKEN[19:], " end"]
    chunks = [json.dumps({"choices": [{"delta": {"content": piece}}]}) for piece in pieces]
    [problem] = check_artifact("\n".join(chunks).encode() + b"\n", tmp_path, "stream.jsonl")
    assert problem.rule == "privacy/secret"
    assert "line 2 of" in problem.message


def test_escaped_slashes_of_json(tmp_path):
    [problem] = check_artifact(b'{\n"path": "\\/home\\/ada\\/x"}', tmp_path, "a.json")
    assert problem.rule == "privacy/home-path"
    assert "line 2 of" in problem.message


def test_a_picture_is_not_text(tmp_path):
    assert check_artifact(b"\x89PNG\r\n\x1a\n\0\0" + TOKEN.encode(), tmp_path, "a.png") == []


def test_thousands_of_leaks_are_told_ten_times(tmp_path):
    log = "".join(f"{n} 192.168.0.17 said something\n" for n in range(3000)).encode()
    assert len(check_artifact(log, tmp_path)) == 10
