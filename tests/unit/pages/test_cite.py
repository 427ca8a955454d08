"""Citations: whatever a title holds, each form stays what it is; and what is said of why a finding may be believed."""

from __future__ import annotations

import re

import yaml
from small_site import finding, site_of, words

from dossier.pages.cite import citations
from dossier.pages.finding import finding_page

HERE = "2026-01-01-one"
HOSTILE = 'A }, url={x} \\input{y} 100 % & "quoted": - #1'


def _cited(tmp_path, **more):
    found = site_of(tmp_path, finding(HERE, title=HOSTILE, **more)).catalog.finding(HERE)
    return dict(citations(found, "sha256:" + "a" * 64))


def test_cff_is_yaml_that_gives_the_title_back(tmp_path):
    read = yaml.safe_load(_cited(tmp_path, authors=["A. B", "C: D"])["CFF"])
    assert read["title"] == HOSTILE
    assert read["authors"] == [{"name": "A. B"}, {"name": "C: D"}]
    assert read["identifiers"] == [{"type": "other", "value": "sha256:" + "a" * 64}]
    assert read["date-released"] == "2026-01-01"


def test_bibtex_has_balanced_braces_and_no_command_of_the_title(tmp_path):
    text = _cited(tmp_path, authors=["A {B}"])["BibTeX"]
    bare = re.sub(r"\\[{}]", "", text)
    depth = 0
    for char in bare:
        depth += {"{": 1, "}": -1}.get(char, 0)
        assert depth >= 0
    assert depth == 0
    assert r"\input" not in text
    assert r"100 \% \&" in text
    assert len(re.findall(r"^  url = ", text, re.MULTILINE)) == 1


def test_a_finding_says_what_stands_behind_it(tmp_path):
    site = site_of(
        tmp_path,
        finding(
            HERE,
            provenance="transcribed",
            artifacts=[
                {"id": "x", "private": "Holds names.", "bytes": 2048, "sha256": "b" * 64},
                {"id": "y", "url": "https://example.org/y", "bytes": 10, "sha256": "c" * 64},
            ],
            limits=["Nothing is said of speed."],
        ),
    )
    told = words(finding_page(site, HERE).body)
    assert "1 at an address elsewhere (10 B); 1 private, known by digest (2.0 KiB) , each bound by SHA-256".replace(
        " ,", ","
    ) in told.replace(" ,", ",").replace("\N{NO-BREAK SPACE}", " ")
    assert "1 thing not claimed" in told
    assert "the figures themselves stand as published" in told
