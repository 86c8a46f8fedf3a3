"""Connections to one PostgreSQL, for any thread, with timeouts and errors that say what to do."""

from __future__ import annotations

import contextlib
import math
import random
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import psycopg
from psycopg.conninfo import conninfo_to_dict

from irclient.errors import IRError, Unavailable
from irdaemon.config.checking import ConfigError
from irdaemon.contrib.backends.postgres.schema import FORMAT, MIGRATIONS
from irdaemon.runtime.deadline import make_too_late, time_left

Connection = psycopg.Connection[tuple[Any, ...]]
Result = TypeVar("Result")

# A reachable server accepts a connection within this time.
_CONNECT_S = 3
# For this long after a failure other requests get the same error at once.
_FAILED_FOR_S = 1.0
# A host that failed is tried last for this long.
_DOWN_FOR_S = 5.0
# The number of idle connections to keep, and their maximum age, so that load spreads over servers.
_KEPT_IDLE = 16
_KEPT_FOR_S = 300.0
_TRIES = 3
# A server that runs a long statement must acknowledge by TCP within this time.
_TCP = {
    "keepalives_idle": "10",
    "keepalives_interval": "3",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",
}


class Silent(psycopg.OperationalError):
    """The server did not answer a statement in time."""


class BoundedConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection whose every wait for the server ends at `until`, of time.monotonic.

    No wait takes longer than `patience_s`.
    """

    until = float("inf")
    patience_s = 120.0
    made = 0.0

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """Wait for the server. Raises Silent if it takes too long."""
        end = min(self.until, time.monotonic() + self.patience_s)
        left = max(0.0, end - time.monotonic())
        try:
            return super().wait(gen, interval, left if timeout is None else min(left, timeout))
        except psycopg.OperationalError as error:
            if time.monotonic() >= end:
                raise Silent("no answer in time") from error
            raise


@contextlib.contextmanager
def wait_longer(connection: Connection, patience_s: float) -> Iterator[None]:
    """Let each statement in the block take this long."""
    bounded = cast(BoundedConnection, connection)
    before, bounded.patience_s = bounded.patience_s, patience_s
    try:
        yield
    finally:
        bounded.patience_s = before


@dataclass(frozen=True, slots=True)
class Server:
    """A database by its connection parameters, and its name for display, without a password."""

    parameters: Mapping[str, Any]

    @classmethod
    def parse_url(cls, url: str, password: str | None = None) -> Server:
        """Parse a URL. Raises ConfigError, which shows nothing of it."""
        try:
            parameters = conninfo_to_dict(url)
        except psycopg.ProgrammingError:
            parameters = {"port": "none"}
        ports = str(parameters.get("port") or "").split(",")
        # Delimiters in a password end it early, and its rest is parsed as another part.
        odd = any(port and not port.isdigit() for port in ports)
        if odd or set("@/") & set(str(parameters.get("dbname") or "")):
            raise ConfigError(
                "the URL of the backend is not a valid PostgreSQL URL",
                "postgresql://user@host:5432/database; in names and passwords write @ as %40,"
                " / as %2F, : as %3A",
            )
        return cls({**parameters, "password": password} if password is not None else parameters)

    def list_hosts(self) -> list[Server]:
        """Return a server for each host."""
        plain = {k: v for k, v in self.parameters.items() if k not in ("host", "port")}
        each = ({"host": host, "port": port} for host, port in self._list_places())
        return [Server({**plain, **{k: v for k, v in own.items() if v}}) for own in each]

    def _list_places(self) -> list[tuple[str, str]]:
        """Return host and port of each host, "" for those not given."""
        hosts, ports = (str(self.parameters.get(k) or "").split(",") for k in ("host", "port"))
        return list(zip(hosts, ports * len(hosts) if len(ports) == 1 else ports, strict=False))

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        get = self.parameters.get
        places = ",".join(f"{host}:{port}" if port else host for host, port in self._list_places())
        user = f"{get('user')}@" if get("user") else ""
        return f"postgresql://{user}{places}/{get('dbname') or ''}"


class Connections:
    """Connections to a server of one or several hosts.

    `kinds` are the kinds of session to look for, the best first, named as by libpq
    (`target_session_attrs`). Any of several hosts will do, except one known to be down.
    """

    def __init__(self, server: Server, kinds: Sequence[str]):
        self.server = server
        self._hosts, self._kinds = server.list_hosts(), kinds
        self._down: dict[str, float] = {}
        self._idle: deque[BoundedConnection] = deque()
        self._failed: tuple[float, IRError] | None = None

    def run(self, work: Callable[[Connection], Result], limit_s: float = float("inf")) -> Result:
        """Return the result of `work` on a connection, within `limit_s` and the request's time.

        `work` is repeated from the beginning if the connection turns out to be dead or the server
        asks for a retry, so it must be safe to repeat. Raises Unavailable.
        """
        until = time.monotonic() + min(limit_s, time_left())
        tries = 0
        while True:
            connection, fresh = self._take(until)
            try:
                result = work(connection)
            except psycopg.Error as error:
                broken = connection.broken or connection.closed
                connection.close()
                tries += not broken
                passing = isinstance(error, _PASSING) and tries < _TRIES
                again = not fresh if broken else passing
                if not again or isinstance(error, Silent) or time.monotonic() >= until:
                    raise self.explain(error) from error
            except BaseException:
                connection.close()
                raise
            else:
                self._put_back(connection)
                return result

    def open(self, until: float) -> BoundedConnection:
        """Return a new connection, before any check of its schema."""
        errors: dict[str, psycopg.Error] = {}
        for host, kind in self._list_attempts():
            if errors and time.monotonic() >= until:
                break
            try:
                return _connect(host, kind, until)
            except psycopg.Error as error:
                self._down[str(host)] = time.monotonic() + _DOWN_FOR_S
                errors[str(host)] = error
        if len(errors) > 1:
            raise psycopg.OperationalError("; ".join(f"{h}: {e}" for h, e in errors.items()))
        raise next(iter(errors.values()))

    def close(self) -> None:
        """Close the idle connections."""
        while self._idle:
            self._idle.pop().close()

    def explain(self, error: psycopg.Error) -> IRError:
        """Return our error for one of psycopg, with what to do next."""
        if isinstance(error, (Silent, psycopg.errors.QueryCanceled)) and time_left() <= 0:
            return make_too_late()
        said = " ".join(str(error).split()) or type(error).__name__
        for kinds, message, hint in _ADVICE:
            if isinstance(error, kinds):
                return Unavailable(f"{self.server}: {message}: {said}", hint)
        return Unavailable(f"{self.server}: {said}", "")

    def explain_connecting(self, error: psycopg.Error) -> IRError:
        """Return the error for a failed connection attempt."""
        if time_left() <= 0:
            return make_too_late()
        if error.sqlstate:
            return self.explain(error)
        return Unavailable(
            f"no connection to {self.server}: {' '.join(str(error).split())}",
            "check host, port, database, user and password ([index] backend), and that the server"
            " runs; `irdaemon backend check` tries again",
        )

    def _list_attempts(self) -> list[tuple[Server, str]]:
        now = time.monotonic()
        hosts = random.sample(self._hosts, len(self._hosts))
        hosts.sort(key=lambda host: self._down.get(str(host), now) > now)
        return [(host, kind) for kind in self._kinds for host in hosts]

    def _take(self, until: float) -> tuple[BoundedConnection, bool]:
        while self._idle:
            connection = self._idle.pop()
            if not connection.closed and time.monotonic() - connection.made < _KEPT_FOR_S:
                connection.until = until
                return connection, False
            connection.close()
        if self._failed and time.monotonic() < self._failed[0]:
            failed = self._failed[1]
            raise type(failed)(failed.message, failed.hint)
        try:
            connection = self.open(until)
            try:
                check_format(connection, self.server)
            except BaseException:
                connection.close()
                raise
        except psycopg.Error as error:
            raise self._remember(self.explain_connecting(error)) from error
        except IRError as error:
            raise self._remember(error) from error
        return connection, True

    def _remember(self, error: IRError) -> IRError:
        """Remember a failure, which other requests get for a while; return it."""
        self._failed = (time.monotonic() + _FAILED_FOR_S, error)
        return error

    def _put_back(self, connection: BoundedConnection) -> None:
        idle = connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        if idle and len(self._idle) < _KEPT_IDLE:
            self._idle.append(connection)
        else:
            connection.close()


def _connect(host: Server, kind: str, until: float) -> BoundedConnection:
    """Connect to one host. libpq's timeouts are whole seconds, at least two."""
    left = min(until - time.monotonic(), _CONNECT_S)
    wanted = {"target_session_attrs": kind, "connect_timeout": str(max(2, math.ceil(left)))}
    connection = BoundedConnection.connect(
        autocommit=True,
        prepare_threshold=None,
        **{"application_name": "irdaemon", **_TCP, **host.parameters, **wanted},
    )
    connection.made, connection.until = time.monotonic(), until
    return connection


