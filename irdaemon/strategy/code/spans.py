"""Divide the lines of a text among its symbols: each line belongs to one span, or is blank."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from irdaemon.strategy.code.outlined import Symbol

# Their parts are chunks of their own, however short they are.
_HOLDERS = frozenset({"class", "interface", "trait", "impl", "enum", "module", "record", "struct"})
_WORD = re.compile(r"\w")
# What closes a block in languages without braces says nothing alone.
_CLOSERS = ("end",)
# A signature that is repeated may take half of a chunk.
_MOST_OF_CHUNK = 2


@dataclass(frozen=True, slots=True)
class LineSpan:
    """Lines from `start` to `end`, from 1 on and both in it; of which symbol, None for none.

    `head` is repeated before the text of any but the first span of a symbol.
    """

    start: int
    end: int
    symbol: Symbol | None = None
    head: str = ""

    def text(self, lines: Sequence[str]) -> str:
        """Return its text, with the head before it."""
        own = "\n".join(lines[self.start - 1 : self.end])
        return f"{self.head}\n{own}" if self.head else own


def divided(
    lines: Sequence[str], symbols: Sequence[Symbol], size: int, is_comment: Callable[[str], bool]
) -> Iterator[LineSpan]:
    """Yield the spans of a text in its order.

    Symbols come in the order of the text, outer ones first. Parts of classes and the like are taken
    out of them, those of a function where it is longer than `size` characters. Comments directly
    above a symbol belong to it, and so do attributes.
    """
    tree = _tree(lines, symbols, is_comment)
    for span in _of_range(1, len(lines), None, tree, _Cutting(lines, size)):
        if _says_something(span, lines):
            yield span


@dataclass(slots=True)
class _Nested:
    """A symbol with its first line, comments above it included, and the symbols in it."""

    symbol: Symbol
    start: int
    inner: list[_Nested]


@dataclass(frozen=True, slots=True)
class _Cutting:
    lines: Sequence[str]
    size: int

    def length(self, start: int, end: int) -> int:
        """Count the characters of lines."""
        return sum(len(line) + 1 for line in self.lines[start - 1 : end])

    def head(self, symbol: Symbol) -> str:
        """Return the signature of a symbol, "" where it takes too much of a chunk."""
        text = "\n".join(self.lines[symbol.start - 1 : symbol.head])
        return text if len(text) <= self.size // _MOST_OF_CHUNK else ""


def _tree(
    lines: Sequence[str], symbols: Sequence[Symbol], is_comment: Callable[[str], bool]
) -> list[_Nested]:
    """Return the outermost symbols, each with those inside it.

    One that begins on a line that another of them has already is left to that.
    """
    outermost: list[_Nested] = []
    around: list[_Nested] = []
    taken = 0
    for symbol in symbols:
        while around and around[-1].symbol.end < symbol.end:
            around.pop()
        first = max(taken, around[-1].symbol.head if around else 0) + 1
        inside = around and symbol.start <= around[-1].symbol.head
        if symbol.start <= taken or inside or symbol.end > len(lines):
            continue
        start = symbol.start
        while start > first and is_comment(lines[start - 2]):
            start -= 1
        part = _Nested(symbol, start, [])
        (around[-1].inner if around else outermost).append(part)
        around.append(part)
        taken = symbol.start
    return _without_overlaps(outermost)


def _without_overlaps(parts: list[_Nested]) -> list[_Nested]:
    """Return the parts that begin below the end of the one before."""
    kept: list[_Nested] = []
    for part in parts:
        if not kept or part.start > kept[-1].symbol.end:
            kept.append(part)
            part.inner = _without_overlaps(part.inner)
    return kept


def _of_range(
    start: int, end: int, owner: Symbol | None, inner: Sequence[_Nested], cutting: _Cutting
) -> Iterator[LineSpan]:
    """Yield the spans of lines that belong to a symbol, None for none, and to those in it."""
    at, is_first = start, True
    for part in inner:
        if at < part.start:
            yield from _cut(LineSpan(at, part.start - 1, owner), is_first, cutting)
            is_first = False
        yield from _of_part(part, cutting)
        at = part.symbol.end + 1
    if at <= end:
        yield from _cut(LineSpan(at, end, owner), is_first, cutting)


def _of_part(part: _Nested, cutting: _Cutting) -> Iterator[LineSpan]:
    symbol = part.symbol
    long = cutting.length(part.start, symbol.end) > cutting.size
    inner = part.inner if symbol.kind in _HOLDERS or long else ()
    yield from _of_range(part.start, symbol.end, symbol, inner, cutting)


def _cut(span: LineSpan, is_first: bool, cutting: _Cutting) -> Iterator[LineSpan]:
    """Yield a span in pieces of whole lines, of at most so many characters.

    A single line that is longer is a piece.
    """
    head = cutting.head(span.symbol) if span.symbol else ""
    at = span.start
    while at <= span.end:
        repeated = "" if is_first else head
        left = cutting.size - len(repeated) - len(cutting.lines[at - 1])
        end = at
        while end < span.end and (left := left - 1 - len(cutting.lines[end])) >= 0:
            end += 1
        yield LineSpan(at, end, span.symbol, repeated)
        at, is_first = end + 1, False


def _says_something(span: LineSpan, lines: Sequence[str]) -> bool:
    own = "\n".join(lines[span.start - 1 : span.end]).strip()
    return bool(_WORD.search(own)) and own not in _CLOSERS
