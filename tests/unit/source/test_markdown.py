"""The title, the first paragraph and the headings of a Markdown text."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irdaemon.source import markdown
from irdaemon.source.markdown import (
    LONGEST_HERE,
    find_heading,
    find_paragraph,
    list_sections,
    make_parser,
)
from irdaemon.types import SourceError


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
    assert find_heading(text) == heading


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
    assert find_paragraph(text) == paragraph


def test_what_stands_far_down_is_no_title():
    assert find_heading("text\n\n" * 2_000 + "# Late\n") == ""


@given(st.text(st.sampled_from("#>-`*_[]()! \nab"), max_size=60))
def test_any_text_has_a_title_and_a_paragraph_of_one_line_or_none(text):
    for found in (find_heading(text), find_paragraph(text)):
        assert "\n" not in found
        assert found == found.strip()


def headings_by_the_whole_parser(text):
    found = pairwise(make_parser().parse(text))
    return [
        (part.map[0], inline.content)
        for part, inline in found
        if part.type == "heading_open" and part.tag in ("h1", "h2") and part.level == 0
    ]


MARKS = st.lists(
    st.sampled_from(
        ["# a", "## `b`", "###", "a", "=", "-", "---", "> ", "- ", "1. ", "    ", "```"]
    )
    | st.sampled_from(
        ["\n", "\n", "\r\n", "\r", "\0", "[a]: b", "<!--", "-->", "<p>", "*", "\\", "|"]
    )
).map("".join)


@given(MARKS | st.text())
def test_headings_are_those_that_the_whole_parser_finds(text):
    assert list_sections("x", text) == headings_by_the_whole_parser(text)


def test_headings_of_a_long_text_are_those_of_a_short_one():
    part = "# a\n\n> # quoted\n\nb\n===\n\n```\n# code\n```\n"
    times = LONGEST_HERE // len(part) + 1
    found = list_sections("x", part * times)
    assert found == [
        (10 * number + line, heading)
        for number in range(times)
        for line, heading in list_sections("x", part)
    ]


def test_of_a_long_text_that_is_underlined_only_the_beginning_is_a_heading():
    assert list_sections("x", "word " * 50_000 + "\n---\n") == [(0, ("word " * 60))]


BOMBS = ("# h\n", "- a\n", "```\n")
DULL = ("#", "> ", "- ", "[", "[a](", "`", "*a ", "<", "|a|b|\n|-|-|\n", "&amp;")


@pytest.fixture
def unhurried(monkeypatch):
    """Give the parser more time than it needs on a busy machine."""
    monkeypatch.setattr(markdown, "LIMITS", replace(markdown.LIMITS, timeout_s=100.0))


@pytest.mark.parametrize("unit", BOMBS)
def test_a_text_of_more_parts_than_are_parsed_is_refused_by_name(unit, unhurried):
    with pytest.raises(
        SourceError, match=r"x: its Markdown has more than 200,000 parts"
    ) as refused:
        list_sections("x", unit * (2_000_000 // len(unit)))
    assert refused.value.hint == "split the file, or exclude it"


@pytest.mark.parametrize("unit", DULL)
def test_a_text_of_two_megabytes_of_one_mark_has_no_headings(unit, unhurried):
    assert list_sections("x", unit * (2_000_000 // len(unit))) == []


def test_a_parser_that_exceeds_its_limits_is_told_with_the_limit(monkeypatch):
    monkeypatch.setattr(markdown, "LIMITS", replace(markdown.LIMITS, timeout_s=0.05))
    with pytest.raises(SourceError, match=r"x: its Markdown cannot be parsed: .*after 0.05 s"):
        list_sections("x", "a\n" * 900_000)


def test_a_short_text_is_parsed_here(monkeypatch):
    monkeypatch.setattr(markdown, "run_program", None)
    assert list_sections("x", "# a\n" + "b\n" * 10_000) == [(0, "a")]