def fetch_value(connection: Connection, statement: str, values: Any = None) -> Any:
    """Return the first column of a statement's first row, None without rows."""
    row = connection.execute(statement.encode(), values).fetchone()
    return row[0] if row else None


def check_format(connection: Connection, server: Server) -> None:
    """Raise Unavailable if a server's tables are missing, too old or too new."""
    try:
        row = connection.execute("SELECT number, least FROM irdaemon.format").fetchone()
    except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
        row = (0, 0)
    number, least = row or (0, 0)
    if least > FORMAT:
        raise Unavailable(
            f"{server}: its tables have format {number}, this version knows formats up to {FORMAT}",
            "install the newer irdaemon here too",
        )
    if number < len(MIGRATIONS):
        raise Unavailable(
            f"{server}: its tables have format {number}, this version needs {FORMAT}"
            if number
            else f"{server}: this database has no irdaemon tables",
            "run `irdaemon backend migrate` as their owner",
        )


_E = psycopg.errors
# After these errors a transaction may succeed if repeated.
_PASSING = (_E.SerializationFailure, _E.DeadlockDetected)
_ADVICE: tuple[tuple[tuple[type[psycopg.Error], ...], str, str], ...] = (
    (
        (Silent, _E.QueryCanceled),
        "it did not answer in time",
        "see what keeps it busy (pg_stat_activity), or allow more time",
    ),
    (
        (_E.DiskFull,),
        "it has no room left on its disk",
        "free space on the server; nothing is lost, and the write will be retried",
    ),
    (
        (_E.ReadOnlySqlTransaction,),
        "it accepts no writes",
        "name the primary among its hosts; a promoted standby is found automatically",
    ),
    (
        (_E.InsufficientPrivilege,),
        "its role lacks the permission",
        "grant it irdaemon_reader, or irdaemon_writer for a writer (docs/backends.md)",
    ),
    (
        (_E.InvalidPassword, _E.InvalidAuthorizationSpecification),
        "it does not accept the credentials",
        "check user and password (PGPASSFILE, or `password_env`)",
    ),
    ((_E.InvalidCatalogName,), "the database does not exist", "create it, or correct the URL"),
    (
        (_E.TooManyConnections,),
        "it has no free connection",
        "raise max_connections, or put a pooler in front",
    ),
)
