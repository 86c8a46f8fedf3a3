"""The index in PostgreSQL with pgvector, shared by any number of processes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import psycopg
from psycopg import sql

from irclient.errors import IRError, Unavailable
from irdaemon.contrib.backends.postgres.connections import (
    Connection,
    Connections,
    Server,
    check_format,
    fetch_value,
)
from irdaemon.contrib.backends.postgres.packing import (
    SURFACE_BITS,
    decode_text,
    encode_text,
    hash_id,
)
from irdaemon.contrib.backends.postgres.schema import FORMAT, LEAST, MIGRATIONS, READ, WRITE
from irdaemon.contrib.backends.postgres.searching import (
    EVERY_CORPUS,
    OF_CORPUS,
    KeptValues,
    SpaceGone,
    count_above,
    find_records,
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
    BackendState,
    CheckLine,
    CorpusSize,
    HostState,
    load_totals,
    make_stored_record,
    make_stored_text,
    unpack_bytes,
)
from irdaemon.index.backend import Found, IndexBackend, IndexDelta, StoredText, Totals, Wanted

Result = TypeVar("Result")

# With this many vectors and more, unfiltered queries search through a graph.
HNSW_ABOVE = 50_000
# The longest time that a request waits for the server.
_READ_S = 30.0
_POLLED_S = (0.005, 0.1)
_TRIES = 3


def make(url: str, password: str | None) -> IndexBackend:
    """Return the backend of a URL; `password` replaces the URL's own."""
    return PostgresBackend(Server.parse_url(url, password))


def make_admin(url: str, password: str | None) -> BackendAdmin:
    """Return the admin of a backend."""
    return PostgresAdmin(Server.parse_url(url, password))


class PostgresBackend:
    """Store corpora in PostgreSQL, written through its primary and read from any standby."""

    def __init__(self, server: Server, hnsw_above: int = HNSW_ABOVE):
        self.server = server
        self._hnsw_above = hnsw_above or 1 << 62
        several = len(server.list_hosts()) > 1
        self._reading = Connections(server, ("standby", "any") if several else ("any",))
        self._writing = Connections(server, ("read-write",))
        self._values: KeptValues = {}
        self._fences: dict[str, int] = {}

    def __repr__(self) -> str:
        return f"PostgresBackend({self.server})"

    # -- searching -----------------------------------------------------------------------------

    def read_totals(self) -> Mapping[str, Totals]:
        """Return the facts about every corpus in the request's scope, oldest first."""
        statement = "SELECT corpus, totals FROM irdaemon.corpora ORDER BY place"

        def select(connection: Connection) -> list[Any]:
            with read_state(connection):
                return connection.execute(statement, binary=True).fetchall()

        rows = self._read(select)
        return {corpus: load_totals(unpack_bytes(data)) for corpus, data in rows}

    def find_candidates(self, corpus: str, wanted: Wanted) -> Found:
        """Return the records that a query needs from a corpus."""

        def find(connection: Connection) -> Found:
            return find_records(connection, corpus, wanted, self._values, self._hnsw_above)

        for _ in range(_TRIES - 1):
            with contextlib.suppress(SpaceGone):
                return self._read(find)
        return self._read(find)

    def find_term_ids(self, corpus: str, words: Collection[str]) -> Mapping[str, int]:
        """Return the term ids of the words that the corpus' ledger knows."""
        rows = self._select(
            corpus,
            "SELECT word, term FROM irdaemon.words WHERE word = ANY (%(words)s::bytea[])"
            f" AND ledger = {OF_CORPUS.format('ledger')}",
            {"words": [encode_text(word) for word in words]},
        )
        return {decode_text(word): term for word, term in rows}

    def count_frequencies(self, corpus: str, terms: Collection[int]) -> Mapping[int, int]:
        """Return how many records hold each of some terms, by id."""
        rows = self._select(
            corpus,
            f"SELECT term, df FROM irdaemon.frequencies WHERE space = {OF_CORPUS.format('space')}"
            " AND term = ANY (%(terms)s::int[])",
            {"terms": list(terms)},
        )
        return dict(rows)

    def list_words_like(
        self, corpus: str, initials: Collection[str], lengths: range
    ) -> Collection[str]:
        """Return the words in records of a corpus, by their first letter and length."""
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
        """Count the records that a leg (dense or lexical) scores above `score`, unfiltered."""
        return self._read(lambda c: count_above(c, corpus, wanted, leg, score))

    def read_texts(self, corpus: str, artifact_ids: Collection[str]) -> Mapping[str, StoredText]:
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
        """Wait until a generation of a corpus can be searched; return the one then served."""
        until, pause_s = time.monotonic() + timeout_s, _POLLED_S[0]
        while True:
            present = self._read(partial(_read_generation, corpus=corpus))
            left = until - time.monotonic()
            if present >= generation or left <= 0:
                return present
            time.sleep(min(pause_s, left))
            pause_s = min(2 * pause_s, _POLLED_S[1])

    def read_newest_generation(self, corpus: str) -> int:
        """Return the generation at the primary."""
        return self._write(partial(_read_generation, corpus=corpus))

    # -- writing -------------------------------------------------------------------------------

    def take_lease(self, corpus: str, holder: str) -> int:
        """Take or renew the lease to write a corpus; return its fence. Raises LeaseLost."""
        known = self._fences.get(corpus)
        fence = self._write(lambda c: take_lease(c, corpus, holder, known))
        self._fences[corpus] = fence
        return fence

    def release(self, corpus: str, holder: str) -> None:
        """Release the lease of a corpus."""
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

    def list_row_numbers(self, corpus: str) -> Iterable[int]:
        """Return the row numbers of the artifacts at the primary, ascending."""
        which = f"WHERE space = {OF_CORPUS.format('space')} ORDER BY artifact"
        statement = f"SELECT artifact FROM irdaemon.artifacts {which}"
        rows = self._write(lambda c: select_rows(c, corpus, statement))
        return [number for (number,) in rows]

    def list_unembedded(self, corpus: str) -> Iterable[bytes]:
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
    """Return the generation of a corpus; 0 for an unknown corpus."""
    statement = "SELECT generation FROM irdaemon.corpora WHERE corpus = %s"
    with read_state(connection):
        row = connection.execute(statement, (corpus,)).fetchone()
    return int(row[0]) if row else 0


