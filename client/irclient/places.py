"""Where the daemon's socket is: the one rule that client and daemon share.

IRDAEMON_SOCKET if set; else `irdaemon/irdaemon.sock` in XDG_RUNTIME_DIR, else in /run/user/UID,
else in a private directory under the temporary one that is named after user and home. A path too
long for a socket address, or not UTF-8, falls back to the last of these. A directory that another
user could change is refused by both sides: a client there would send its queries to that user.
"""

from __future__ import annotations

import os
import stat

_LONGEST = 107 if os.uname().sysname == "Linux" else 103
# The event socket lies beside the other, under a name of the same length.
SOCKET = "irdaemon.sock"
EVENTS = "irevents.sock"
# What to do about a daemon that listens and does not answer.
END_FROZEN = "irdaemon restart; where that does not help, irdaemon stop --kill"


# Of a path in a request, in bytes.
_LONGEST_PLACE = 4_096
# A directory that holds it, and all below, leaves no trace.
_OPTED_OUT = ".noirdaemon"
# The value 0 keeps what a program asks out of the log of use.
_NOTED = "IRDAEMON_USAGE"


def may_be_noted(directory: str = "") -> bool:
    """Return whether the daemon may note what is asked from a directory (the current one)."""
    if os.environ.get(_NOTED) == "0":
        return False
    try:
        above = os.path.abspath(directory)
    except OSError:  # the current directory is gone
        return True
    while not os.path.lexists(os.path.join(above, _OPTED_OUT)):
        below, above = above, os.path.dirname(above)
        if above == below:
            return True
    return False


def find_here() -> str:
    """Return the working directory as the place of a query.

    It is "" where that is gone or cannot be read: it was not asked for, so that is no error.
    """
    try:
        here = os.getcwd()
    except OSError:
        return ""
    return check_place(here) if os.access(here, os.R_OK | os.X_OK) else ""


def check_place(path: str) -> str:
    """Return a path where it can be the place of a query, "" where it cannot; it is not opened."""
    # Its length first: what comes from elsewhere may be of any.
    if not path.startswith("/") or len(path) > _LONGEST_PLACE or "\0" in path:
        return ""
    return path if _is_utf8(path) and len(path.encode()) <= _LONGEST_PLACE else ""


def endpoint() -> str:
    """Return where a client asks: the path of a socket, or `tcp://HOST:PORT`."""
    chosen = os.environ.get("IRDAEMON_SOCKET", "")
    return chosen if is_remote(chosen) else socket_path()


def is_remote(endpoint: str) -> bool:
    """Say whether an endpoint is reached over TCP."""
    return endpoint.startswith("tcp://")


def socket_path() -> str:
    """Return the path of the daemon's request socket; nothing is created.

    Raises Unavailable where that would lie in a directory which others may change, or is too long.
    """
    if chosen := os.environ.get("IRDAEMON_SOCKET"):
        return _choose_path(chosen)
    for base in (os.environ.get("XDG_RUNTIME_DIR", ""), f"/run/user/{os.getuid()}"):
        if os.path.isabs(base) and os.path.lexists(base):
            _check_own(base)
            path = os.path.join(base, "irdaemon", SOCKET)
            return path if fits(path) else _make_private_path(path)
    return _make_private_path(os.path.expanduser("~"))


def _choose_path(chosen: str) -> str:
    path = os.path.abspath(os.path.expanduser(chosen.removeprefix("ipc://")))
    if is_remote(chosen):
        raise _make_unavailable(
            f"IRDAEMON_SOCKET={chosen} is for clients; a daemon needs a path",
            "unset it, and set [serve] tcp in the configuration",
        )
    if not _is_utf8(path):
        raise _make_unavailable("IRDAEMON_SOCKET is not UTF-8", "choose another path")
    if not fits(path):
        raise _make_unavailable(
            f"IRDAEMON_SOCKET has {len(os.fsencode(path))} bytes, an address holds {_LONGEST}",
            "choose a shorter path",
        )
    return path


def events_path(socket: str) -> str:
    """Return the path of the event socket that belongs to a request socket."""
    return os.path.join(os.path.dirname(socket), EVENTS)


def fits(path: str) -> bool:
    """Say whether a path can be a socket's address: short enough, and UTF-8."""
    return len(os.fsencode(path)) <= _LONGEST and _is_utf8(path)


def _is_utf8(path: str) -> bool:
    # The system's functions hand on other bytes as surrogates.
    return not any("\ud800" <= char <= "\udfff" for char in path)


def _make_private_path(name: str) -> str:
    # Not hashlib and tempfile: together they take 10 ms to import, and every prompt would wait.
    temporary = os.environ.get("TMPDIR", "")
    base = temporary if os.path.isabs(temporary) and os.path.isdir(temporary) else "/tmp"
    from zlib import crc32  # not needed where there is a runtime directory

    digest = f"{crc32(os.fsencode(name)):08x}"
    directory = os.path.join(base, f"irdaemon-{os.getuid()}-{digest}")
    if os.path.lexists(directory):
        check_private(directory)
    return os.path.join(directory, SOCKET)


def _check_own(base: str) -> None:
    """Raise Unavailable for a runtime directory that is a link, not ours, or open to writers."""
    status = os.lstat(base)
    ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
    if not ours or status.st_mode & 0o022:
        raise _make_unavailable(
            f"the runtime directory {base} is not this user's alone",
            "point XDG_RUNTIME_DIR, or IRDAEMON_SOCKET, to a directory of your own, mode 0700",
        )


def _make_unavailable(message: str, hint: str) -> Exception:
    from irclient.errors import Unavailable  # every prompt comes this way, and seldom needs it

    return Unavailable(message, hint)


def check_private(directory: str) -> None:
    """Raise Unavailable unless a directory is ours alone: a real one, our own, mode 0700."""
    status = os.lstat(directory)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise _make_unavailable(
            f"{directory} is not a directory of this user's",
            "remove it, or set IRDAEMON_SOCKET to a path in a private directory",
        )
    if status.st_mode & 0o077:
        raise _make_unavailable(f"{directory} is open to other users", f"chmod 700 {directory}")


def find_listener(path: str) -> int:
    """Return the pid of the process that listens at a socket, answer or not; 0 for none.

    The kernel takes the connection, also for a process that is stopped. Linux tells whose it is.
    """
    import socket
    import struct

    with socket.socket(socket.AF_UNIX) as asking:
        try:
            asking.setblocking(False)
            asking.connect(path.removeprefix("ipc://"))
            told = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        except (OSError, AttributeError, ValueError):
            return 0
    pid: int = struct.unpack("3i", told)[0]
    return pid
