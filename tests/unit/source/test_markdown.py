"""The title and the first paragraph of a Markdown text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irdaemon.source.markdown import first_heading, first_paragraph


@pytest.mark.parametrize(
    ("text", "heading"),
    [
        ("# Title\n\ntext", "Title"),
        ("Title\n=====\n", "Title"),
        ("text\n\n## Second\n\n# First\n", "First"),
        ("# `irc` and *more*\n", "irc and more"),
        ("```sh\n# a comment\n```\n", ""),
        ("> # quoted\n", ""),
        ("# \n\n# Title\n", "Title"),
        ("", ""),
    ],
)
def test_the_title_is_the_first_heading_of_level_one(text, heading):
    assert first_heading(text) == heading


@pytest.mark.parametrize(
    ("text", "paragraph"),
    [
        ("# Title\n\nIt does\nthings.\n\nMore.\n", "It does things."),
        ("- a list\n\n> a quote\n\nA paragraph.", "A paragraph."),
        ("![badge](b.svg)\n\nWhat it is.", "What it is."),
        ("See [the guide](g.md) for `this`.", "See the guide for this."),
        ("# Only a title\n", ""),
    ],
)
def test_the_first_paragraph_is_prose_without_its_markup(text, paragraph):
    assert first_paragraph(text) == paragraph


def test_what_stands_far_down_is_no_title():
    assert first_heading("text\n\n" * 2_000 + "# Late\n") == ""


@given(st.text(st.sampled_from("#>-`*_[]()! \nab"), max_size=60))
def test_any_text_has_a_title_and_a_paragraph_of_one_line_or_none(text):
    for found in (first_heading(text), first_paragraph(text)):
        assert "\n" not in found
        assert found == found.strip()