# Administer a backend: create its tables, check its state.

# The state of one host, and the size of its corpora.

_STATE_PATIENCE_S = 10.0
# From this version on, a graph search continues until enough results pass the filter.
_GOOD_PGVECTOR = (0, 8)
_LEAST_PGVECTOR = (0, 5)
_LEAST_SERVER = 140_000
# A standby that lags further behind is reported.
_LAG_S = 30.0


def check_host(server: Server) -> HostState:
    """Return the state of a server with one host."""
    connections = Connections(server, ("any",))
    try:
        connection = connections.open(time.monotonic() + _STATE_PATIENCE_S)
    except psycopg.Error as error:
        return _make_failed(server, connections.explain_connecting(error))
    try:
        standby = fetch_value(connection, "SELECT pg_is_in_recovery()")
        lines = [_check_version(connection), _check_extension(connection)]
        lines.append(_check_tables(connection, server))
        if lines[-1].ok:
            lines += [_check_rights(connection), _check_policies(connection)]
        lines += [_check_lag(connection)] if standby else []
        return HostState(str(server), tuple(lines), not standby)
    except psycopg.Error as error:
        return _make_failed(server, connections.explain(error))
    finally:
        connection.close()


def _make_failed(server: Server, error: IRError) -> HostState:
    return HostState(str(server), (CheckLine(False, error.message, error.hint),))


def _check_version(connection: Connection) -> CheckLine:
    number = connection.info.server_version
    text = f"PostgreSQL {number // 10_000}.{number % 10_000}"
    return CheckLine(number >= _LEAST_SERVER, text, "PostgreSQL 14 or later is needed")


