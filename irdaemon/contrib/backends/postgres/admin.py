"""What is done to a backend by hand: making its tables, looking at its state."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

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
from irdaemon.contrib.backends.postgres.schema import FORMAT, LEAST, MIGRATIONS, READ, WRITE
from irdaemon.contrib.backends.postgres.view import EVERY_CORPUS
from irdaemon.contrib.backends.state import (
    BackendState,
    CheckLine,
    CorpusSize,
    HostState,
    load_totals,
    unpack_bytes,
)

# The state of one host, and what corpora take there.

_STATE_PATIENCE_S = 10.0
# From which on a search through a graph goes on until a filter has let enough through.
_GOOD_PGVECTOR = (0, 8)
_LEAST_PGVECTOR = (0, 5)
_LEAST_SERVER = 140_000
# A standby that is further behind is worth a word.
_LAG_S = 30.0


def check_host(server: Server) -> HostState:
    """Return the state of a server of one host."""
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
            "run `irdaemon backend migrate` as a role that may make it"
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
        " the daemons alone decide what clients see",
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
    """Return the format of a server's tables; 0 where there are none."""
    if fetch_value(connection, "SELECT to_regclass('irdaemon.format')") is None:
        return 0
    return int(fetch_value(connection, "SELECT number FROM irdaemon.format"))


def measure_corpora(connection: Connection) -> tuple[CorpusSize, ...]:
    """Return what each corpus takes."""
    with connection.transaction():
        connection.execute("SELECT set_config('irdaemon.corpora', %s, true)", (EVERY_CORPUS,))
        rows = connection.execute(
            "SELECT c.corpus, c.generation, c.totals, extract(epoch FROM c.changed),"
            " greatest(p.reltuples, 0)::bigint, (SELECT sum(pg_total_relation_size("
            "   ('irdaemon.' || part || '_' || c.space)::regclass))"
            "   FROM unnest(irdaemon.partitioned()) AS part)::bigint,"
            " to_regclass('irdaemon.vectors_' || c.space || '_hnsw') IS NOT NULL"
            " FROM irdaemon.corpora AS c JOIN pg_class AS p"
            " ON p.oid = ('irdaemon.postings_' || c.space)::regclass ORDER BY c.place"
        ).fetchall()
    return tuple(_make_size(row) for row in rows)


def _make_size(row: tuple[Any, ...]) -> CorpusSize:
    corpus, generation, data, changed, postings, size, graph = row
    totals = load_totals(unpack_bytes(data))
    return CorpusSize(
        corpus=corpus,
        generation=generation,
        artifacts=totals.n_artifacts,
        records=totals.n_records,
        vectors=totals.n_embedded,
        postings=postings,
        size=size,
        graph=graph,
        changed=float(changed),
    )


READER, WRITER = "irdaemon_reader", "irdaemon_writer"

_PATIENCE_S = 600.0
# The schema that pgvector lies in.
_VECTOR_SCHEMA = (
    "SELECT n.nspname FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace"
    " WHERE extname = 'vector'"
)


class PostgresAdmin:
    """The work of an owner on the tables of a backend."""

    def __init__(self, server: Server):
        self._server = server
        self._connections = Connections(server, ("read-write",))

    def check(self) -> BackendState:
        """Look at every host of the URL: whether it answers, and can be searched and written."""
        hosts = [check_host(host) for host in self._server.hosts()]
        if len(hosts) > 1 and not any(host.writable for host in hosts):
            lines = CheckLine(False, "no host accepts writes", "promote a standby")
            hosts.append(HostState(str(self._server), (lines,)))
        return BackendState(str(self._server), tuple(hosts))

    def stats(self) -> tuple[CorpusSize, ...]:
        """Return what each corpus takes. Raises Unavailable."""
        try:
            return self._connections.run(measure_corpora, _PATIENCE_S)
        finally:
            self._connections.close()

    def migrate(self, roles: Sequence[tuple[str, bool]] = ((READER, False), (WRITER, True))) -> int:
        """Bring the tables to the present format, in one transaction; return it.

        Roles are given by name and whether they write; one that is not there is made. Raises
        Unavailable for tables of a later format, and without the right.
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
