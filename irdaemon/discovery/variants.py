"""Variants of a query's text: its parts, and its words with corrected spelling."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from irdaemon.index import FORM, Snapshot
from irdaemon.text import tokenize
from irdaemon.text.languages import is_foreign

# Sub-queries: the parts of a query that each ask for something.
#
# "Show the weather in Rome and book a table there" asks for two things. Sentences, and clauses
# joined by `and`, `then`, `also`, `plus` or `as well as`, are parts if they have enough words to
# ask for something.

# Each run of marks or white space is tried from its beginning alone: from each of its characters
# that would take quadratic time.
_JOINT = re.compile(
    r"(?<![.?!;])[.?!;\n]+(?:\s+|$)"
    r"|(?:,|(?<!\s))\s+(?:and\s+)?(?:then|also|plus|as well as|additionally)\s+"
    r"|(?:,|(?<!\s))\s+and\s+",
    re.IGNORECASE,
)
_FEWEST_WORDS = 2
_MOST = 4
# A text this long is a document, not a list of requests.
_LONGEST = 2_000


def split_query(text: str) -> list[str]:
    """Return the parts of a query that ask for something, at most four; () if it is one whole."""
    if len(text) > _LONGEST:
        return []
    parts = [part.strip() for part in _JOINT.split(text)]
    if len(parts) == 1:
        return []
    asking = [part for part in parts if len(set(tokenize(part))) >= _FEWEST_WORDS]
    return asking[:_MOST] if len(asking) > 1 else []


# Spelling: known words that the unknown words of a query may have meant.
#
# Only for a query without an answer: a word that is not a typing error is seldom near another one
# by chance, but often enough to harm queries that have an answer. A typing error omits letters,
# doubles them or swaps neighbours; it keeps the first one. Names (words with a capital inside a
# text) and texts in another language are left unchanged. docs/retrieval.md has figures.

_WORD = re.compile(r"\w+")
_SHORTEST = 5
# Longer words may have two errors.
_LONG, _MOST_SLIPS = 8, 2
_MOST_WORDS = 8


def respell_words(snapshot: Snapshot, text: str) -> dict[str, str]:
    """Return the nearest known word for each word of a text that no corpus contains.

    By words as typed, at most eight; of several equally near ones the most frequent.
    """
    words = (found[0] for found in _WORD.finditer(text) if not _is_name(found))
    strange = [word for word in dict.fromkeys(words) if _is_strange(snapshot, word)]
    typed = {word: _fold_word(word) for word in strange[:_MOST_WORDS]}
    if not typed or is_foreign(text):
        return {}
    known = _find_candidates(snapshot, typed.values())
    found = {word: _find_nearest(snapshot, plain, known) for word, plain in typed.items()}
    return {word: nearest for word, nearest in found.items() if nearest}


def replace_words(text: str, words: Mapping[str, str]) -> str:
    """Return a text with some of its words replaced."""
    return _WORD.sub(lambda found: words.get(found[0], found[0]), text)


def _is_name(found: re.Match[str]) -> bool:
    return found.start() > 0 and found[0][0].isupper()


def _is_strange(snapshot: Snapshot, word: str) -> bool:
    """Return whether no corpus contains a word that is long enough to be recognised."""
    if len(word) < _SHORTEST or not word.isalpha():
        return False
    tokens = tokenize(word)
    return len(tokens) == 1 and not snapshot.count_records(tokens[0])


def _fold_word(word: str) -> str:
    """Return a word in lower case, without accents."""
    parts = unicodedata.normalize("NFKD", word.lower())
    return "".join(part for part in parts if not unicodedata.combining(part))


def _find_candidates(snapshot: Snapshot, typed: Collection[str]) -> dict[str, list[str]]:
    """Return the words of the vocabulary that some words may mean, by their first letter.

    One pass selects by first letter and length; distances are computed for the rest.
    """
    known: dict[str, dict[str, None]] = {word[0]: {} for word in typed}
    least, most = min(map(len, typed)) - _MOST_SLIPS, max(map(len, typed)) + _MOST_SLIPS
    for term in snapshot.list_words_like(known.keys(), range(least, most + 1)):
        word = term.removeprefix(FORM)
        known[word[0]][word] = None
    return {initial: list(words) for initial, words in known.items()}


def _find_nearest(snapshot: Snapshot, word: str, known: Mapping[str, Sequence[str]]) -> str:
    """Return the known word that another may be a misspelling of, or ""."""
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    most = _MOST_SLIPS if len(word) >= _LONG else 1
    near = process.extract(word, known[word[0]], scorer=OSA.distance, score_cutoff=most, limit=None)
    slips = ((distance, -_count_records(snapshot, each), each) for each, distance, _ in near)
    held = [slip for slip in slips if slip[1] and _is_slip(word, slip[2])]
    return min(held)[2] if held else ""


def _count_records(snapshot: Snapshot, word: str) -> int:
    """Return how many records contain a word, as their token or as the form of one."""
    return max(snapshot.count_records(word), snapshot.count_records(FORM + word))


def _is_slip(typed: str, word: str) -> bool:
    """Return whether letters of a word were only omitted, doubled or swapped in the typed one.

    A word that lacks only its ending is not a misspelling: it is another word of the same stem.
    """
    if typed[0] != word[0] or (typed != word and typed.startswith(word)):
        return False
    one, other = Counter(typed), Counter(word)
    return one <= other or other <= one
