"""The vocabulary: one id per term, shared by all corpora. Ids are never given out twice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from irdaemon.ledger.store import Store

_BLANK = "\0"  # no analysis gives a term that begins so


class Terms:
    """Give terms their ids. Readers may hold the table while the writer adds to it."""

    def __init__(self, store: Store):
        self._store = store
        self._table: dict[str, int] = {}
        self._lost = -1

    def table(self) -> dict[str, int]:
        """Return the term -> id table."""
        if self._lost != self._store.lost_transactions:
            # Ids of a transaction that was rolled back do not exist: read the table anew.
            self._table = dict(self._store.all("SELECT term, id FROM terms"))
            self._lost = self._store.lost_transactions
        return self._table

    def ids(self, terms: Iterable[str]) -> list[int]:
        """Return the ids of terms, new ones included, inside the caller's transaction."""
        table, terms = self.table(), list(terms)
        try:
            return list(map(table.__getitem__, terms))
        except KeyError:
            self._add([term for term in terms if term not in table])
        return list(map(table.__getitem__, terms))

    def adopt(self, vocabulary: Mapping[str, int]) -> None:
        """Take over the ids of another ledger, while there are none here."""
        self._store.run_many("INSERT INTO terms(term, id) VALUES (?, ?)", vocabulary.items())
        self._table = dict(vocabulary)

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
            self._table = dict(self._store.all("SELECT term, id FROM terms"))

    def _add(self, terms: Iterable[str]) -> None:
        first = len(self._table)
        new = list(enumerate(dict.fromkeys(terms), start=first))
        self._store.run_many("INSERT INTO terms(id, term) VALUES (?, ?)", new)
        self._table.update((term, number) for number, term in new)
