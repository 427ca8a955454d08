"""Every figure, digest, date and pin of the published pages that the corpus was written from is on the built site."""

from __future__ import annotations

import html
import re

from seeds.extract import missing, read_facts

_INVISIBLE = re.compile(r"<(script|style|template)\b.*?</\1>", re.DOTALL)
_GAPLESS = re.compile(r"</?(?:a|abbr|b|code|data|del|em|i|span|strong|sub|sup|time|wbr)\b[^>]*>")
_TAG = re.compile(r"<[^>]+>")


def _visible(page: str) -> str:
    """The words of a page as a reader has them: no scripts, and a gap only where the page shows one."""
    return html.unescape(_TAG.sub(" ", _GAPLESS.sub("", _INVISIBLE.sub(" ", page))))


def test_no_fact_of_the_published_pages_is_missing(corpus_site):
    pages = sorted(corpus_site.rglob("*.html"))
    text = "\n".join(_visible(page.read_text("utf-8")) for page in pages)
    facts = read_facts()
    assert len(facts) > 300
    assert missing(facts, text) == []
