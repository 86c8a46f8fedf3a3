"""Spelling: what the words of a query that no asked corpus holds may have been meant to be.

Only for a query that is answered with nothing: a word that is no slip of the keyboard is seldom
near another one by chance, but often enough to harm queries that have an answer. A slip leaves
letters out, doubles them or swaps neighbours; it keeps the first one. Names (words with a capital
inside a text) and texts in another language are left as they are. docs/retrieval.md has figures.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping

from irdaemon.index import Snapshot
from irdaemon.text import tokenize
from irdaemon.text.languages import is_foreign

_WORD = re.compile(r"\w+")
_SHORTEST = 5
# Longer words may have two slips.
_LONG = 8
_MOST_WORDS = 8
# The vocabulary keeps forms of words behind this (see `text`).
_FORM = "="


def respelled(snapshot: Snapshot, text: str) -> dict[str, str]:
    """Return for the words of a text that no corpus holds the nearest one that some corpus does.

    By words as they are typed, at most eight; of several as near as each other the most frequent.
    """
    words = (found[0] for found in _WORD.finditer(text) if not _is_name(found))
    strange = [word for word in dict.fromkeys(words) if _is_strange(snapshot, word)]
    typed = {word: _plain(word) for word in strange[:_MOST_WORDS]}
    if not typed or is_foreign(text):
        return {}
    known = _known(snapshot, {word[0] for word in typed.values()})
    found = {word: _nearest(snapshot, plain, known) for word, plain in typed.items()}
    return {word: nearest for word, nearest in found.items() if nearest}


def in_words(text: str, words: Mapping[str, str]) -> str:
    """Return a text with some of its words in place of others."""
    return _WORD.sub(lambda found: words.get(found[0], found[0]), text)


def _is_name(found: re.Match[str]) -> bool:
    return found.start() > 0 and found[0][0].isupper()


def _is_strange(snapshot: Snapshot, word: str) -> bool:
    """Return whether no corpus holds a word that is long enough to know another by."""
    if len(word) < _SHORTEST or not word.isalpha():
        return False
    tokens = tokenize(word)
    return len(tokens) == 1 and not _frequency(snapshot, tokens[0])


def _plain(word: str) -> str:
    """Return a word in lower case, without accents."""
    parts = unicodedata.normalize("NFKD", word.lower())
    return "".join(part for part in parts if not unicodedata.combining(part))


def _known(snapshot: Snapshot, initials: set[str]) -> list[str]:
    """Return the words of the vocabulary that begin with one of some letters."""
    starts = tuple(f"{form}{initial}" for initial in initials for form in ("", _FORM))
    known = (term for each in snapshot.vocabularies() for term in each if term.startswith(starts))
    return list(dict.fromkeys(known))


def _nearest(snapshot: Snapshot, word: str, known: list[str]) -> str:
    """Return the known word of which another may be a slip, "" for none."""
    slips = ((distance, -_frequency(snapshot, term), term) for distance, term in _near(word, known))
    held = [slip for slip in slips if slip[1] and _is_slip(word, slip[2].removeprefix(_FORM))]
    return min(held)[2].removeprefix(_FORM) if held else ""


def _near(word: str, known: list[str]) -> Iterator[tuple[int, str]]:
    """Yield known words at most one or two edits away, with how many."""
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    most = 2 if len(word) >= _LONG else 1
    for wanted in (word, _FORM + word):
        for term, distance, _ in process.extract(
            wanted, known, scorer=OSA.distance, score_cutoff=most, limit=None
        ):
            if term.startswith(_FORM) == wanted.startswith(_FORM):
                yield distance, term


def _is_slip(typed: str, word: str) -> bool:
    """Return whether letters of a word are only missing, doubled or swapped in what was typed.

    What only lacks its ending was not typed for it: that is another word of the same stem.
    """
    if typed[0] != word[0] or (typed != word and typed.startswith(word)):
        return False
    one, other = Counter(typed), Counter(word)
    return one <= other or other <= one


def _frequency(snapshot: Snapshot, token: str) -> int:
    """Return how many records of any corpus hold a token."""
    return sum(
        index.lexical.frequency(snapshot.vocabulary_of(index).get(token, -1))
        for index in snapshot.corpora.values()
    )
