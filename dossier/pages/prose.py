"""Markdown prose of a record as safe HTML.

Two guards stand one behind the other: markdown-it-py with raw HTML off, then nh3 with a short list of tags.
A `[[name]]` outside code is a reference; the caller says what stands for it, as markup that it vouches for,
and that markup joins the text only after cleaning.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererProtocol
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup

Resolve = Callable[[str], Markup]
"""What stands for `[[name]]`; raises `RenderError` for a name it does not know."""

_BLOCKS = {"blockquote", "div", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "ul"}
_CELLS = {"table", "tbody", "td", "th", "thead", "tr"}
_TAGS = _BLOCKS | _CELLS | {"a", "br", "code", "del", "em", "strong"}
_ATTRIBUTES = {
    "a": {"href", "title"},
    "code": {"class"},
    "div": {"class", "role", "tabindex", "aria-label"},
    "ol": {"start"},
    "table": {"class"},
}
# Marks around the number of a resolved reference; taken out of the text first, so that none is forged.
_OPEN, _CLOSE = "\ue000", "\ue001"
_MARK = re.compile(f"{_OPEN}(\\d+){_CLOSE}")
_FORGED = re.compile(f"[{_OPEN}{_CLOSE}\x00-\x08\x0b\x0c\x0e-\x1f]")
# A text that Markdown leaves as it is: it begins with a letter, and no character of it means anything.
_ODD = r"\n\\`*_\[\]<>&~!|#\"\x00-\x1f\x7f-\xa0" + _OPEN + _CLOSE
_PLAIN = re.compile(rf"[^\W\d_](?:[^{_ODD}]*[^\s{_ODD}])?")
_REFERENCE = re.compile(r"\[\[([^\[\]\n]{1,200})\]\]")
_TAG = re.compile(r'<(?:[^">]|"[^"]*")*>')
_END = re.compile(r"</(?:p|li|td|th|h\d|pre|tr)>|<br>")


def prose(text: str, resolve: Resolve) -> Markup:
    """Render Markdown blocks: paragraphs, lists, tables, code, headings from the third level down."""
    if (line := _simple(text, resolve)) is not None:
        return Markup(f"<p>{line}</p>\n")  # noqa: S704
    return _render(text, resolve, _PARSER.render)


def inline(text: str, resolve: Resolve) -> Markup:
    """Render one line of Markdown, without a paragraph around it."""
    if (line := _simple(text, resolve)) is not None:
        return Markup(line)  # noqa: S704
    return _render(text, resolve, _PARSER.renderInline)


def plain(markup: Markup) -> str:
    """The words of rendered prose, for a description or the search index: no tags, single spaces."""
    return " ".join(html.unescape(_TAG.sub("", _END.sub(" ", str(markup)))).split())


def _simple(text: str, resolve: Resolve) -> str | None:
    """A line with no markup but references, finished; None for any other text."""
    if _PLAIN.fullmatch(_REFERENCE.sub("x", text)):
        return _REFERENCE.sub(lambda match: resolve(match[1].strip()), text)
    return None


def _render(text: str, resolve: Resolve, render: Callable[[str, EnvType], str]) -> Markup:
    found: list[Markup] = []
    dirty = render(_FORGED.sub("\N{REPLACEMENT CHARACTER}", text), {"resolve": resolve, "found": found})
    clean = nh3.clean(dirty, tags=_TAGS, attributes=_ATTRIBUTES, url_schemes={"https", "mailto"})
    # `found` counts only this text, and no mark in it came from outside.
    return Markup(_MARK.sub(lambda mark: str(found[int(mark[1])]), clean))  # noqa: S704


def _reference(state: StateInline, silent: bool) -> bool:
    match = _REFERENCE.match(state.src, state.pos)
    if match is None:
        return False
    if not silent:
        found: list[Markup] = state.env["found"]
        state.push("text", "", 0).content = f"{_OPEN}{len(found)}{_CLOSE}"
        found.append(state.env["resolve"](match[1].strip()))
    state.pos = match.end()
    return True


def _demote_headings(state: StateCore) -> None:
    """A page owns the first two heading levels; prose starts below them."""
    for token in state.tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(int(token.tag[1]) + 2, 6)}"


def _words_of_image(
    _self: RendererProtocol, tokens: Sequence[Token], index: int, _options: OptionsDict, _env: EnvType
) -> str:
    return html.escape(tokens[index].content)


def _table_open(*_: object) -> str:
    return '<div class="dx-table" role="region" tabindex="0" aria-label="Table"><table class="dx-t dx-t-prose">'


def _table_close(*_: object) -> str:
    return "</table></div>"


class _Parser(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802
        """Prose is shown at more than one depth of the site, so a relative link has no one meaning."""
        return url.lower().startswith(("https://", "mailto:"))


def _parser() -> MarkdownIt:
    parser = _Parser("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.inline.ruler.before("link", "reference", _reference)
    parser.core.ruler.push("demote_headings", _demote_headings)
    parser.add_render_rule("image", _words_of_image)
    parser.add_render_rule("table_open", _table_open)
    parser.add_render_rule("table_close", _table_close)
    return parser


_PARSER = _parser()
