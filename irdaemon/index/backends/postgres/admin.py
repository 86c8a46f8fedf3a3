"""What is done to a backend by hand: making its tables, looking at its state."""

from __future__ import annotations

import time
from collections.abc import Sequence

import psycopg
from psycopg import sql

from irclient.errors import Unavailable
from irdaemon.index.backends.postgres.connections import Connection, Connections, Server
from irdaemon.index.backends.postgres.host_state import (
    corpus_sizes,
    format_of,
    look_at_host,
)
from irdaemon.index.backends.postgres.schema import FORMAT, LEAST, MIGRATIONS, READ, WRITE
from irdaemon.index.backends.state import BackendState, CheckLine, CorpusSize, HostState

READER, WRITER = "irdaemon_reader", "irdaemon_writer"

_PATIENCE_S = 600.0


class PostgresAdmin:
    """The work of an owner on the tables of a backend."""

    def __init__(self, server: Server):
        self._server = server
        self._connections = Connections(server, ("read-write",))

    def check(self) -> BackendState:
        """Look at every host of the URL: whether it answers, and can be searched and written."""
        hosts = [look_at_host(host) for host in self._server.hosts()]
        if len(hosts) > 1 and not any(host.writable for host in hosts):
            lines = CheckLine(False, "none of the hosts takes writes", "promote a standby")
            hosts.append(HostState(str(self._server), (lines,)))
        return BackendState(str(self._server), tuple(hosts))

    def stats(self) -> tuple[CorpusSize, ...]:
        """Return what each corpus takes. Raises Unavailable."""
        try:
            return self._connections.run(corpus_sizes, _PATIENCE_S)
        finally:
            self._connections.close()

    def migrate(self, roles: Sequence[tuple[str, bool]] = ((READER, False), (WRITER, True))) -> int:
        """Bring the tables to the present format, in one transaction; return it.

        Roles are given by name and whether they write; one that is not there is made. Raises
        Unavailable for tables of a later format, and without the right.
        """
        connection = self._open()
        try:
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(hashtext('irdaemon.migrate'))")
                self._steps(connection)
                for name, writes in roles:
                    _grant(connection, name, writes)
        except psycopg.Error as error:
            raise self._connections.error_of(error) from error
        finally:
            connection.close()
        return FORMAT

    def _steps(self, connection: Connection) -> None:
        schema = _vector_schema(connection)
        number = format_of(connection)
        if number > FORMAT:
            raise Unavailable(
                f"{self._server}: its tables have format {number}, this version knows formats up"
                f" to {FORMAT}",
                "run the newer irdaemon's migrate",
            )
        for step in MIGRATIONS[number:]:
            connection.execute(step.replace("@SCHEMA@", schema).encode())
        connection.execute("UPDATE irdaemon.format SET number = %s, least = %s", (FORMAT, LEAST))

    def _open(self) -> Connection:
        try:
            return self._connections.open(time.monotonic() + _PATIENCE_S)
        except psycopg.Error as error:
            raise self._connections.connect_error(error) from error


def _vector_schema(connection: Connection) -> str:
    """Return the schema that pgvector lies in, which is made if need be."""
    asked = (
        "SELECT n.nspname FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace"
        " WHERE extname = 'vector'"
    )
    row = connection.execute(asked).fetchone()
    if row is None:
        connection.execute("CREATE EXTENSION vector")
        row = connection.execute(asked).fetchone()
    assert row is not None
    return str(row[0])


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
