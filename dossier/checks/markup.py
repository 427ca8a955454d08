"""Prose as a reader of Markdown takes it apart."""

from __future__ import annotations

from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token


class _Permissive(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: ARG002, N802
        """Take every link as one, so that the unsafe ones are seen."""
        return True


_MARKDOWN = _Permissive("commonmark", {"html": False}).enable(["table", "strikethrough"])


def tokens(text: str) -> Iterator[Token]:
    """Every token of a text, those inside lines as well."""
    for token in _MARKDOWN.parse(text):
        yield token
        yield from _inside(token)


def _inside(token: Token) -> Iterator[Token]:
    for child in token.children or ():
        yield child
        yield from _inside(child)
