"""The index in PostgreSQL with pgvector, for any number of processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TypeVar

from irdaemon.contrib.backends.postgres import asking
from irdaemon.contrib.backends.postgres.admin import PostgresAdmin
from irdaemon.contrib.backends.postgres.asking import find
from irdaemon.contrib.backends.postgres.connections import Connection, Connections, Server
from irdaemon.contrib.backends.postgres.view import KeptValues, SpaceGone
from irdaemon.contrib.backends.postgres.writing import (
    apply_delta,
    drop_corpus,
    release_lease,
    take_lease,
    tidy,
)
from irdaemon.contrib.backends.state import BackendAdmin
from irdaemon.index.backend import Found, IndexBackend, IndexDelta, StoredText, Totals, Wanted

Result = TypeVar("Result")

# From so many vectors on they are searched through a graph, where there is no filter.
HNSW_ABOVE = 50_000
# The most that a request waits for the server.
_READ_S = 30.0
_POLLED_S = (0.005, 0.1)
_TRIES = 3


def make(url: str, password: str | None) -> IndexBackend:
    """Return the backend of a URL; `password` takes the place of the one in it."""
    return PostgresBackend(Server.of(url, password))


def make_admin(url: str, password: str | None) -> BackendAdmin:
    """Return what a backend is looked after with."""
    return PostgresAdmin(Server.of(url, password))


class PostgresBackend:
    """Keep corpora in a PostgreSQL, written through its primary and read from any standby."""

    def __init__(self, server: Server, hnsw_above: int = HNSW_ABOVE):
        self.server = server
        self._hnsw_above = hnsw_above or 1 << 62
        several = len(server.hosts()) > 1
        self._reading = Connections(server, ("standby", "any") if several else ("any",))
        self._writing = Connections(server, ("read-write",))
        self._values: KeptValues = {}
        self._fences: dict[str, int] = {}

    def __repr__(self) -> str:
        return f"PostgresBackend({self.server})"

    # -- searching -----------------------------------------------------------------------------

    def totals(self) -> Mapping[str, Totals]:
        """Return what is known of every corpus there is, by name."""
        return self._read(asking.totals)

    def found(self, corpus: str, wanted: Wanted) -> Found:
        """Return the records of a corpus that a query needs."""
        for _ in range(_TRIES - 1):
            try:
                return self._found(corpus, wanted)
            except SpaceGone:
                pass
        return self._found(corpus, wanted)

    def _found(self, corpus: str, wanted: Wanted) -> Found:
        return self._read(lambda c: find(c, corpus, wanted, self._values, self._hnsw_above))

    def words(self, corpus: str, words: Collection[str]) -> Mapping[str, int]:
        """Return the term ids of the words that the corpus' ledger knows."""
        return self._read(lambda c: asking.words(c, corpus, words))

    def frequencies(self, corpus: str, terms: Collection[int]) -> Mapping[int, int]:
        """Return how many records hold each of some terms, by id."""
        return self._read(lambda c: asking.frequencies(c, corpus, terms))

    def words_like(self, corpus: str, initials: Collection[str], lengths: range) -> Collection[str]:
        """Return the words of a corpus that begin with one of the letters, of a length."""
        return self._read(lambda c: asking.words_like(c, corpus, initials, lengths))

    def rank(self, corpus: str, wanted: Wanted, leg: str, score: float) -> int:
        """Count the records that a leg (dense or lexical) scores above `score`, without filters."""
        return self._read(lambda c: asking.rank(c, corpus, wanted, leg, score))

    def stored(self, corpus: str, artifact_ids: Collection[str]) -> Mapping[str, StoredText]:
        """Return the texts of artifacts as they were stored, by id."""
        return self._read(lambda c: asking.stored(c, corpus, artifact_ids))

    def wait(self, corpus: str, generation: int, timeout_s: float) -> int:
        """Wait until a corpus can be searched at a generation; return the one there is then."""
        until, pause_s = time.monotonic() + timeout_s, _POLLED_S[0]
        while True:
            present = self._read(lambda c: asking.generation(c, corpus))
            left = until - time.monotonic()
            if present >= generation or left <= 0:
                return present
            time.sleep(min(pause_s, left))
            pause_s = min(2 * pause_s, _POLLED_S[1])

    def newest(self, corpus: str) -> int:
        """Return the generation that the primary has."""
        return self._write(lambda c: asking.generation(c, corpus))

    # -- writing -------------------------------------------------------------------------------

    def lease(self, corpus: str, holder: str) -> int:
        """Take or renew the lease to write a corpus; return its fence. Raises LeaseLost."""
        known = self._fences.get(corpus)
        fence = self._write(lambda c: take_lease(c, corpus, holder, known))
        self._fences[corpus] = fence
        return fence

    def release(self, corpus: str, holder: str) -> None:
        """Give up the lease of a corpus."""
        fence = self._fences.pop(corpus, None)
        if fence is not None:
            held = fence
            self._write(lambda c: release_lease(c, corpus, holder, held))

    def apply(self, delta: IndexDelta) -> int:
        """Apply a delta in one transaction; return the corpus' generation afterwards."""
        if self._write(lambda c: apply_delta(c, delta, self._hnsw_above)):
            self._write(lambda c: tidy(c, self._hnsw_above))
        return delta.totals.generation

    def drop(self, corpus: str, fence: int) -> None:
        """Remove a corpus. Raises LeaseLost."""
        self._write(lambda c: drop_corpus(c, corpus, fence))
        self._write(lambda c: tidy(c, self._hnsw_above))

    def numbers(self, corpus: str) -> Iterable[int]:
        """Yield the row numbers of the artifacts there are, ascending."""
        return self._write(lambda c: asking.numbers(c, corpus))

    def without_vector(self, corpus: str) -> Iterable[bytes]:
        """Yield the digests of the records that have no vector."""
        return self._write(lambda c: asking.without_vector(c, corpus))

    def close(self) -> None:
        """Close the connections."""
        self._reading.close()
        self._writing.close()

    def _read(self, work: Callable[[Connection], Result]) -> Result:
        return self._reading.run(work, _READ_S)

    def _write(self, work: Callable[[Connection], Result]) -> Result:
        return self._writing.run(work)
