"""Take a title and a first paragraph out of the beginning of a Markdown text."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# Titles and opening paragraphs stand at the beginning; parsing the rest would only cost time.
_HEAD = 3_000


def commonmark() -> MarkdownIt:
    """Return a new CommonMark parser. Importing the package takes 20 ms: only who reads pays."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark")


@cache
def _blocks() -> MarkdownIt:
    # Inline markup is parsed for the one block asked about, not for all of them.
    return commonmark().disable("inline")


@cache
def _inlines() -> MarkdownIt:
    return commonmark()


def first_heading(text: str) -> str:
    """Return the text of the first level-one heading near the top, "" when there is none."""
    return _first(text, "heading_open", "h1")


def first_paragraph(text: str) -> str:
    """Return the text of the first paragraph outside lists and quotes, "" when there is none."""
    return _first(text, "paragraph_open", "p")


def _first(text: str, kind: str, tag: str) -> str:
    # Mostly the very first block is the one: then nothing else need be parsed.
    opening = text.lstrip().partition("\n\n")[0]
    return _found(opening[:_HEAD], kind, tag) or _found(text[:_HEAD], kind, tag)


def _found(text: str, kind: str, tag: str) -> str:
    tokens = _blocks().parse(text)
    for i in range(len(tokens) - 1):
        if tokens[i].type == kind and tokens[i].tag == tag and tokens[i].level == 0:
            plain = _plain(_inlines().parseInline(tokens[i + 1].content))
            if plain:
                return plain
    return ""


def _plain(tokens: list[Token]) -> str:
    pieces = []
    for token in tokens[0].children or [] if tokens else []:
        if token.type in ("softbreak", "hardbreak"):
            pieces.append(" ")
        elif token.type in ("text", "code_inline"):
            pieces.append(token.content)
    return "".join(pieces).strip()
