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
    child = subprocess.Popen(
        _limited(command, limits),
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
        end(child)
    check_end(child.returncode, command[0])
    return Finished(child.returncode, (out + err).decode("utf-8", "replace"))


def _limited(command: Sequence[str], limits: ProcessLimits) -> list[str]:
    limiter = [sys.executable, "-I", "-S", bounded.__file__, str(os.getpid()), str(limits.memory)]
    return [*limiter, *command]


def check_end(code: int, name: str) -> None:
    """Raise Unavailable for a child that a signal ended or that was not there."""
    if code < 0:
        raise Unavailable(f"{name} was killed ({signal.Signals(-code).name})")
    if code == bounded.NOT_FOUND:
        raise Unavailable(f"{name} cannot be started")


def run_on_terminal(command: Sequence[str]) -> int:
    """Run a command that a person types into, such as an editor; return its exit code.

    Raises Unavailable for a command that is not there.
    """
    try:
        return subprocess.call(command)
    except OSError as error:
        raise Unavailable(f"{command[0]} cannot be started: {error.strerror}") from error


def end(child: Child, patience_s: float = 0.0) -> None:
    """Kill a child and its process group unless it has ended, or does so in a moment."""
    with suppress(subprocess.TimeoutExpired):
        child.wait(patience_s)
    if child.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    for pipe in (child.stdin, child.stdout, child.stderr):
        if pipe is not None:
            pipe.close()


def start_answering(command: Sequence[str], limits: ProcessLimits) -> Child:
    """Start a command that is sent requests: pipes as its stdin, which never blocks, and stdout.

    The limit of time is that of the caller; on Linux it ends with the thread that started it.
    """
    child = subprocess.Popen(
        _limited(command, limits),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        process_group=0,
    )
    assert child.stdin is not None  # it is a pipe
    os.set_blocking(child.stdin.fileno(), False)
    return child


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
