"""Canonical JSON against the rfc8785 library, and digests against published values."""

from __future__ import annotations

import hashlib
from enum import StrEnum

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from dossier.digest import canonical, digest_of, file_digest, sha256_hex
from dossier.errors import StorageError

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
INTEGER = st.integers(-(2**53) + 1, 2**53 - 1)
ASCII = st.text(st.characters(max_codepoint=127))
PLAIN = st.recursive(
    TEXT | st.booleans() | st.none() | INTEGER,
    lambda inner: st.lists(inner) | st.dictionaries(ASCII, inner),
)
ANY = st.recursive(
    TEXT | st.booleans() | st.none() | INTEGER | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
)


@given(PLAIN)
def test_the_fast_form_is_byte_equal_to_the_library(data):
    assert canonical(data) == rfc8785.dumps(data)


@given(ANY)
def test_floats_and_other_keys_are_byte_equal_to_the_library(data):
    assert canonical(data) == rfc8785.dumps(data)


def test_the_order_of_keys_leaves_the_digest():
    expected = "sha256:43258cff783fe7036d8a43033f830adfc60ec037382473548ac742b888292777"
    assert digest_of({"b": 2, "a": 1}) == digest_of({"a": 1, "b": 2}) == expected


def test_one_character_changes_the_digest():
    assert digest_of({"note": "fast"}) != digest_of({"note": "Fast"})


# RFC 8785, section 3.2.3: keys are sorted by UTF-16 code unit, so U+1F600 stands before U+FB33.
def test_keys_sort_by_utf16_unit():
    data = {"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\U0001f600": 5, "\x80": 6, "\u00f6": 7}
    assert canonical(data).decode() == '{"\\r":2,"1":4,"\x80":6,"\u00f6":7,"\u20ac":1,"\U0001f600":5,"\ufb33":3}'


# RFC 8785, section 3.2.2.2, and its appendix B.
@pytest.mark.parametrize(
    ("value", "written"),
    [
        ('\x00\x1f"\\/\b\f\n\r\t\x7f€', '"\\u0000\\u001f\\"\\\\/\\b\\f\\n\\r\\t\x7f€"'),
        (-0.0, "0"),
        (1e21, "1e+21"),
        (333333333.33333329, "333333333.3333333"),
        (9007199254740991, "9007199254740991"),
        ((True, False, None), "[true,false,null]"),
    ],
)
def test_values_are_written_as_the_standard_says(value, written):
    assert canonical(value).decode() == written


def test_an_enumeration_is_its_text():
    class Colour(StrEnum):
        RED = "red"

    assert canonical([Colour.RED]) == b'["red"]'


@pytest.mark.parametrize(
    "value",
    [
        9007199254740992,
        -9007199254740992,
        float("nan"),
        float("inf"),
        {1: "a"},
        b"x",
        {"a"},
        object(),
        "\ud800",
        {"\ud800": 1},
        {"a": ["\udfff"]},
    ],
    ids=ascii,
)
def test_what_has_no_canonical_form_is_refused(value):
    with pytest.raises(ValueError, match=r"."):
        canonical(value)


# FIPS 180-4 examples.
def test_sha256():
    assert sha256_hex(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert sha256_hex(b"abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_a_file_is_digested_in_pieces(tmp_path):
    content = b"0123456789abcdef" * 65537
    (tmp_path / "artifact").write_bytes(content)
    assert file_digest(tmp_path / "artifact") == (hashlib.sha256(content).hexdigest(), len(content))


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(StorageError, match="missing: No such file"):
        file_digest(tmp_path / "missing")
    with pytest.raises(StorageError, match="directory"):
        file_digest(tmp_path)
