"""The article of a derived page: the same bytes whether it fills a shell or passes through plain mkdocs.

Python-Markdown takes a balanced `<div>` as raw HTML, yet it first expands tabs, empties lines of blanks and drops
two control characters; Material's search plugin cuts some attributes. `article` writes such text in a form that
none of them touches.
"""

from __future__ import annotations

import json
import re

_PRE = re.compile(rb"(<pre\b.*?</pre>)", re.DOTALL)
_BLANK_LINE = re.compile(rb"(?<=\n)( +)(?=\n)")
_CONTROLS = bytes({*range(0x20)} - {0x09, 0x0A, 0x0D})
_CONTROL = re.compile(b"[\x00-\x08\x0b\x0c\x0e-\x1f]")


def article(body: str) -> bytes:
    """Enclose the rendered body of a page, in its final form, which is UTF-8.

    Line breaks and indentation between tags are made one line break each; inside `<pre>` nothing visible changes.
    """
    text = body.encode()
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if len(text.translate(None, _CONTROLS)) != len(text):
        text = _CONTROL.sub("\N{REPLACEMENT CHARACTER}".encode(), text)
    # Only an attribute of a search directive looks like this, and no page has one.
    text = text.replace(b"data-search-", b"data&#45;search-")
    parts = _PRE.split(text) if b"<pre" in text else [text]
    parts[::2] = [_tight(part) for part in parts[::2]]
    parts[1::2] = [_keep_blanks(part) for part in parts[1::2]]
    return b'<div class="dx" id="content" tabindex="-1">\n%b\n</div>' % b"".join(parts).strip()


def _tight(text: bytes) -> bytes:
    """Lines without the blanks around them, and no empty line; faster than a pattern that tries every blank."""
    first, *lines = text.replace(b"\t", b" ").split(b"\n")
    if not lines:
        return first
    between = [line for line in map(bytes.strip, lines[:-1]) if line]
    return b"\n".join([first.rstrip(), *between, lines[-1].lstrip()])


def as_markdown(section: str, title: str, description: str, body: str) -> bytes:
    """A page as a Markdown file that plain mkdocs turns into a page with the same article."""
    # JSON strings are YAML strings too, once nothing outside ASCII needs a surrogate pair.
    head = {"title": _line(title), "description": _line(description), "section": section}
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in head.items()]
    return "\n".join(["---", *lines, "hide: [navigation, toc]", "---", "", ""]).encode() + article(body) + b"\n"


def _keep_blanks(pre: bytes) -> bytes:
    pre = pre.replace(b"\t", b"&#9;")
    return _BLANK_LINE.sub(lambda blanks: b"&#32;" * len(blanks[1]), pre)


def _line(text: str) -> str:
    """One line of printable text: YAML and HTML heads take no control characters."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())
