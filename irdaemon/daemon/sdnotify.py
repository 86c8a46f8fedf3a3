"""Notify systemd, where it is there: READY, STATUS, WATCHDOG and STOPPING."""

from __future__ import annotations

import contextlib
import os
import socket


def notify(*lines: str) -> None:
    """Send lines such as "READY=1" to the service manager, if there is one."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    if address.startswith("@"):  # the abstract namespace
        address = "\0" + address[1:]
    with (
        contextlib.suppress(OSError),
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as manager,
    ):
        manager.connect(address)
        manager.sendall("\n".join(lines).encode())


def watchdog_interval() -> float | None:
    """Return how often, in seconds, the manager wants a notification; None if it wants none.

    Half of what it allows, as sd_watchdog_enabled(3) advises.
    """
    allowed = os.environ.get("WATCHDOG_USEC", "")
    meant_for = os.environ.get("WATCHDOG_PID", "")
    if not allowed.isdigit() or meant_for not in ("", str(os.getpid())):
        return None
    return int(allowed) / 2e6
