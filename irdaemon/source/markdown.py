"""Take headings out of a Markdown text, and a first paragraph out of its beginning.

A parser of Markdown takes a kilobyte for each mark of a text, so that two megabytes of headings
take two gigabytes. What is longer than some pages is parsed in a child process, with limits: there
this file is run as a program, which prints JSON: a list of headings, or the reason of a failure.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from irclient.errors import Unavailable
from irdaemon.runtime.memory import MB
from irdaemon.runtime.pool import ProcessLimits, run_program
from irdaemon.types import SourceError

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# Titles and opening paragraphs stand at the beginning; parsing the rest would only cost time.
_HEAD = 3_000
# Blocks alone are found in time linear in a text: this many characters take .3 s at the most.
LONGEST_HERE = 65_536
LIMITS = ProcessLimits(10.0, 512 * MB)
MOST_PARTS = 200_000
_OUTPUT = 16 * MB
# Each passage of a section keeps its heading, and that may be a text of any length underlined.
_LONGEST_HEADING = 300
_SECTION_LEVELS = frozenset({"h1", "h2"})
_CURE = "split the file, or exclude it"

Heading = tuple[int, str]  # its line, from 0 on, and its text


class _TooMany(Exception):
    """A text has more parts than are parsed."""


class _Parts(list["Token"]):
    """The parts of a text, up to a limit."""

    def append(self, part: Token) -> None:
        """Add a part. Raises _TooMany."""
        if len(self) >= MOST_PARTS:
            raise _TooMany
        super().append(part)


@cache
def make_parser() -> MarkdownIt:
    """Return a CommonMark parser, imported on first use: that takes 20 ms."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark")


@cache
def _make_block_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    # Inline markup is parsed for the one block asked about, not for all of them.
    return MarkdownIt("commonmark").disable("inline")


def list_sections(name: str, text: str) -> list[Heading]:
    """Return the headings of level one and two outside lists and quotes, in the order of a text.

    Raises SourceError, saying which limit, for the text called `name` where its parser exceeds one.
    """
    if len(text) <= LONGEST_HERE:
        return _list_headings(text)
    try:
        found = json.loads(run_program(__file__, text.encode("utf-8", "replace"), LIMITS, _OUTPUT))
    except Unavailable as error:
        raise SourceError(
            f"{name}: its Markdown cannot be parsed: {error.message}", _CURE
        ) from error
    if isinstance(found, str):
        raise SourceError(f"{name}: its Markdown has {found}", _CURE)
    return [(line, heading) for line, heading in found]


def _list_headings(text: str) -> list[Heading]:
    parts, parser = _Parts(), _make_block_parser()
    # Like `MarkdownIt.parse`, which offers no way to count the parts.
    lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    parser.block.parse(lines, parser, {}, parts)
    return [
        (part.map[0] if part.map else 0, inline.content[:_LONGEST_HEADING])
        for part, inline in pairwise(parts)
        if part.type == "heading_open" and part.tag in _SECTION_LEVELS and part.level == 0
    ]


def _print_headings() -> None:
    """Print the headings of the text on stdin, or the limit that it exceeds."""
    try:
        found: list[Heading] | str = _list_headings(sys.stdin.buffer.read().decode("utf-8"))
    except _TooMany:
        found = f"more than {MOST_PARTS:,} parts"
    except MemoryError:
        found = f"parts that need more memory than {LIMITS.memory // MB} MB"
    print(json.dumps(found))


def find_heading(text: str) -> str:
    """Return the text of the first level-one heading near the top, "" when there is none."""
    return _find_first(text, "heading_open", "h1")


def find_paragraph(text: str) -> str:
    """Return the text of the first paragraph outside lists and quotes, "" when there is none."""
    return _find_first(text, "paragraph_open", "p")


def _find_first(text: str, kind: str, tag: str) -> str:
    # Mostly the very first block is the one: then nothing else need be parsed.
    opening = text.lstrip().partition("\n\n")[0]
    return _find_block(opening[:_HEAD], kind, tag) or _find_block(text[:_HEAD], kind, tag)


def _find_block(text: str, kind: str, tag: str) -> str:
    tokens = _make_block_parser().parse(text)
    for i in range(len(tokens) - 1):
        if tokens[i].type == kind and tokens[i].tag == tag and tokens[i].level == 0:
            plain = _join_tokens(make_parser().parseInline(tokens[i + 1].content))
            if plain:
                return plain
    return ""


def _join_tokens(tokens: list[Token]) -> str:
    pieces = []
    for token in tokens[0].children or [] if tokens else []:
        if token.type in ("softbreak", "hardbreak"):
            pieces.append(" ")
        elif token.type in ("text", "code_inline"):
            pieces.append(token.content)
    return "".join(pieces).strip()


if __name__ == "__main__":
    _print_headings()
