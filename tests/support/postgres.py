"""PostgreSQL servers of the tests' own, from the binaries of the wheel `pgserver`.

Nothing of that package is imported: only its programs are run, from a copy, as an unprivileged user
where the tests run as root.
"""

import atexit
import contextlib
import ctypes
import functools
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

import psycopg
import pytest

from irdaemon.contrib.backends.postgres import PostgresAdmin
from irdaemon.contrib.backends.postgres.connections import Server

NOBODY = 65534
PORT = 5432
_PR_SET_PDEATHSIG = 1
_TEMPLATE = "migrated"
_FAST = ("-c", "fsync=off", "-c", "full_page_writes=off", "-c", "synchronous_commit=off")


def required() -> bool:
    """Return whether a test without PostgreSQL is to fail instead of being skipped."""
    return os.environ.get("IRDAEMON_POSTGRES") == "required"


@functools.cache
def programs() -> Path:
    """Return the directory of PostgreSQL's programs; skip the test where there are none."""
    found = importlib.util.find_spec("pgserver")
    if found is None or found.origin is None:
        reason = "there is no wheel of pgserver, so no PostgreSQL, for this Python"
        pytest.fail(reason) if required() else pytest.skip(reason)
    site = Path(found.origin).parents[1]
    place = Path(tempfile.gettempdir()) / f"irdaemon-pgserver-{os.getuid()}"
    if not place.exists():
        copy = Path(tempfile.mkdtemp(dir=place.parent))
        copy.chmod(0o755)
        shutil.copytree(site / "pgserver" / "pginstall", copy / "pgserver" / "pginstall")
        if (site / "pgserver.libs").exists():
            shutil.copytree(site / "pgserver.libs", copy / "pgserver.libs")
        with contextlib.suppress(OSError):  # another was first
            copy.rename(place)
        shutil.rmtree(copy, ignore_errors=True)
    assert place.stat().st_uid == os.getuid()
    return place / "pgserver" / "pginstall" / "bin"


def run(program: str, *arguments: str, cwd: Path) -> None:
    """Run one of PostgreSQL's programs to its end."""
    done = subprocess.run(
        [programs() / program, *arguments], cwd=cwd, capture_output=True, text=True, **_as_nobody()
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _as_nobody() -> dict:
    clean = {"env": {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}}
    if os.geteuid() != 0:
        return clean
    return {**clean, "user": NOBODY, "group": NOBODY, "extra_groups": []}


def _end_with_parent() -> None:
    """Have this process end with the one that started it, however that ends. Linux only."""
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGQUIT))


class PostgresServer:
    """A server with its data in a directory of its own, reached by a socket there."""

    def __init__(
        self, *options: str, tcp: bool = False, data: bool = True, disk: Path | None = None
    ):
        """Make its data, with tables and indexes on a disk of their own if there is one."""
        made = tempfile.mkdtemp(prefix="irdaemon-pg-", dir=tempfile.gettempdir())
        self.directory = Path(made)
        self.data = (disk or self.directory) / "data"
        self.port = _free_port() if tcp else PORT
        self._listen = "127.0.0.1" if tcp else ""
        self.options = options
        self._process: subprocess.Popen | None = None
        atexit.register(self.remove)
        if os.geteuid() == 0:
            for place in (self.directory, *([disk] if disk else [])):
                os.chown(place, NOBODY, NOBODY)
        if data:
            run(
                *("initdb", "-D", str(self.data), "-X", str(self.directory / "wal")),
                *("-U", "owner", "-A", "trust", "-N"),
                *("-E", "UTF8", "--locale=C", "--no-instructions"),
                cwd=self.directory,
            )

    def start(self) -> "PostgresServer":
        """Start it, and wait until it answers."""
        log = (self.directory / "log").open("ab")
        self._process = subprocess.Popen(
            [
                *(programs() / "postgres", "-D", self.data, "-h", self._listen),
                *("-k", self.directory, "-p", str(self.port)),
                *("-c", "max_connections=60", "-c", "shared_buffers=64MB", *self.options),
            ],
            cwd=self.directory,
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=_end_with_parent,
            **_as_nobody(),
        )
        log.close()
        self._until_ready()
        return self

    def standby(self, *options: str) -> "PostgresServer":
        """Return a running standby of this server."""
        made = PostgresServer(*options, data=False)
        run(
            *("pg_basebackup", "-h", self.host, "-p", str(self.port), "-U", "owner"),
            *("-D", str(made.data), "-R", "-X", "stream", "-c", "fast"),
            cwd=made.directory,
        )
        return made.start()

    def kill(self) -> None:
        """End all of its processes at once, as when the machine loses power."""
        self.signal_all(signal.SIGKILL)
        if self._process:
            self._process.wait(30)
            self._process = None

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """Stop it: at once as after a crash, unless told otherwise."""
        if self._process:
            self._process.send_signal(how)
            self._process.wait(30)
            self._process = None

    def signal_all(self, how: signal.Signals) -> None:
        """Send a signal to all of its processes."""
        assert self._process
        mine = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(self._process.pid)], capture_output=True, text=True
        )
        for pid in [self._process.pid, *map(int, mine.stdout.split())]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, how)

    def remove(self) -> None:
        """Stop it, and remove its data."""
        with contextlib.suppress(ProcessLookupError):
            self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    @property
    def host(self) -> str:
        """Return how it is reached."""
        return self._listen or str(self.directory)

    def allow(self, rule: str) -> None:
        """Put a rule of who may connect before the others."""
        path = self.data / "pg_hba.conf"
        path.write_text(f"{rule}\n{path.read_text()}")
        self.run("SELECT pg_reload_conf()")

    def url(self, database: str = "postgres", user: str = "owner", **more: str) -> str:
        """Return the URL of a database of it."""
        rest = "".join(f"&{name}={value}" for name, value in more.items())
        return f"postgresql://{user}@/{database}?host={self.host}&port={self.port}{rest}"

    def run(self, statement: str, database: str = "postgres") -> list[tuple]:
        """Run a statement as the owner."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            done = connection.execute(statement)
            return done.fetchall() if done.description else []

    def new_database(self) -> str:
        """Return the name of a new database with the tables of a backend in it."""
        if not self.run(f"SELECT 1 FROM pg_database WHERE datname = '{_TEMPLATE}'"):
            self.run(f"CREATE DATABASE {_TEMPLATE}")
            PostgresAdmin(Server.parse_url(self.url(_TEMPLATE))).migrate()
            for name in ("reader", "writer"):
                self.run(f"CREATE ROLE {name} LOGIN IN ROLE irdaemon_{name}")
        (number,) = self.run("SELECT count(*) FROM pg_database")[0]
        self.run(f"CREATE DATABASE t{number} TEMPLATE {_TEMPLATE}")
        return f"t{number}"

    def _until_ready(self) -> None:
        for _ in range(300):
            with contextlib.suppress(psycopg.OperationalError):
                self.run("SELECT 1")
                return
            signal.sigtimedwait([], 0.02)
        raise AssertionError((self.directory / "log").read_text())


def url_of(servers: list[PostgresServer], database: str, user: str) -> str:
    """Return the URL of a database on several servers."""
    hosts, ports = [each.host for each in servers], [str(each.port) for each in servers]
    return f"postgresql://{user}@/{database}?host={','.join(hosts)}&port={','.join(ports)}"


@functools.cache
def shared_server() -> PostgresServer:
    """Return the server of this process' tests."""
    programs()
    return PostgresServer(*_FAST).start()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