def _check_extension(connection: Connection) -> CheckLine:
    found = fetch_value(connection, "SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    if found is None:
        offered = "SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"
        hint = (
            "run `irdaemon backend migrate` as a role that may create it"
            if fetch_value(connection, offered)
            else "install pgvector on the server (its package is called postgresql-NN-pgvector)"
        )
        return CheckLine(False, "the extension pgvector is not in this database", hint)
    version = tuple(int(part) for part in str(found).split(".")[:2])
    ok = version >= _LEAST_PGVECTOR
    advice = "" if version >= _GOOD_PGVECTOR else "; 0.8 or later is advised"
    return CheckLine(ok, f"pgvector {found}{advice}", "pgvector 0.5 or later is needed")


def _check_tables(connection: Connection, server: Server) -> CheckLine:
    try:
        check_format(connection, server)
    except IRError as error:
        return CheckLine(False, error.message, error.hint)
    return CheckLine(True, f"tables of format {read_format(connection)}")


def _check_rights(connection: Connection) -> CheckLine:
    reads = fetch_value(connection, "SELECT has_table_privilege('irdaemon.postings', 'SELECT')")
    writes = fetch_value(connection, "SELECT has_table_privilege('irdaemon.postings', 'INSERT')")
    if not reads:
        return CheckLine(False, "this role may not read", "grant it irdaemon_reader")
    return CheckLine(True, "this role may read and write" if writes else "this role may read")


def _check_policies(connection: Connection) -> CheckLine:
    bound = fetch_value(connection, "SELECT row_security_active('irdaemon.postings')")
    if bound:
        return CheckLine(True, "row-level security applies to this role")
    return CheckLine(
        True,
        "row-level security does not apply to this role, the owner or a superuser:"
        " only the daemons decide what clients see",
    )


def _check_lag(connection: Connection) -> CheckLine:
    behind = fetch_value(
        connection,
        "SELECT CASE WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() THEN 0"
        " ELSE coalesce(extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()), 0)"
        " END::float8",
    )
    connected = fetch_value(connection, "SELECT count(*) FROM pg_stat_wal_receiver")
    if not connected:
        return CheckLine(False, "a standby that is not connected to a primary", "start the primary")
    seconds = float(behind or 0)
    return CheckLine(seconds <= _LAG_S, f"a standby, {seconds:.1f} s behind", "see its log")


def read_format(connection: Connection) -> int:
    """Return the format of a server's tables; 0 without tables."""
    if fetch_value(connection, "SELECT to_regclass('irdaemon.format')") is None:
        return 0
    return int(fetch_value(connection, "SELECT number FROM irdaemon.format"))


def measure_corpora(connection: Connection) -> tuple[CorpusSize, ...]:
    """Return the size of each corpus."""
    with connection.transaction():
        connection.execute("SELECT set_config('irdaemon.corpora', %s, true)", (EVERY_CORPUS,))
        rows = connection.execute(
            "SELECT c.totals, extract(epoch FROM c.changed),"
            " greatest(p.reltuples, 0)::bigint, (SELECT sum(pg_total_relation_size("
            "   ('irdaemon.' || part || '_' || c.space)::regclass))"
            "   FROM unnest(irdaemon.partitioned()) AS part)::bigint,"
            " to_regclass('irdaemon.vectors_' || c.space || '_hnsw') IS NOT NULL"
            " FROM irdaemon.corpora AS c JOIN pg_class AS p"
            " ON p.oid = ('irdaemon.postings_' || c.space)::regclass ORDER BY c.place"
        ).fetchall()
    return tuple(
        CorpusSize.from_totals(load_totals(unpack_bytes(data)), float(at), graph, postings, size)
        for data, at, postings, size, graph in rows
    )


READER, WRITER = "irdaemon_reader", "irdaemon_writer"

_PATIENCE_S = 600.0
# The schema of pgvector.
_VECTOR_SCHEMA = (
    "SELECT n.nspname FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace"
    " WHERE extname = 'vector'"
)


class PostgresAdmin:
    """The owner's work on the tables of a backend."""

    def __init__(self, server: Server):
        self._server = server
        self._connections = Connections(server, ("read-write",))

    def check(self) -> BackendState:
        """Check every host of the URL: whether it answers, and can be searched and written."""
        hosts = [check_host(host) for host in self._server.list_hosts()]
        if len(hosts) > 1 and not any(host.writable for host in hosts):
            lines = CheckLine(False, "no host accepts writes", "promote a standby")
            hosts.append(HostState(str(self._server), (lines,)))
        return BackendState(str(self._server), tuple(hosts))

    def measure_corpora(self) -> tuple[CorpusSize, ...]:
        """Return the size of each corpus. Raises Unavailable."""
        try:
            return self._connections.run(measure_corpora, _PATIENCE_S)
        finally:
            self._connections.close()

    def migrate(self, roles: Sequence[tuple[str, bool]] = ((READER, False), (WRITER, True))) -> int:
        """Bring the tables to the present format, in one transaction; return it.

        `roles` maps names to whether they may write; missing roles are created. Raises Unavailable
        for tables of a later format, and without the privileges.
        """
        try:
            connection = self._connections.open(time.monotonic() + _PATIENCE_S)
        except psycopg.Error as error:
            raise self._connections.explain_connecting(error) from error
        try:
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(hashtext('irdaemon.migrate'))")
                self._run_migrations(connection)
                for name, writes in roles:
                    _grant(connection, name, writes)
        except psycopg.Error as error:
            raise self._connections.explain(error) from error
        finally:
            connection.close()
        return FORMAT

    def _run_migrations(self, connection: Connection) -> None:
        schema = fetch_value(connection, _VECTOR_SCHEMA)
        if schema is None:
            connection.execute("CREATE EXTENSION vector")
            schema = fetch_value(connection, _VECTOR_SCHEMA)
        number = read_format(connection)
        if number > FORMAT:
            raise Unavailable(
                f"{self._server}: its tables have format {number}, this version knows formats up"
                f" to {FORMAT}",
                "run the newer irdaemon's migrate",
            )
        for step in MIGRATIONS[number:]:
            connection.execute(step.replace("@SCHEMA@", schema).encode())
        connection.execute("UPDATE irdaemon.format SET number = %s, least = %s", (FORMAT, LEAST))


def _grant(connection: Connection, name: str, writes: bool) -> None:
    if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (name,)).fetchone():
        connection.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(name)))
    for text in (READ, WRITE)[: 1 + writes]:
        connection.execute(sql.SQL(text).format(role=sql.Identifier(name)))
    connection.execute(
        "INSERT INTO irdaemon.roles VALUES (%s, %s)"
        " ON CONFLICT (name) DO UPDATE SET writes = excluded.writes",
        (name, writes),
    )
