"""Names: which artifacts a text calls by name, and how much of each name a query covers.

A text names an artifact when it is the name, or contains it as an identifier: in backticks or
quotes, or written with `-`, `_`, `.`, `/`, `:`, `@` or inner capitals, as prose seldom is. Letter
case does not matter.

Short of that, a query that holds the words of a name speaks for it: coverage is the share of a
name's words, weighted by idf, that the query has, as if the name had a little more to it. So a name
of several rare words says more than one of a single common word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from irdaemon.index.lexical import Lexical
from irdaemon.index.rows import Rows

_QUOTED = re.compile(r"[`'\"]([^`'\"\n]{2,100})[`'\"]")
_IDENTIFIER = re.compile(r"@?\w[\w@./:+-]*[\w+]")
_UNLIKE_PROSE = re.compile(r"[-_./:@+]|[a-z][A-Z]|[A-Z]{2}[a-z]")
_LONGEST_NAME = 200
# The idf of a word that one record in twenty holds.
_MORE_TO_IT = 3.0


@dataclass(frozen=True, slots=True)
class Names:
    """The names of a corpus' artifacts: whole, and word by word in columns.

    Entry i says that the name of artifact `owners[i]` holds term `terms[i]` (ascending), and what
    that adds to its coverage.
    """

    rows: Rows
    terms: NDArray[np.int32]
    owners: NDArray[np.int32]
    shares: NDArray[np.float32]
    _positions: dict[str, list[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Rows, lexical: Lexical) -> Names:
        """Return the names of `rows`, their words weighted as the lexical leg weighs them."""
        lengths = np.diff(rows.name_ends, prepend=0)
        owners = np.repeat(np.arange(len(rows.cards), dtype=np.int32), lengths)
        weights = lexical.weights(rows.name_ids)
        totals = np.bincount(owners, weights, minlength=len(rows.cards)).astype(np.float32)
        order = np.argsort(rows.name_ids, kind="stable")
        shares = (weights / (totals[owners] + _MORE_TO_IT)).astype(np.float32)
        return cls(rows, rows.name_ids[order], owners[order], shares[order])

    def covered(self, terms: Sequence[int]) -> NDArray[np.float32]:
        """Return for each artifact how much of its name, 0 to below 1, `terms` (ids) cover."""
        covered = np.zeros(len(self.rows.cards), np.float32)
        for term in terms:
            first, end = np.searchsorted(self.terms, (term, term + 1))
            covered[self.owners[first:end]] += self.shares[first:end]
        return covered

    def called(self, text: str) -> list[int]:
        """Return the positions of the artifacts that `text` names, ascending."""
        owners = self._table()
        names = {name.casefold() for name in _names_in(text)}
        return sorted({owner for name in names for owner in owners.get(name, ())})

    def _table(self) -> dict[str, list[int]]:
        if not self._positions:
            table: dict[str, list[int]] = {}
            for owner, card in enumerate(self.rows.cards):
                table.setdefault(card.name.casefold(), []).append(owner)
            # All at once: a query on another thread sees the whole table or none.
            self._positions.update(table)
        return self._positions


def _names_in(text: str) -> Iterator[str]:
    if len(text) <= _LONGEST_NAME:
        yield text.strip()
    yield from _QUOTED.findall(text)
    for word in _IDENTIFIER.findall(text):
        if _UNLIKE_PROSE.search(word):
            yield word
