"""Start child processes: the only module that does.

    run(["systemctl", "--user", "daemon-reload"], ProcessLimits(60.0))

A bounded child is started by way of `bounded.py`, which sets its limits on itself and becomes the
command: nothing of ours runs between fork and exec, so it is safe beside threads.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from irclient.errors import Unavailable
from irdaemon.runtime import bounded

Child = subprocess.Popen[bytes]


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """What a child may use: seconds until it ends, and bytes of address space (0: no limit)."""

    timeout_s: float
    memory: int = 0


@dataclass(frozen=True, slots=True)
class Finished:
    """A child that ended by itself: its exit code, and its stdout followed by its stderr."""

    code: int
    output: str


def run(command: Sequence[str], limits: ProcessLimits) -> Finished:
    """Run a command to its end, its stdin empty; on Linux it ends with the thread that waits.

    Raises Unavailable for a command that is not there, and for one that was killed: for its time,
    with every process that it started, or by a signal.
    """
    limiter = [sys.executable, "-I", "-S", bounded.__file__, str(os.getpid()), str(limits.memory)]
    child = subprocess.Popen(
        [*limiter, *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        process_group=0,
    )
    try:
        out, err = child.communicate(timeout=limits.timeout_s)
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"{command[0]} was killed after {limits.timeout_s:g} s") from error
    finally:
        _end(child)
    if child.returncode < 0:
        raise Unavailable(f"{command[0]} was killed ({signal.Signals(-child.returncode).name})")
    if child.returncode == bounded.NOT_FOUND:
        raise Unavailable(f"{command[0]} cannot be started")
    return Finished(child.returncode, (out + err).decode("utf-8", "replace"))


def run_on_terminal(command: Sequence[str]) -> int:
    """Run a command that a person types into, such as an editor; return its exit code.

    Raises Unavailable for a command that is not there.
    """
    try:
        return subprocess.call(command)
    except OSError as error:
        raise Unavailable(f"{command[0]} cannot be started: {error.strerror}") from error


def _end(child: Child) -> None:
    """Kill a child and its process group unless it has ended."""
    if child.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.communicate()


def start_detached(command: Sequence[str]) -> Child:
    """Start a command that outlives this process, in a session of its own; pipes as its streams."""
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        cwd="/",
    )
