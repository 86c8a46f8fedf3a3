"""Hidden characters: what a person would not see, or would see otherwise than it is.

Which they are is the client's to say, for it is a terminal that they would fool.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from irclient.hidden import is_hidden

_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_CONTROL = ("Cc", "Zl", "Zp")


def hidden_in(*texts: str | None) -> tuple[str, ...]:
    """Return the kinds of hidden characters in texts, sorted: bidi, control, invisible."""
    return tuple(sorted({kind for text in texts if text for kind in _kinds(text)}))


def _kinds(text: str) -> Iterator[str]:
    shown = text.replace("\r\n", "").replace("\n", "").replace("\t", "")
    if shown.isascii() and shown.isprintable():
        return
    for char in set(shown):
        if is_hidden(char):
            yield _kind(char)


def _kind(char: str) -> str:
    if char in _BIDI:
        return "bidi"
    return "control" if unicodedata.category(char) in _CONTROL else "invisible"
