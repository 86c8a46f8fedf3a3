"""Names: which artifacts a text calls by name, and how much of each name a query covers.

A record that is about one symbol of a program text has that symbol's name beside its artifact's.

A text names an artifact when it is the name, or contains it as an identifier: written with `-`,
`_`, `.`, `/`, `:`, `@` or inner capitals, as prose seldom is, or, in a short text, in backticks or
quotes. A long text quotes many a common word (`text`, `summary`) that is some artifact's name too.
Letter case does not matter.

Short of that, a query that holds the words of a name speaks for it: coverage is the share of a
name's words, weighted by idf, that the query has, as if the name had a little more to it. So a name
of several rare words is stronger evidence than one of a single common word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from irdaemon.index.growing import Ragged
from irdaemon.index.lexical import Lexical
from irdaemon.index.rows import Rows, name_key

_QUOTED = re.compile(r"[`'\"]([^`'\"\n]{2,100})[`'\"]")
_IDENTIFIER = re.compile(r"@?\w[\w@./:+-]*[\w+]")
_UNLIKE_PROSE = re.compile(r"[-_./:@+]|[a-z][A-Z]|[A-Z]{2}[a-z]")
_LONGEST_NAME = 200
# The idf of a word that one record in twenty holds.
_MORE_TO_IT = 3.0


@dataclass(frozen=True, slots=True)
class Names:
    """The names of a corpus' artifacts."""

    rows: Rows
    lexical: Lexical

    def covered(self, terms: Sequence[int], positions: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return for records, by position, how much of their names (0 to below 1) terms cover.

        Of the artifact's name and the symbol's it is the one that is covered more.
        """
        owners = self.rows.artifact_of.array[positions]
        covered = self._covered(terms, self.rows.names, owners)
        if not self.rows.symbols.values[0].size:
            return covered
        of_symbols = self._covered(terms, self.rows.symbols, positions)
        return np.maximum(covered, of_symbols)

    def _covered(
        self, terms: Sequence[int], names: Ragged, rows: NDArray[np.integer]
    ) -> NDArray[np.float32]:
        places, of = names.of_rows(rows)
        ids = names.values[0].array[places]
        weights = self.lexical.weights(ids)
        wanted = (ids[:, np.newaxis] == np.array(terms, np.int32)).any(axis=1)
        whole = np.bincount(of, weights, minlength=len(rows))
        held = np.bincount(of, weights * wanted, minlength=len(rows))
        covered: NDArray[np.float32] = (held / (whole + _MORE_TO_IT)).astype(np.float32)
        return covered

    def called(self, text: str) -> list[int]:
        """Return the positions of the artifacts that `text` names, ascending."""
        names = {name.casefold() for name in names_in(text)}
        keys = np.array([name_key(name) for name in names], np.int64)
        found = np.flatnonzero(np.isin(self.rows.called.array, keys) & self.rows.alive).tolist()
        return [owner for owner in found if self.rows.cards[owner].name.casefold() in names]


def names_in(text: str) -> Iterator[str]:
    """Yield what a text may call by name; see above."""
    if len(text) <= _LONGEST_NAME:
        yield text.strip()
    if len(text) <= _LONGEST_NAME:
        yield from _QUOTED.findall(text)
    for word in _IDENTIFIER.findall(text):
        if _UNLIKE_PROSE.search(word):
            yield word
