"""Names: which artifacts a text calls by name, and how much of each name a query covers.

A record that is about one symbol of a program text has that symbol's name beside its artifact's.

A text names an artifact when it is the name, or contains it as an identifier: written with `-`,
`_`, `.`, `/`, `:`, `@` or inner capitals, as prose seldom is, or, in a short text, in backticks or
quotes. A long text quotes many a common word (`text`, `summary`) that is some artifact's name too.
Letter case does not matter.

Short of that, a query that holds the words of a name is evidence for it: coverage is the share of a
name's words, weighted by idf, that the query has, with a constant added to the name's weight. So a
name of several rare words is stronger evidence than one of a single common word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from irdaemon.index.growing import Ragged
from irdaemon.index.lexical import Lexical
from irdaemon.index.rows import Rows, hash_name

_QUOTED = re.compile(r"[`'\"]([^`'\"\n]{2,100})[`'\"]")
_IDENTIFIER = re.compile(r"@?\w[\w@./:+-]*[\w+]")
_UNLIKE_PROSE = re.compile(r"[-_./:@+]|[a-z][A-Z]|[A-Z]{2}[a-z]")
_LONGEST_NAME = 200
# Further candidates in a text are not looked up: each costs a search in every corpus.
_MOST_NAMES = 256
# The idf of a word that one record in twenty holds.
_MORE_TO_IT = 3.0
# Keys are sorted again once this many are unsorted, and this share of the sorted ones.
_UNSORTED = 1_000
_UNSORTED_SHARE = 0.02


@dataclass(frozen=True, slots=True)
class NameKeys:
    """The keys of the first artifacts' names, sorted, and the artifact of each."""

    keys: NDArray[np.int64]
    owners: NDArray[np.int32]
    epoch: int

    @classmethod
    def build(cls, rows: Rows) -> NameKeys:
        """Sort the keys of all present artifacts."""
        called = rows.called.array
        order = np.argsort(called, kind="stable")
        return cls(called[order], order.astype(np.int32), rows.epoch)

    def hold(self, rows: Rows) -> bool:
        """Return whether these keys are still good for the rows: few artifacts are newer."""
        came = rows.called.size - len(self.keys)
        return self.epoch == rows.epoch and came <= max(_UNSORTED, _UNSORTED_SHARE * len(self.keys))

    def find_owners(self, rows: Rows, key: int) -> list[int]:
        """Return the artifacts whose name may have a key, newer ones included."""
        first = int(self.keys.searchsorted(key))
        found: list[int] = []
        if first < len(self.keys) and self.keys[first] == key:
            found = self.owners[first : int(self.keys.searchsorted(key, "right"))].tolist()
        if rows.called.size > len(self.keys):
            came = rows.called.array[len(self.keys) :]
            found += (np.flatnonzero(came == key) + len(self.keys)).tolist()
        return found


@dataclass(frozen=True, slots=True)
class Names:
    """The names of a corpus' artifacts."""

    rows: Rows
    lexical: Lexical
    keys: NameKeys

    @classmethod
    def build(cls, rows: Rows, lexical: Lexical, previous: Names | None = None) -> Names:
        """Return the names of `rows`, reusing the previous sorted keys if they are still good."""
        held = previous is not None and previous.keys.hold(rows)
        return cls(rows, lexical, previous.keys if previous and held else NameKeys.build(rows))

    def measure_coverage(
        self, terms: Sequence[int], positions: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return how much of each record's name (0 to below 1) terms cover, by position.

        Of the artifact's and the symbol's name the one covered more counts.
        """
        owners = self.rows.artifact_of.array[positions]
        covered = self._compute_coverage(terms, self.rows.names, owners)
        if not self.rows.symbols.values[0].size:
            return covered
        of_symbols = self._compute_coverage(terms, self.rows.symbols, positions)
        return np.maximum(covered, of_symbols)

    def _compute_coverage(
        self, terms: Sequence[int], names: Ragged, rows: NDArray[np.integer]
    ) -> NDArray[np.float32]:
        covered = np.zeros(len(rows), np.float32)
        places, of = names.locate_rows(rows)
        ids = names.values[0].array[places]
        wanted = (ids[:, np.newaxis] == np.array(terms, np.int32)).any(axis=1)
        touched = np.zeros(len(rows), np.bool_)
        touched[of[wanted]] = True
        if touched.any():  # most names share no word with the query
            theirs = touched[of]
            weights, of = self.lexical.compute_idf(ids[theirs]), of[theirs]
            whole = np.bincount(of, weights, minlength=len(rows))
            held = np.bincount(of, weights * wanted[theirs], minlength=len(rows))
            covered[touched] = (held / (whole + _MORE_TO_IT))[touched]
        return covered

    def find_named(self, text: str) -> list[int]:
        """Return the positions of the artifacts that `text` names, ascending."""
        names = hash_names(text)
        found = {owner for key in names.values() for owner in self.keys.find_owners(self.rows, key)}
        alive, cards = self.rows.alive, self.rows.cards
        return sorted(
            owner for owner in found if alive[owner] and cards[owner].name.casefold() in names
        )


@lru_cache(maxsize=8)
def hash_names(text: str) -> Mapping[str, int]:
    """Return the names that a text may contain, folded, with their hashes; see `hash_name`."""
    return {name: hash_name(name) for name in map(str.casefold, find_names(text))}


def find_names(text: str) -> Iterator[str]:
    """Yield the names that a text may contain; see above."""
    if len(text) <= _LONGEST_NAME:
        yield text.strip()
    if len(text) <= _LONGEST_NAME:
        yield from _QUOTED.findall(text)
    words = dict.fromkeys(_IDENTIFIER.findall(text))
    yield from islice(filter(_UNLIKE_PROSE.search, words), _MOST_NAMES)
