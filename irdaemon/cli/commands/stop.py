"""`irdaemon stop`: stop the daemon."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import time

from irclient.terminal.exits import DONE, UNHEALTHY, UNREACHABLE
from irclient.terminal.output import note
from irdaemon.cli.commands import SUPERVISED
from irdaemon.config.config import state_dir
from irdaemon.daemon.lock import holder, in_use

HELP = "stop the daemon"
ABOUT = """
Stop the daemon and wait until it has ended. With --forget also delete
everything that was indexed; the next start indexes it again.
"""
EXAMPLES = """
# stop it
irdaemon stop

# and index everything again at the next start
irdaemon stop --forget
"""

_STOPPED_WITHIN_S = 10.0
_PUT_BACK_WITHIN_S = 3.0
_POLL_S = 0.05


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add whether to forget what was indexed."""
    parser.add_argument(
        "--forget",
        action="store_true",
        help="also delete the ledger and the log; the next start rebuilds them",
    )


def run(options: argparse.Namespace) -> int:
    """Stop the daemon, and forget what it holds if that was asked for."""
    code = stop_running()
    if options.forget and code != UNHEALTHY:
        shutil.rmtree(state_dir(), ignore_errors=True)
        note(f"{state_dir()} removed")
    return code


def stop_running() -> int:
    """Stop the daemon, its supervisor first, and wait until their locks are free."""
    lock, supervised = (os.path.join(state_dir(), name) for name in ("lock", SUPERVISED))
    pid, supervisor = _found(lock), holder(supervised)
    if pid is None and supervisor is None:
        note("irdaemon is not running")
        return UNREACHABLE
    # The locks are held, so these are the pids of the daemon and its supervisor, not recycled ones.
    for each in filter(None, (supervisor, pid)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(each, signal.SIGTERM)
    shown = pid or supervisor
    deadline = time.monotonic() + _STOPPED_WITHIN_S
    while time.monotonic() < deadline:
        if not _holds(supervisor, supervised) and not _holds(pid, lock):
            note(f"irdaemon stopped (pid {shown})")
            return DONE
        time.sleep(_POLL_S)
    note(f"irdaemon (pid {shown}) did not stop within {_STOPPED_WITHIN_S:g} s")
    return UNHEALTHY


def _found(lock: str) -> int | None:
    """Return the daemon's pid; if its lock file was removed, wait until it is there again."""
    deadline = time.monotonic() + _PUT_BACK_WITHIN_S
    while (pid := holder(lock)) is None and in_use(os.path.dirname(lock)):
        if time.monotonic() > deadline:
            return None
        time.sleep(_POLL_S)
    return pid


def _holds(pid: int | None, lock: str) -> bool:
    return pid is not None and holder(lock) == pid
