"""Hidden characters: what a person would not see, or would see otherwise than it is.

The client defines which they are: it is a terminal that they would deceive.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator

from irclient.invisible import bounded, hidden_of

_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_CONTROL = ("Cc", "Zl", "Zp")


def hidden_in(*texts: str | None) -> tuple[str, ...]:
    """Return the kinds of hidden characters in texts, sorted: bidi, control, invisible, marks.

    `marks` are more combining marks on one character than any language puts there.
    """
    return _sorted(kind for text in texts if text for kind in _kinds(text))


def hidden_in_names(*names: str) -> tuple[str, ...]:
    """Return the kinds of hidden characters in names and paths, where line ends and tabs count."""
    ends = ("control" for name in names if "\n" in name or "\t" in name)
    return _sorted((*hidden_in(*names), *ends))


def _sorted(kinds: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(kinds)))


def _kinds(text: str) -> Iterator[str]:
    if text.isascii() and text.isprintable():
        return
    yield from map(_kind, hidden_of(text.replace("\r\n", "\n")))
    if bounded(text) != text:
        yield "marks"


def _kind(char: str) -> str:
    if char in _BIDI:
        return "bidi"
    return "control" if unicodedata.category(char) in _CONTROL else "invisible"
