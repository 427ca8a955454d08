"""The extractor of seed facts: what it takes, how it writes it, what counts as shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from seeds.extract import NOT_FACTS, SEEDS, facts_file, facts_of, missing, read_facts

SEED_FOLDER = Path(__file__).parents[3] / "shared" / "seeds"
DIGEST = "0f1cdcc8891f1cc3a444121eb61d366289a1cbba285f0892dcbb24bc94961692"


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("327,680 configured", [("number", "327680")]),
        ("rose 102.19 → 142.64 tok/s", [("quantity", "102.19 tok/s"), ("quantity", "142.64 tok/s")]),
        ("115.69 versus 34.22 seconds", [("quantity", "115.69 s"), ("quantity", "34.22 s")]),
        ("fell to 2,101 MiB/card", [("quantity", "2101 MiB")]),
        ("a 3.5-bpw file", [("quantity", "3.5 bpw")]),
        ("rose 3.17×;", [("quantity", "3.17 times")]),
        (
            "112.07/96.17/102.42/99.79",
            [("number", "112.07"), ("number", "96.17"), ("number", "102.42"), ("number", "99.79")],
        ),
        ("16,729/5,749 tok/s", [("quantity", "16729 tok/s"), ("quantity", "5749 tok/s")]),
        ("20.5–33.0% faster", [("percent", "20.5"), ("percent", "33.0")]),
        ("−5.19%/−1.31%", [("percent", "-5.19"), ("percent", "-1.31")]),
        ("(n=12: −9.0%)", [("percent", "-9.0"), ("number", "12")]),
        ("passed 58/60, then 57/60", [("fraction", "58/60"), ("fraction", "57/60")]),
        ("27/18/24 of 30", [("fraction", "27/30"), ("fraction", "18/30"), ("fraction", "24/30")]),
        ("524,288/8,192 again", [("number", "524288"), ("number", "8192")]),
        ("393,216/C1 and 4K/120K", [("number", "393216"), ("name", "C1"), ("name", "4K"), ("name", "120K")]),
        ("on September 14", [("date", "2026-09-14")]),
        ("07:50–08:10 UTC", [("time", "07:50"), ("time", "08:10"), ("name", "UTC")]),
        (f"sha256:{DIGEST}.", [("digest", DIGEST), ("name", "sha256")]),
        ("vllm-project/vllm@487ecf187,", [("repo", "vllm-project/vllm"), ("short-revision", "487ecf187")]),
        ("NCCL_P2P_DISABLE=1,", [("env", "NCCL_P2P_DISABLE=1")]),
        ("Pi 0.84.2's path", [("version", "0.84.2"), ("name", "Pi")]),
        ("TP=2/DCP=2 with EXL3", [("name", "TP2"), ("name", "DCP2"), ("name", "EXL3")]),
        ("sixteen prompts", [("number", "16")]),
        ("facade decade added", []),
    ],
)
def test_a_fact_has_one_normal_form(sentence, expected):
    assert sorted(facts_of(sentence)) == sorted(expected)


@pytest.mark.parametrize(
    ("fact", "page"),
    [
        (("number", "327680"), "327,680 tokens"),
        (("number", "327680"), "327\u202f680 tokens"),
        (("number", "327680"), "327680"),
        (("number", "16"), "up to sixteen images"),
        (("quantity", "38.908 tok/s"), "38.908\u202ftok/s"),
        (("quantity", "0.123 s"), "0.123 seconds"),
        (("quantity", "2101 MiB"), "2,101\nMiB"),
        (("percent", "-5.19"), "\u22125.19 %"),
        (("percent", "2.39"), "\u22122.39\u2009%"),
        (("percent", "33.0"), "20.5–33.0 %"),
        (("fraction", "58/60"), "58 of 60 passed"),
        (("fraction", "58/60"), "(58 / 60)"),
        (("name", "TP2"), "TP = 2 or TP 2"),
        (("name", "C16"), "c16"),
        (("digest", DIGEST), DIGEST[:16] + " " + DIGEST[16:]),
        (("repo", "sgl-project/sglang"), "sgl-project/\u200bsglang@4c2c169"),
    ],
)
def test_typography_does_not_hide_a_fact(fact, page):
    assert missing([fact], page) == []


@pytest.mark.parametrize(
    ("fact", "page"),
    [
        (("number", "327680"), "1,327,680 and 327,681 and 327,680.5"),
        (("number", "95.00"), "95.0 and 95"),
        (("number", "5"), "15, 50, 5.5 and v5"),
        (("quantity", "6.0 ms"), "6.0 msgs, 16.0 ms, 6.0 s"),
        (("percent", "+33.0"), "33.0 %, -33.0 %"),
        (("percent", "3"), "33 % and 0.3 %"),
        (("fraction", "8/60"), "58/60 and 8/600"),
        (("name", "C1"), "C16"),
        (("name", "v0.4.2"), "v0.4.20"),
        (("digest", DIGEST), DIGEST[:-1]),
        (("date", "2026-09-09"), "2026-09-0"),
    ],
)
def test_a_likeness_is_not_the_fact(fact, page):
    assert missing([fact], page) == [fact]


def test_every_seed_holds_its_own_facts():
    text = "9/9 at 255,647–255,672 prompt tokens; −67.84%, 3.17×, 0.178 s to 0.123 s; rc14/393K/C1"
    assert missing(facts_of(text), text) == []


def test_the_file_says_seed_count_kind_and_value():
    assert facts_file({"a": "58/60, 58/60, EXL3"}) == "a\t2\tfraction\t58/60\na\t1\tname\tEXL3\n"


def test_what_is_left_out_has_a_reason():
    assert all(NOT_FACTS.values())


def test_the_committed_facts_are_those_of_the_seeds():
    """The seeds lie beside a checkout, not in it: where they do, they are extracted afresh."""
    committed = (Path(__file__).parent / "facts.txt").read_text(encoding="utf-8")
    assert len(read_facts()) > 300
    if SEED_FOLDER.is_dir():
        texts = {seed: (SEED_FOLDER / f"{seed}.txt").read_text(encoding="utf-8") for seed in SEEDS}
        assert committed == facts_file(texts)
