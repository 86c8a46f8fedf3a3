"""`irdaemon stop`: stop the daemon."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import time
from collections.abc import Sequence

from irclient.terminal.exits import DONE, UNHEALTHY, UNREACHABLE
from irclient.terminal.output import note
from irdaemon.cli.commands import SUPERVISED
from irdaemon.config.config import state_dir
from irdaemon.daemon.lock import holder, in_use

HELP = "stop the daemon"
ABOUT = """
Stop the daemon and wait, 10 s at most, until it has ended; one that is frozen
is woken for it. One that does not end by then is ended with --kill, at once and
without loss: what was written is whole. With --forget also delete everything
that was indexed; the next start indexes it again.
"""
EXAMPLES = """
# stop it
irdaemon stop

# and index everything again at the next start
irdaemon stop --forget

# one that does not stop
irdaemon stop --kill
"""

# Who holds which lock.
Locks = Sequence[tuple[int | None, str]]

_STOPPED_WITHIN_S = 10.0
_PUT_BACK_WITHIN_S = 3.0
_POLL_S = 0.05


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add whether to end it by force, and to forget what was indexed."""
    parser.add_argument(
        "--kill",
        action="store_true",
        help=f"end it by force where it did not stop within {_STOPPED_WITHIN_S:g} s",
    )
    parser.add_argument(
        "--forget",
        action="store_true",
        help="also delete the ledger and the log; the next start rebuilds them",
    )


def run(options: argparse.Namespace) -> int:
    """Stop the daemon, and forget what it holds if that was asked for."""
    code = stop_running(kill=options.kill)
    if options.forget and code != UNHEALTHY:
        shutil.rmtree(state_dir(), ignore_errors=True)
        note(f"{state_dir()} removed")
    return code


def stop_running(*, kill: bool = False) -> int:
    """Stop the daemon, its supervisor first, and wait until their locks are free.

    One that is frozen is woken, so that it can stop; with `kill` what does not stop is ended.
    """
    lock, supervised = (os.path.join(state_dir(), name) for name in ("lock", SUPERVISED))
    pid, supervisor = _found(lock), holder(supervised)
    if pid is None and supervisor is None:
        note("irdaemon is not running")
        return UNREACHABLE
    held, shown = ((supervisor, supervised), (pid, lock)), pid or supervisor
    _signal(held, signal.SIGTERM, signal.SIGCONT)
    if _are_free(held):
        note(f"irdaemon stopped (pid {shown})")
        return DONE
    late = f"irdaemon (pid {shown}) did not stop within {_STOPPED_WITHIN_S:g} s"
    if kill:
        _signal(held, signal.SIGKILL)
        if _are_free(held):
            note(f"{late}, and was killed")
            return DONE
    note(f"{late} and holds its lock: irdaemon stop --kill ends it, and costs nothing")
    return UNHEALTHY


def _signal(held: Locks, *signals: signal.Signals) -> None:
    # The locks are held, so these are the pids of the daemon and its supervisor, not recycled ones.
    for pid, lock in held:
        if pid is not None and _holds(pid, lock):
            with contextlib.suppress(ProcessLookupError):
                for each in signals:
                    os.kill(pid, each)


def _are_free(held: Locks) -> bool:
    """Wait until the locks are free; return whether they are."""
    deadline = time.monotonic() + _STOPPED_WITHIN_S
    while any(_holds(*each) for each in held):
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    return True


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
