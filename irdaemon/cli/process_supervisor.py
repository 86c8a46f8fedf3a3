"""The supervisor of a detached daemon, which restarts the daemon when it crashes.

It restarts as systemd does with the unit (systemd/irdaemon.service). To stay small, the process
runs this file alone, without the rest of the package.

    python -I -S supervisor.py LOCK LOG COMMAND...

It holds LOCK, with its pid in it, while it runs, and writes the first child's pid to stdout. While
stdin is open, a caller waits for the first child to serve; if that child exits meanwhile, it is
not restarted, and this process exits with its code.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import time
from collections.abc import Sequence

RESTART_S = 2.0  # RestartSec; doubled with each start within the interval
BURST = 5  # StartLimitBurst
INTERVAL_S = 60.0  # StartLimitIntervalSec
# RestartPreventExitStatus: wrong usage or configuration, which a restart would not fix.
WRONG = 2
INTERNAL = 70  # `irclient.terminal.exits` has both; this file runs without the package
_CLEAN = (0, -signal.SIGTERM, -signal.SIGINT, -signal.SIGHUP)
_POLL_S = 0.1


def choose_wait(starts: Sequence[float], now: float) -> float | None:
    """Return the seconds to wait before the next start; None after too many recent starts."""
    recent = sum(now - each < INTERVAL_S for each in starts)
    return None if recent >= BURST else RESTART_S * 2 ** max(0, recent - 1)


class ProcessSupervisor:
    """Run a command, and restart it when it crashes, until stopped."""

    def __init__(self, log: str, command: list[str]):
        self._log = log
        self._command = command
        self._child = 0
        self._stopping = False

    def run(self) -> int:
        """Supervise until the last child exits; return its exit code."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._on_signal)
        starts: list[float] = []
        while True:
            starts.append(time.monotonic())
            code = self._run_once(first=len(starts) == 1)
            if self._stopping or code in (*_CLEAN, WRONG) or _is_awaited():
                return max(code, 0) or (0 if code in _CLEAN else INTERNAL)
            wait_s = choose_wait(starts, time.monotonic())
            if wait_s is None:
                return self._give_up(code)
            self._log_line(
                "WARNING",
                f"the daemon ended with {_describe_ending(code)}; started again in {wait_s:g} s",
            )
            self._wait(wait_s)
            if self._stopping:
                return 0

    def _run_once(self, first: bool) -> int:
        null = [(os.POSIX_SPAWN_OPEN, n, os.devnull, os.O_RDWR, 0) for n in (0, 1)]
        # A caller reads the output of the first child; that of later ones goes to the log.
        log = (os.POSIX_SPAWN_OPEN, 2, self._log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        actions = null if first else [*null, log]
        self._child = os.posix_spawn(
            self._command[0], self._command, os.environ, file_actions=actions
        )
        if first:
            os.write(1, f"{self._child}\n".encode())
        if self._stopping:  # the signal came before there was a child to pass it to
            os.kill(self._child, signal.SIGTERM)
        _, status = os.waitpid(self._child, 0)
        self._child = 0
        return os.waitstatus_to_exitcode(status)

    def _on_signal(self, number: int, frame: object) -> None:
        """Pass a signal on to the child; any but SIGHUP also ends this process."""
        self._stopping = self._stopping or number != signal.SIGHUP
        if self._child:
            os.kill(self._child, number)

    def _wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while not self._stopping and time.monotonic() < until:
            time.sleep(_POLL_S)

    def _give_up(self, code: int) -> int:
        self._log_line(
            "CRITICAL",
            f"the daemon ended with {_describe_ending(code)}, {BURST} times within"
            f" {INTERVAL_S:g} s; it is not started again. irdaemon start --detach does",
        )
        return code if code > 0 else INTERNAL

    def _log_line(self, level: str, text: str) -> None:
        line = f"{time.strftime('%Y-%m-%d %H:%M:%S')},000 {level} irdaemon.supervisor: {text}\n"
        try:
            log = os.open(self._log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            os.write(log, line.encode())
            os.close(log)
        except OSError:  # a full disk is no reason to leave the daemon down
            pass


def _describe_ending(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {-code} ({signal.strsignal(-code)})"


def _is_awaited() -> bool:
    """Return whether a caller still waits for the first child to serve."""
    os.set_blocking(0, False)
    try:
        return bool(os.read(0, 1))
    except BlockingIOError:
        return True


def main(words: Sequence[str]) -> int:
    """Hold the lock and supervise; return the exit code."""
    lock, log, *command = words
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.write(2, b"irdaemon: it is being started already\n")
        return WRONG
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return ProcessSupervisor(log, command).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
