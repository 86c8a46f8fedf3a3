"""The vocabulary: one id per term, shared by all corpora. Ids are never given out twice."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from irdaemon.ledger.store import Store
from irdaemon.ledger.vocabulary import Vocabulary

_AT_ONCE = 500
# No id lies far beyond the number of terms, but where the ledger is damaged.
_IN_ORDER = (
    "SELECT term, id FROM terms WHERE id BETWEEN 0 AND (SELECT 2 * count(*) FROM terms) ORDER BY id"
)
_BLANK = "\0"  # no analysis gives a term that begins so
# A table of terms, their ids, and how many transactions had been lost when they were looked up.
_NO_TABLE: tuple[Sequence[str], NDArray[np.int32], int] = (), np.empty(0, np.int32), -1


class Terms:
    """Give terms their ids. Readers may hold the table while the writer adds to it."""

    def __init__(self, store: Store):
        self._store = store
        self._table = Vocabulary()
        self._lost = -1
        self._of_table = _NO_TABLE

    def table(self) -> Vocabulary:
        """Return the term -> id table."""
        if self._lost != self._store.lost_transactions:
            # Ids of a transaction that was rolled back do not exist: read the table anew.
            self._table = self._read()
            self._lost = self._store.lost_transactions
        return self._table

    def _read(self) -> Vocabulary:
        return Vocabulary(self._words())

    def _words(self) -> Iterator[str]:
        """Yield the terms in the order of their ids, a blank for each that a damage took."""
        following = 0
        for term, number in self._store.each(_IN_ORDER):
            if number > following:
                yield from (f"{_BLANK}{each}" for each in range(following, number))
            yield term
            following = number + 1

    def ids(self, terms: Iterable[str]) -> list[int]:
        """Return the ids of terms, new ones included, inside the caller's transaction."""
        table, terms = self.table(), list(terms)
        numbers = table.find_all(terms)
        if None in numbers:
            found = zip(terms, numbers, strict=True)
            self._add(dict.fromkeys(term for term, number in found if number is None))
            numbers = table.find_all(terms)
        return numbers

    def ids_of_table(self, terms: Sequence[str]) -> NDArray[np.int32]:
        """Return the ids of a table's terms, as `ids` does; of the last table without a look."""
        last, ids, lost = self._of_table
        if last is not terms or lost != self._store.lost_transactions:
            ids = np.array(self.ids(terms), np.int32)
            self._of_table = terms, ids, self._store.lost_transactions
        return ids

    def pack(self) -> None:
        """Keep the table in as little memory as can be, until many terms are looked up again."""
        self._of_table = _NO_TABLE
        self.table().pack()

    def words(self, ids: Collection[int]) -> dict[str, int]:
        """Return the words of some ids, with these, without reading the others; no blank ones."""
        wanted, found = sorted(ids), dict[str, int]()
        for start in range(0, len(wanted), _AT_ONCE):
            part = wanted[start : start + _AT_ONCE]
            marks = ", ".join("?" * len(part))
            found.update(
                self._store.all(f"SELECT term, id FROM terms WHERE id IN ({marks})", *part)
            )
        return {word: number for word, number in found.items() if not word.startswith(_BLANK)}

    def adopt(self, vocabulary: Mapping[str, int]) -> None:
        """Take over the ids of another ledger, while there are none here."""
        self._store.run_many("INSERT INTO terms(term, id) VALUES (?, ?)", vocabulary.items())
        self._table = Vocabulary.of(vocabulary)

    def blank_all_but(self, used: NDArray[np.bool_]) -> None:
        """Forget the words of the ids that are not `used`, by number. Their ids stay taken.

        The table handed out before stays as it is: readers may be using it.
        """
        unused = [
            (f"{_BLANK}{number}", number)
            for term, number in self.table().items()
            if not used[number] and not term.startswith(_BLANK)
        ]
        if unused:
            with self._store.transaction():
                self._store.run_many("UPDATE terms SET term = ? WHERE id = ?", unused)
            self._table = self._read()

    def _add(self, terms: Iterable[str]) -> None:
        new = [(self._table.add(term), term) for term in terms]
        self._store.run_many("INSERT INTO terms(id, term) VALUES (?, ?)", new)
