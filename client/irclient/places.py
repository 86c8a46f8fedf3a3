"""Where the daemon's socket is: the one rule that client and daemon share.

IRDAEMON_SOCKET if set; else `irdaemon/irdaemon.sock` in XDG_RUNTIME_DIR, else in /run/user/UID,
else in a private directory under the temporary one that is named after user and home. A path too
long for a socket address falls back to the last of these. The directory's mode 0700 is what keeps
others out: ZeroMQ leaves the socket's own mode to the umask.
"""

from __future__ import annotations

import os
import stat

_LONGEST = 107 if os.uname().sysname == "Linux" else 103
# The event socket lies beside the other, under a name of the same length.
SOCKET = "irdaemon.sock"
EVENTS = "irevents.sock"


def socket_path() -> str:
    """Return the path of the daemon's request socket; nothing is created."""
    if chosen := os.environ.get("IRDAEMON_SOCKET"):
        return os.path.abspath(os.path.expanduser(chosen.removeprefix("ipc://")))
    for base in (os.environ.get("XDG_RUNTIME_DIR", ""), f"/run/user/{os.getuid()}"):
        if os.path.isabs(base) and os.path.isdir(base):
            path = os.path.join(base, "irdaemon", SOCKET)
            return path if fits(path) else _private_path(path)
    return _private_path(os.path.expanduser("~"))


def events_path(socket: str) -> str:
    """Return the path of the event socket that belongs to a request socket."""
    return os.path.join(os.path.dirname(socket), EVENTS)


def fits(path: str) -> bool:
    """Say whether a path is short enough for a socket address."""
    return len(os.fsencode(path)) <= _LONGEST


def _private_path(name: str) -> str:
    # Not hashlib and tempfile: together they take 10 ms to import, and every prompt would wait.
    temporary = os.environ.get("TMPDIR", "")
    base = temporary if os.path.isabs(temporary) and os.path.isdir(temporary) else "/tmp"
    from zlib import crc32  # where there is a runtime directory nobody needs it

    told_apart = f"{crc32(os.fsencode(name)):08x}"
    return os.path.join(base, f"irdaemon-{os.getuid()}-{told_apart}", SOCKET)


def check_private(directory: str) -> None:
    """Raise Unavailable unless a directory is ours alone: a real one, our own, mode 0700."""
    from irclient.errors import Unavailable  # only the daemon asks this

    status = os.lstat(directory)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise Unavailable(
            f"{directory} is not a directory of this user's",
            "remove it, or set IRDAEMON_SOCKET to a path in a private directory",
        )
    if status.st_mode & 0o077:
        raise Unavailable(f"{directory} is open to other users", f"chmod 700 {directory}")
