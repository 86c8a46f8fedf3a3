"""One daemon for one ledger and one socket, proven by locks held for life.

A lock ends with its process, however that ends, so neither a stale file nor a recycled pid can
keep a daemon from starting or pass for one that runs.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass

from irclient.errors import IRError, Unavailable
from irclient.places import check_private


class AlreadyRunning(IRError):
    """Another daemon holds the lock."""

    code = "running"


@dataclass(frozen=True, slots=True)
class Lock:
    """A lock file that this process holds; it ends with the process."""

    path: str
    descriptor: int

    @classmethod
    def take(cls, path: str) -> Lock:
        """Take a lock. Raises AlreadyRunning, naming the pid that holds it."""
        make_private(os.path.dirname(path))
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise _cannot_write(path, error) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise AlreadyRunning(
                f"irdaemon is already running (pid {holder(path) or 'unknown'})",
                "irdaemon status shows it, irdaemon restart replaces it",
            ) from None
        try:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        except OSError as error:
            os.close(descriptor)
            raise _cannot_write(path, error) from error
        return cls(path, descriptor)


@contextlib.contextmanager
def alone(state_dir: str, socket: str, wish: str) -> Iterator[None]:
    """Keep every daemon off a state directory and a socket for a while.

    Raises AlreadyRunning where one runs, naming what was wished for.
    """
    locks: list[Lock] = []
    try:
        for directory in (state_dir, os.path.dirname(socket)):
            locks.append(Lock.take(os.path.join(directory, "lock")))
        yield
    except AlreadyRunning as error:
        raise AlreadyRunning(
            error.message, f"irdaemon stop, then {wish}, then irdaemon start --detach"
        ) from None
    finally:
        for lock in locks:
            os.close(lock.descriptor)


def holder(path: str) -> int | None:
    """Return the pid of the process that holds a lock, or None when nobody does."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        written = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
        return int(written) if written.isdigit() else None
    finally:
        os.close(descriptor)
    return None


def make_private(directory: str) -> None:
    """Create a directory for this user alone, or check that it is one. Raises Unavailable."""
    try:
        os.makedirs(os.path.dirname(directory), exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.mkdir(directory, 0o700)
        check_private(directory)
    except OSError as error:
        raise _cannot_write(directory, error) from error


def _cannot_write(path: str, error: OSError) -> Unavailable:
    return Unavailable(
        f"{path} cannot be written: {error.strerror}",
        "make room there, or point XDG_STATE_HOME (the ledger) and XDG_RUNTIME_DIR or"
        " IRDAEMON_SOCKET (the socket) to directories that can be written",
    )


def _remove(path: str) -> None:
    if os.path.isdir(path):
        raise AlreadyRunning(f"{path} is a directory: no socket can be made there", "remove it")
    os.unlink(path)


def clear_socket(path: str) -> None:
    """Remove a socket nobody listens at. Raises AlreadyRunning where somebody does."""
    probe = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    probe.settimeout(1)
    try:
        probe.connect(path)
    except FileNotFoundError:
        return
    except ConnectionRefusedError:
        _remove(path)
    except OSError as error:
        raise AlreadyRunning(f"{path}: {error}", "remove it if no daemon runs") from error
    else:
        raise AlreadyRunning(
            f"something else answers at {path}", "stop it, or set IRDAEMON_SOCKET to another path"
        )
    finally:
        probe.close()
