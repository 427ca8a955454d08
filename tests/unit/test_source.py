"""YAML as text: what is read exactly, what is refused and where, and that nothing is ever a traceback."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dossier import source
from dossier.source import Document, Mark, read_document

INVALID = sorted((Path(__file__).parents[1] / "evidence" / "source_invalid").glob("*.yaml"))

AS_WRITTEN = [
    "0012345",
    "5e10",
    "1e400",
    "0x1F",
    "0o17",
    "1_000",
    "12:30:45",
    "no",
    "on",
    "true",
    "~quoted",
    "2026-09-09",
    "97.60",
    ".inf",
    ".nan",
    "=",
    "-1",
    "1.10",
    "+17.21",
    "a:b",
    "https://example.org/a#d",
    "2026-09-09T10:00:00Z",
    "190:20:30",
    "Null.",
    "nULL",
]

# What YAML allows in a file, less the line ends that editors do not show.
TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"], exclude_characters="\ufeff"))
KEY = TEXT.filter(lambda key: key not in {"", "<<"})
TREE = st.recursive(TEXT, lambda inner: st.lists(inner) | st.dictionaries(KEY, inner), max_leaves=20)


@pytest.fixture(params=["libyaml", "pure"])
def parser(request, monkeypatch):
    if request.param == "pure":
        monkeypatch.setattr(source, "_LOADER", yaml.BaseLoader)
    elif not yaml.__with_libyaml__:
        pytest.skip("PyYAML was built without libyaml")


both_parsers = pytest.mark.usefixtures("parser")


def document(text):
    found, problems = read_document(text, "x.yaml")
    assert problems == []
    return found


def refused(text):
    found, problems = read_document(text, "x.yaml")
    assert found is None
    return [(problem.rule, f"{problem.line}:{problem.column}") for problem in problems]


@both_parsers
@pytest.mark.parametrize("written", AS_WRITTEN)
def test_a_plain_scalar_is_what_stands_in_the_file(written):
    assert document(f"value: {written}\nlist: [{written}]\n").data == {"value": written, "list": [written]}


@both_parsers
def test_quotes_blocks_and_folds_are_decoded():
    text = (
        'a: "caf\\u00e9\\n"\nb: \'it\'\'s\'\nc: |\n  one\n  two\nd: >\n  one\n  two\ne: one\n  two\nf: ""\ng: "null"\n'
    )
    assert document(text).data == {
        "a": "café\n",
        "b": "it's",
        "c": "one\ntwo\n",
        "d": "one two\n",
        "e": "one two",
        "f": "",
        "g": "null",
    }


@both_parsers
def test_an_explicit_document_a_directive_and_an_end_mark_are_accepted():
    assert document("%YAML 1.1\n---\na: b\n...\n").data == {"a": "b"}


@both_parsers
def test_crlf_reads_as_lf_and_keeps_positions():
    found = document("a: b\r\nc:\r\n  - d\r\n  - e\r\n")
    assert found.data == {"a": "b", "c": ["d", "e"]}
    assert found.locate(("c", 1)) == Mark(4, 5)


def test_bytes_and_text_read_alike():
    assert document("é: ü\n".encode()).data == document("é: ü\n").data == {"é": "ü"}


@both_parsers
def test_positions_of_values_and_keys():
    found = document('arms:\n  candidate: {recipe: fast}\nfixed:\n  - weights\n  - "context"\n')
    assert found.marks[("arms",)] == Mark(2, 3)
    assert found.key_marks[("arms", "candidate")] == Mark(2, 3)
    assert found.marks[("arms", "candidate")] == Mark(2, 14)
    assert found.locate(("arms", "candidate", "recipe")) == Mark(2, 23)
    assert found.locate(("arms", "candidate", "recipe"), key=True) == Mark(2, 15)
    assert found.locate(("fixed", 1)) == Mark(5, 5)


def test_a_path_that_does_not_exist_is_placed_at_its_nearest_ancestor():
    found = document("# head\na:\n  b: {c: d}\n")
    assert found.locate(("a", "b", "missing", 3)) == Mark(3, 6)
    assert found.locate(("a", "b", "missing"), key=True) == Mark(3, 6)
    assert found.locate(("missing",)) == found.locate(()) == Mark(2, 1)


def test_a_document_without_text_is_placed_at_the_start():
    assert Document({}, "").locate(("a", 0)) == Mark(1, 1)


@pytest.mark.parametrize("path", INVALID, ids=lambda path: path.stem)
def test_each_fault_is_reported_at_its_place(path):
    raw = path.read_bytes()
    words = raw.split(b"\n")[0].decode().split()
    assert words[:2] == ["#", "expect:"]
    assert refused(raw) == list(zip(words[2::2], words[3::2], strict=True))


# Without libyaml a complaint may come one token earlier or later, but it is the same complaint.
@pytest.mark.parametrize("path", INVALID, ids=lambda path: path.stem)
def test_the_pure_parser_refuses_the_same_files(path, monkeypatch):
    monkeypatch.setattr(source, "_LOADER", yaml.BaseLoader)
    assert refused(path.read_bytes())


def test_a_byte_order_mark_is_refused():
    assert refused(b"\xef\xbb\xbfa: b\n") == [("source/encoding", "1:1")]
    assert "without BOM" in str(read_document(b"\xef\xbb\xbfa: b\n", "x.yaml")[1][0])


def test_utf16_is_refused():
    assert refused("a: b\n".encode("utf-16")) == [("source/encoding", "1:1")]


def test_the_size_of_a_file_and_of_a_scalar_is_bounded():
    assert document("a: " + "x" * 65536).data == {"a": "x" * 65536}
    assert refused("a: b\nc: " + "x" * 65537) == [("source/size", "2:4")]
    assert refused("x" * 65537 + "\n") == [("source/root", "1:1")]
    assert refused("? " + "x" * 65537 + "\n: a\n") == [("source/size", "1:3")]
    assert len(document("a: b\n" + "#" * (2**20 - 5)).text) == 2**20
    assert refused("a: b\n" + "#" * (2**20 - 4)) == [("source/size", "1:1")]
    assert refused("é" * (2**19 + 1)) == [("source/size", "1:1")]


def test_depth_thirty_two_is_read():
    assert refused("a: " + "[" * 32 + "x" + "]" * 32) == [("source/depth", "1:35")]
    assert document("a: " + "[" * 31 + "x" + "]" * 31)


def test_two_hundred_problems_are_enough():
    assert len(refused("a: [" + "~," * 5000 + "]")) == 200


def test_a_message_carries_no_escape_sequence():
    _, [first, *_] = read_document('"\\e[2J": a\n"\\e[2J": b\n', "x.yaml")
    _, problems = read_document('"\\e[2J": a\n"\\e[2J": b\n', "x.yaml")
    assert first.rule == "source/encoding"
    assert all(str(problem).isprintable() for problem in problems)


HOSTILE = {
    "3000 brackets": "a: " + "[" * 3000,
    "a megabyte of brackets": "[" * 2**20,
    "nested braces": "{a: " * 200_000,
    "dashes": "a:\n  " + "- " * 500_000,
    "question marks": "? " * 500_000,
    "10 MB scalar": "a: " + "x" * 10_000_000,
    "anchors": "a: [" + "&a x," * 200_000,
    "alias bomb": "a: &a [x]\n" + "".join(f"b{i}: &b{i} [" + "*a," * 9 + "]\n" for i in range(9)),
    "a long tag": "a: !" + "x" * 1_000_000,
    "unclosed quote": 'a: "' + "x" * 1_000_000,
    "staircase": "".join(" " * i + "a:\n" for i in range(1400)),
    "version number": "%YAML 1." + "9" * 5000 + "\n---\na: b\n",
    "escape beyond Unicode": 'a: "\\UFFFFFFFF"\n',
    "escape just beyond Unicode": 'a: "\\U00110000"\n',
    "escaped surrogate": 'a: "\\ud800"\n',
    "lone surrogate": "a: \ud800\n",
    "NUL bytes": "\0" * 1000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_a_problem_and_nothing_else(text):
    tracemalloc.start()
    try:
        assert refused(text)
        assert tracemalloc.get_traced_memory()[1] < 100_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("text", [text[:20_000] for text in HOSTILE.values()], ids=HOSTILE)
def test_hostile_text_is_survived_without_libyaml(text, monkeypatch):
    monkeypatch.setattr(source, "_LOADER", yaml.BaseLoader)
    found, problems = read_document(text, "x.yaml")
    assert (found is None) == bool(problems)


@given(st.binary(max_size=200) | st.text(st.sampled_from("ab:-?[]{}&*!|>'\"%#@`,~ \n\t\r\\"), max_size=60))
def test_any_input_gives_a_document_or_problems(text):
    found, problems = read_document(text, "x.yaml")
    assert (found is None) == bool(problems)
    assert all(problem.line >= 1 and problem.column >= 1 for problem in problems)
    if found is not None:
        assert set(found.marks) >= set(found.key_marks)


@given(st.dictionaries(KEY, TREE), st.booleans())
def test_a_quoted_dump_reads_back_equal(tree, flow):
    dumped = yaml.safe_dump(tree, default_style='"', default_flow_style=flow, allow_unicode=True)
    dumped = dumped.replace("!!map ", "").replace("!!seq ", "")
    assert document(dumped).data == tree


@given(
    st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), st.from_regex(r"[a-z0-9.]{3,8}x", fullmatch=True))
)
def test_a_mark_points_at_the_scalar(tree):
    text = "# head\n" + yaml.safe_dump({"é": tree}, allow_unicode=True, default_style="'")
    found = document(text)
    lines = text.splitlines()
    for key, value in tree.items():
        at, key_at = found.locate(("é", key)), found.locate(("é", key), key=True)
        assert lines[at.line - 1][at.column - 1 :].startswith(f"'{value}'")
        assert lines[key_at.line - 1][key_at.column - 1 :].startswith(f"'{key}'")
