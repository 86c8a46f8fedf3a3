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
from dataclasses import dataclass

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
    """The names of a corpus' artifacts.

    `owners` gives the positions of those of a name; it is shared between generations, and grows.
    """

    rows: Rows
    lexical: Lexical
    owners: dict[str, list[int]]

    @classmethod
    def of(cls, rows: Rows, lexical: Lexical, previous: Names | None = None) -> Names:
        """Return the names of `rows`, adding what is new to the previous ones."""
        owners: dict[str, list[int]] = {}
        start = 0
        if previous is not None and previous.rows.epoch == rows.epoch:
            owners, start = previous.owners, len(previous.rows.alive)
        for owner in range(start, len(rows.alive)):
            owners.setdefault(rows.cards[owner].name.casefold(), []).append(owner)
        return cls(rows, lexical, owners)

    def covered(self, terms: Sequence[int], owners: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return for artifacts, by position, how much of their names (0 to below 1) terms cover."""
        places, of = self.rows.names.of_rows(owners)
        ids = self.rows.names.values[0].array[places]
        weights = self.lexical.weights(ids)
        asked = (ids[:, np.newaxis] == np.array(terms, np.int32)).any(axis=1)
        whole = np.bincount(of, weights, minlength=len(owners))
        held = np.bincount(of, weights * asked, minlength=len(owners))
        covered: NDArray[np.float32] = (held / (whole + _MORE_TO_IT)).astype(np.float32)
        return covered

    def called(self, text: str) -> list[int]:
        """Return the positions of the artifacts that `text` names, ascending."""
        alive = self.rows.alive
        found = {
            owner
            for name in {name.casefold() for name in _names_in(text)}
            for owner in self.owners.get(name, ())
            # The table may be ahead of these rows.
            if owner < len(alive) and alive[owner]
        }
        return sorted(found)


def _names_in(text: str) -> Iterator[str]:
    if len(text) <= _LONGEST_NAME:
        yield text.strip()
    yield from _QUOTED.findall(text)
    for word in _IDENTIFIER.findall(text):
        if _UNLIKE_PROSE.search(word):
            yield word
