"""The nearest known word to a wrong one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

# Not of any length: comparing takes time with the square of it.
_COMPARED_CHARS = 100


def find_nearest(word: str, known: Iterable[str]) -> str:
    """Return the known word that is most like a word, or "" where none is like it."""
    word = str(word)[:_COMPARED_CHARS]
    near = difflib.get_close_matches(word, [str(k) for k in known], n=1, cutoff=0.5)
    return near[0] if near else ""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` for the nearest known word, or nothing."""
    near = find_nearest(word, known)
    return f"; did you mean {near!r}?" if near else ""
