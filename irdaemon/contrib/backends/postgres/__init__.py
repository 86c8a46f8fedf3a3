"""The index in PostgreSQL with pgvector, for any number of processes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar

from irdaemon.contrib.backends.postgres.admin import PostgresAdmin
from irdaemon.contrib.backends.postgres.connections import Connection, Connections, Server
from irdaemon.contrib.backends.postgres.packing import (
    SURFACE_BITS,
    decode_text,
    encode_text,
    hash_id,
)
from irdaemon.contrib.backends.postgres.searching import count_above, find_records
from irdaemon.contrib.backends.postgres.view import (
    OF_CORPUS,
    KeptValues,
    SpaceGone,
    read_state,
    select_rows,
)
from irdaemon.contrib.backends.postgres.writing import (
    apply_delta,
    drop_corpus,
    release_lease,
    take_lease,
    tidy,
)
from irdaemon.contrib.backends.state import (
    BackendAdmin,
    load_totals,
    make_stored_record,
    make_stored_text,
    unpack_bytes,
)
from irdaemon.index.backend import Found, IndexBackend, IndexDelta, StoredText, Totals, Wanted

Result = TypeVar("Result")

# From this number of vectors on they are searched through a graph, where there is no filter.
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
        """Return what is known of every corpus in the request's scope, in the order they came."""
        statement = "SELECT corpus, totals FROM irdaemon.corpora ORDER BY place"

        def select(connection: Connection) -> list[Any]:
            with read_state(connection):
                return connection.execute(statement, binary=True).fetchall()

        rows = self._read(select)
        return {corpus: load_totals(unpack_bytes(data)) for corpus, data in rows}

    def found(self, corpus: str, wanted: Wanted) -> Found:
        """Return the records of a corpus that a query needs."""

        def find(connection: Connection) -> Found:
            return find_records(connection, corpus, wanted, self._values, self._hnsw_above)

        for _ in range(_TRIES - 1):
            with contextlib.suppress(SpaceGone):
                return self._read(find)
        return self._read(find)

    def words(self, corpus: str, words: Collection[str]) -> Mapping[str, int]:
        """Return the term ids of the words that the corpus' ledger knows."""
        rows = self._select(
            corpus,
            "SELECT word, term FROM irdaemon.words WHERE word = ANY (%(words)s::bytea[])"
            f" AND ledger = {OF_CORPUS.format('ledger')}",
            {"words": [encode_text(word) for word in words]},
        )
        return {decode_text(word): term for word, term in rows}

    def frequencies(self, corpus: str, terms: Collection[int]) -> Mapping[int, int]:
        """Return how many records hold each of some terms, by id."""
        rows = self._select(
            corpus,
            f"SELECT term, df FROM irdaemon.frequencies WHERE space = {OF_CORPUS.format('space')}"
            " AND term = ANY (%(terms)s::int[])",
            {"terms": list(terms)},
        )
        return dict(rows)

    def words_like(self, corpus: str, initials: Collection[str], lengths: range) -> Collection[str]:
        """Return the words that records of a corpus hold, by their first letter and length."""
        rows = self._select(
            corpus,
            "SELECT w.word FROM irdaemon.words AS w JOIN irdaemon.frequencies AS f"
            f" ON f.space = {OF_CORPUS.format('space')} AND f.term = w.term"
            f" WHERE w.ledger = {OF_CORPUS.format('ledger')}"
            " AND w.initial = ANY (%(initials)s::int[])"
            " AND w.length BETWEEN %(shortest)s AND %(longest)s",
            {
                "initials": [ord(letter) for letter in initials],
                "shortest": lengths.start,
                "longest": lengths.stop - 1,
            },
        )
        return [decode_text(word) for (word,) in rows]

    def rank(self, corpus: str, wanted: Wanted, leg: str, score: float) -> int:
        """Count the records that a leg (dense or lexical) scores above `score`, without filters."""
        return self._read(lambda c: count_above(c, corpus, wanted, leg, score))

    def stored(self, corpus: str, artifact_ids: Collection[str]) -> Mapping[str, StoredText]:
        """Return the texts of artifacts as they were stored, by id."""
        rows = self._select(
            corpus,
            "SELECT artifact, row, stored FROM irdaemon.artifacts"
            f" WHERE space = {OF_CORPUS.format('space')} AND id_key = ANY (%(keys)s::bigint[])",
            {"keys": [hash_id(artifact_id) for artifact_id in set(artifact_ids)]},
        )
        found = [((number, *unpack_bytes(row)), unpack_bytes(text)) for number, row, text in rows]
        found = [each for each in found if each[0][1] in artifact_ids]
        records: dict[int, list[dict[str, Any]]] = {row[0]: [] for row, _ in found}
        rows = self._select(
            corpus,
            "SELECT r.record, r.row, r.stored FROM unnest(%(numbers)s::bigint[]) AS n (number)"
            f" JOIN irdaemon.records AS r ON r.space = {OF_CORPUS.format('space')}"
            " AND r.record BETWEEN n.number * %(bits)s AND (n.number + 1) * %(bits)s - 1"
            " ORDER BY r.record",
            {"numbers": list(records), "bits": 1 << SURFACE_BITS},
        )
        for number, data, stored in rows:
            row = (number >> SURFACE_BITS, *unpack_bytes(data))
            *label, rest, begins = unpack_bytes(stored)
            text = row[3] + rest if begins else rest
            records[row[0]].append(make_stored_record(row, label, text))
        return {row[1]: make_stored_text(row, text, records[row[0]]) for row, text in found}

    def wait(self, corpus: str, generation: int, timeout_s: float) -> int:
        """Wait until a corpus can be searched at a generation; return the one there is then."""
        until, pause_s = time.monotonic() + timeout_s, _POLLED_S[0]
        while True:
            present = self._read(partial(_read_generation, corpus=corpus))
            left = until - time.monotonic()
            if present >= generation or left <= 0:
                return present
            time.sleep(min(pause_s, left))
            pause_s = min(2 * pause_s, _POLLED_S[1])

    def newest(self, corpus: str) -> int:
        """Return the generation that the primary has."""
        return self._write(partial(_read_generation, corpus=corpus))

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
            self._write(partial(release_lease, corpus=corpus, holder=holder, fence=fence))

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
        """Return the row numbers of the artifacts at the primary, ascending."""
        which = f"WHERE space = {OF_CORPUS.format('space')} ORDER BY artifact"
        statement = f"SELECT artifact FROM irdaemon.artifacts {which}"
        rows = self._write(lambda c: select_rows(c, corpus, statement))
        return [number for (number,) in rows]

    def without_vector(self, corpus: str) -> Iterable[bytes]:
        """Return the digests of the records at the primary that have no vector."""
        which = f"WHERE space = {OF_CORPUS.format('space')}"
        statement = f"SELECT DISTINCT digest FROM irdaemon.waiting {which}"
        rows = self._write(lambda c: select_rows(c, corpus, statement))
        return [bytes(digest) for (digest,) in rows]

    def close(self) -> None:
        """Close the connections."""
        self._reading.close()
        self._writing.close()

    def _select(self, corpus: str, statement: str, values: Mapping[str, Any]) -> list[Any]:
        return self._read(lambda c: select_rows(c, corpus, statement, values))

    def _read(self, work: Callable[[Connection], Result]) -> Result:
        return self._reading.run(work, _READ_S)

    def _write(self, work: Callable[[Connection], Result]) -> Result:
        return self._writing.run(work)


def _read_generation(connection: Connection, corpus: str) -> int:
    """Return the generation of a corpus; 0 for one that is not there."""
    statement = "SELECT generation FROM irdaemon.corpora WHERE corpus = %s"
    with read_state(connection):
        row = connection.execute(statement, (corpus,)).fetchone()
    return int(row[0]) if row else 0
