"""Commands for a running daemon: stop, reload, status, logs."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import TextIO

from irclient.client import Client
from irclient.errors import NotFound
from irclient.results import JobProgress
from irclient.terminal import tables
from irclient.terminal.columns import print_report
from irclient.terminal.exits import DONE, UNHEALTHY, UNREACHABLE, choose_status_exit
from irclient.terminal.help import argument, command, flag, make_type
from irclient.terminal.output import find_lost_output, note, print_line, print_text
from irdaemon.config.config import state_dir
from irdaemon.daemon.lock import find_holder, is_in_use

# The lock of a detached daemon's supervisor, in the state directory.
SUPERVISED = "supervisor"
# Pids and the locks they should hold.
Locks = Sequence[tuple[int | None, str]]

_STOPPED_WITHIN_S = 10.0
_PUT_BACK_WITHIN_S = 3.0
_POLL_S = 0.05


@command(
    flag("--kill", f"kill it if it does not stop within {_STOPPED_WITHIN_S:g} s"),
    flag("--forget", "also delete the ledger and the log; the next start rebuilds them"),
)
def stop_daemon(options: argparse.Namespace) -> int:
    """Stop the daemon.

    Stop the daemon and wait until it has ended, 10 s at most; a frozen one is
    resumed first. With --kill, kill a daemon that has not ended by then; nothing
    that was written is lost. With --forget, also delete everything that was
    indexed; the next start indexes it again.

    examples:
    # stop it
    irdaemon stop

    # index everything again at the next start
    irdaemon stop --forget

    # a daemon that does not stop
    irdaemon stop --kill
    """
    code = stop_running(kill=options.kill)
    if options.forget and code != UNHEALTHY:
        shutil.rmtree(state_dir(), ignore_errors=True)
        note(f"{state_dir()} removed")
    return code


def stop_running(*, kill: bool = False) -> int:
    """Stop the supervisor and the daemon, and wait until their locks are free.

    A frozen process is resumed so that it can stop; with `kill`, one that does not stop is killed.
    """
    lock, supervised = (os.path.join(state_dir(), name) for name in ("lock", SUPERVISED))
    pid, supervisor = _find_daemon(lock), find_holder(supervised)
    if pid is None and supervisor is None:
        note("irdaemon is not running")
        return UNREACHABLE
    held, shown = ((supervisor, supervised), (pid, lock)), pid or supervisor
    _send_signals(held, signal.SIGTERM, signal.SIGCONT)
    if _are_free(held):
        note(f"irdaemon stopped (pid {shown})")
        return DONE
    late = f"irdaemon (pid {shown}) did not stop within {_STOPPED_WITHIN_S:g} s"
    if kill:
        _send_signals(held, signal.SIGKILL)
        if _are_free(held):
            note(f"{late}, and was killed")
            return DONE
    note(f"{late} and still holds its lock: irdaemon stop --kill ends it; nothing is lost")
    return UNHEALTHY


def _send_signals(held: Locks, *signals: signal.Signals) -> None:
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


def _find_daemon(lock: str) -> int | None:
    """Return the daemon's pid; if its lock file was removed, wait until it is there again."""
    deadline = time.monotonic() + _PUT_BACK_WITHIN_S
    while (pid := find_holder(lock)) is None and is_in_use(os.path.dirname(lock)):
        if time.monotonic() > deadline:
            return None
        time.sleep(_POLL_S)
    return pid


def _holds(pid: int | None, lock: str) -> bool:
    return pid is not None and find_holder(lock) == pid


@command()
def reload_configuration(options: argparse.Namespace) -> int:
    """Make the daemon read its configuration again.

    Make the running daemon read its configuration file again, as SIGHUP does, and
    print what was applied. A file that it could not start with is refused: the
    daemon keeps its configuration, the error names the line, and the exit code is
    2.

    examples:
    # after a change by hand
    irdaemon reload
    """
    with Client() as client:
        ended = [_wait_for_job(client, job) for job in client.reload()]
        state = client.status()
    print_text("\n".join([f"{state.config}: taken", *(each.report for each in ended)]))
    if state.next_start:
        note(f"from the next start: {', '.join(state.next_start)}; irdaemon restart")
    return UNHEALTHY if any(each.state == "failed" for each in ended) else DONE


def _wait_for_job(client: Client, job: int) -> JobProgress:
    while (progress := client.progress(job)).state in ("queued", "running"):
        time.sleep(_POLL_S)
    return progress


@command(flag("--json", "print it as JSON"))
def show_status(options: argparse.Namespace) -> int:
    """Show whether the daemon and every corpus are healthy.

    Show the state of the daemon and its corpora, as `irc status` does. Exit code 5
    if a corpus is stale (behind its files) or offline (a root is missing or cannot
    be watched).

    examples:
    # is everything up to date?
    irdaemon status

    # as data
    irdaemon status --json
    """
    with Client() as client:
        state = client.status().to_dict()
    print_report(options, state, tables.format_status)
    return choose_status_exit(state)


_FOLLOW_S = 0.2
_LINES = make_type(int, "a number of lines", lambda n: 0 <= n < 10**9)


@command(
    argument("-n N", "the last N lines (50)", type=_LINES, default=50),
    flag("-f --follow", "keep printing new lines until interrupted"),
    argument("--log FILE", "the log, if not the usual one"),
)
def print_log(options: argparse.Namespace) -> int:
    """Print the end of the daemon's log.

    Print the end of the log of a daemon that was started with --detach; with -f
    keep printing new lines until interrupted. A service logs to the journal
    instead: journalctl --user -u irdaemon.

    examples:
    # the last fifty lines
    irdaemon logs

    # the last ten, and new ones
    irdaemon logs -n 10 -f
    """
    path = options.log or os.path.join(state_dir(), "irdaemon.log")
    try:
        file = _open_log(path)
    except FileNotFoundError:
        hint = "journalctl --user -u irdaemon shows the log of a service"
        raise NotFound(f"there is no log at {path}", hint) from None
    with file:
        for line in deque(file, maxlen=options.n):
            print_line(line.rstrip("\n"))
        for line in follow(path, file) if options.follow else ():
            print_line(line)
            if find_lost_output():
                break
    return DONE


def follow(path: str, file: TextIO) -> Iterator[str]:
    """Yield the lines appended to a log, and go on in the file that replaces it."""
    begun = ""
    with contextlib.ExitStack() as opened:
        while True:
            replaced = _is_replaced(path, file)  # checked first, so that no last lines are lost
            if more := file.readline():
                begun += more
            elif replaced:
                opened.close()
                file, begun = opened.enter_context(_open_log(path)), ""
            else:
                time.sleep(_FOLLOW_S)
            if begun.endswith("\n"):
                yield begun[:-1]
                begun = ""


def _is_replaced(path: str, file: TextIO) -> bool:
    try:
        return not os.path.samestat(os.stat(path), os.fstat(file.fileno()))
    except FileNotFoundError:  # removed, and not yet created again
        return False


def _open_log(path: str) -> TextIO:
    return open(path, encoding="utf-8", errors="replace")
