"""The part of a text where a query's words are, with the words marked."""

from __future__ import annotations

import re

_BEFORE = 60
_LONGEST = 240
_WORD = re.compile(r"\w{3,}")
_MOST_WORDS = 32


def snippet(text: str, query: str) -> str:
    """Return some 240 characters around the first of the query's words, each in <mark>.

    Words match from their beginning, in any case. Without a match it is the text's beginning.
    """
    words = sorted(set(_WORD.findall(query)), key=len, reverse=True)[:_MOST_WORDS]
    if not words:
        return text[:_LONGEST]
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})\w*", re.IGNORECASE)
    first = pattern.search(text)
    start = max(0, first.start() - _BEFORE) if first else 0
    cut = text[start : start + _LONGEST]
    return pattern.sub(lambda found: f"<mark>{found.group()}</mark>", cut)
