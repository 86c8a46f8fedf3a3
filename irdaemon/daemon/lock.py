"""One daemon per ledger and socket, proven by locks held for life.

A lock ends with its process, however that ends, so neither a stale file nor a recycled pid can keep
a daemon from starting or pass for a running one.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from dataclasses import dataclass

from irclient.errors import IRError, Unavailable
from irclient.places import check_private
from irdaemon.serve.sockets import AlreadyRunning


@dataclass(frozen=True, slots=True)
class Lock:
    """A lock file that this process holds, and its directory; both locks end with the process.

    The directory is locked too (-1: its file system has no such locks), so that removing the file
    does not admit another daemon.
    """

    path: str
    descriptor: int
    directory: int

    @classmethod
    def take(cls, path: str) -> Lock:
        """Take a lock. Raises AlreadyRunning, naming the pid that holds it."""
        make_private(os.path.dirname(path))
        directory = _lock_directory(path)
        try:
            return cls(path, _lock_file(path), directory)
        except BaseException:
            _close(directory)
            raise

    def renew(self) -> Lock:
        """Return this lock, or a new one if its file or directory was removed or replaced.

        Raises AlreadyRunning if another process now holds it.
        """
        own_directory = _leads_to(os.path.dirname(self.path), self.directory)
        if own_directory and _leads_to(self.path, self.descriptor):
            return self
        if own_directory:
            made = Lock(self.path, _lock_file(self.path), self.directory)
        else:
            made = Lock.take(self.path)
            _close(self.directory)
        os.close(self.descriptor)
        return made

    def release(self) -> None:
        """Release the lock."""
        os.close(self.descriptor)
        _close(self.directory)


def _lock_directory(path: str) -> int:
    """Lock a lock's directory; return its descriptor, -1 if the file system has no such locks."""
    try:
        descriptor = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise _make_unwritable(os.path.dirname(path), error) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise _make_already_running(path) from None
    except OSError:  # NFS locks only files open for writing
        os.close(descriptor)
        return -1
    return descriptor


def _lock_file(path: str) -> int:
    """Lock a file, creating it if needed, and write this pid into it; return its descriptor."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _make_unwritable(path, error) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise _make_already_running(path) from None
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    except OSError as error:
        os.close(descriptor)
        raise _make_unwritable(path, error) from error
    return descriptor


def _make_already_running(path: str) -> AlreadyRunning:
    return AlreadyRunning(
        f"irdaemon is already running (pid {find_holder(path) or 'unknown'})",
        "irdaemon status shows it, irdaemon restart replaces it",
    )


def _leads_to(path: str, descriptor: int) -> bool:
    """Return whether a path leads to an open file; True without a descriptor."""
    if descriptor < 0:
        return True
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except OSError:
        return False


def _close(descriptor: int) -> None:
    if descriptor >= 0:
        os.close(descriptor)


@contextlib.contextmanager
def keep_daemons_off(state_dir: str, socket: str, command: str) -> Iterator[None]:
    """Keep every daemon off a state directory and a socket during the block.

    Raises AlreadyRunning if one runs, with a hint how to run the command.
    """
    locks: list[Lock] = []
    try:
        for directory in (state_dir, os.path.dirname(socket)):
            locks.append(Lock.take(os.path.join(directory, "lock")))
        yield
    except AlreadyRunning as error:
        raise AlreadyRunning(
            error.message, f"irdaemon stop, then {command}, then irdaemon start --detach"
        ) from None
    finally:
        for lock in locks:
            lock.release()


def find_holder(path: str) -> int | None:
    """Return the pid of the process that holds a lock, or None when none does."""
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


def is_in_use(directory: str) -> bool:
    """Return whether a process locks a directory, even if its lock file was just removed."""
    try:
        descriptor = _lock_directory(os.path.join(directory, "lock"))
    except AlreadyRunning:
        return True
    except IRError:
        return False
    _close(descriptor)
    return False


def make_private(directory: str) -> None:
    """Create a directory for this user alone, or check that it is one. Raises Unavailable."""
    try:
        os.makedirs(os.path.dirname(directory), exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.mkdir(directory, 0o700)
        check_private(directory)
    except OSError as error:
        raise _make_unwritable(directory, error) from error


def _make_unwritable(path: str, error: OSError) -> Unavailable:
    return Unavailable(
        f"{path} cannot be written: {error.strerror}",
        "make room there, or set XDG_STATE_HOME (the ledger) and XDG_RUNTIME_DIR or"
        " IRDAEMON_SOCKET (the socket) to writable directories",
    )
