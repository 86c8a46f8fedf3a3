"""Files of Unix sockets: remove one that no process listens at, before the next is bound."""

from __future__ import annotations

import os
import socket
import stat

from irclient.errors import IRError


class AlreadyRunning(IRError):
    """Another daemon runs here: it holds the lock, or answers at the socket."""

    code = "running"


def _remove(path: str) -> None:
    if os.path.isdir(path):
        raise AlreadyRunning(f"{path} is a directory: no socket can be made there", "remove it")
    if not stat.S_ISSOCK(os.lstat(path).st_mode):  # a person's file may lie at a mistyped path
        raise AlreadyRunning(
            f"{path} exists and is not a socket", "move it away, or choose another path"
        )
    os.unlink(path)


def clear_socket(path: str) -> None:
    """Remove a socket that no process listens at. Raises AlreadyRunning if one does."""
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
