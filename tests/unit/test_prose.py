"""Prose of a record becomes HTML that can neither run nor fetch anything."""

from __future__ import annotations

import pytest
from markupsafe import Markup, escape

from dossier.errors import RenderError
from dossier.pages.prose import inline, plain, prose


def refer(name: str) -> Markup:
    if name.startswith("no-"):
        raise RenderError(f"[[{name}]]: nothing of that name")
    return Markup('<a href="#{0}">{0}</a>').format(name)


def test_blocks_are_rendered():
    assert prose("one\n\n- two\n- **three**", refer) == (
        "<p>one</p>\n<ul>\n<li>two</li>\n<li><strong>three</strong></li>\n</ul>\n"
    )


def test_one_line_has_no_paragraph_around_it():
    assert inline("`a|b` and *c*", refer) == "<code>a|b</code> and <em>c</em>"


def test_headings_leave_the_first_two_levels_to_the_page():
    assert prose("# one\n\n##### five", refer) == "<h3>one</h3>\n<h6>five</h6>\n"


def test_a_table_stands_in_a_region_that_the_keyboard_can_scroll():
    assert 'role="region"' in prose("| a |\n| - |\n| b |", refer)
    assert 'tabindex="0"' in prose("| a |\n| - |\n| b |", refer)


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("<svg/onload=alert(1)>", "&lt;svg/onload=alert(1)&gt;"),
        ('<a href="javascript:alert(1)" onclick=x>', '&lt;a href="javascript:alert(1)" onclick=x&gt;'),
        ("[x](javascript:alert(1))", "[x](javascript:alert(1))"),
        ("[x](data:text/html,y)", "[x](data:text/html,y)"),
        ("[x](../y/)", "[x](../y/)"),
        ("[x](//host/y)", "[x](//host/y)"),
        ("{{7*7}} {% raw %} {#", "{{7*7}} {% raw %} {#"),
    ],
)
def test_nothing_that_runs_gets_through(text, html):
    assert inline(text, refer) == html


def test_links_out_are_https_or_mail_and_give_no_handle_to_this_page():
    assert inline("[x](https://example.org/y)", refer) == (
        '<a href="https://example.org/y" rel="noopener noreferrer">x</a>'
    )
    assert '<a href="mailto:a@example.org"' in inline("[x](mailto:a@example.org)", refer)
    assert inline("[x](http://example.org/y)", refer) == "[x](http://example.org/y)"


def test_an_image_leaves_its_words():
    assert inline("see ![a <b> picture](https://example.org/x.png)", refer) == "see a &lt;b&gt; picture"


def test_a_reference_is_what_the_caller_says():
    assert prose("gain [[decode-120k]] here", refer) == '<p>gain <a href="#decode-120k">decode-120k</a> here</p>\n'


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("Up [[a]] at 4K; [[b]].", 'Up <a href="#a">a</a> at 4K; <a href="#b">b</a>.'),
        ("[[a]] [[ b ]]", '<a href="#a">a</a> <a href="#b">b</a>'),
        ("[[a]](b) *c*", '<a href="#a">a</a>(b) <em>c</em>'),
        ("Up [[a]] < 5", 'Up <a href="#a">a</a> &lt; 5'),
        ("[[a]]: b", '<a href="#a">a</a>: b'),
    ],
)
def test_references_among_words(text, html):
    assert prose(text, refer) == f"<p>{html}</p>\n"
    assert inline(text, refer) == html


def test_a_reference_in_code_is_text():
    assert inline("`[[x]]`", refer) == "<code>[[x]]</code>"


def test_the_markup_of_a_reference_is_not_cleaned_away():
    assert inline("[[x]]", lambda name: Markup('<data value="{0}">{0}</data>').format(name)) == (
        '<data value="x">x</data>'
    )


def test_a_reference_that_nobody_knows_stops_the_page():
    with pytest.raises(RenderError, match="no-such"):
        inline("[[no-such]]", refer)


def test_the_marks_of_a_reference_cannot_be_forged():
    assert inline("\ue0000\ue001 [[x]]", escape) == "\ufffd0\ufffd x"


def test_plain_text_for_descriptions_and_search():
    assert plain(prose("one &amp; <b>two</b>\n\n- three", refer)) == "one & <b>two</b> three"
