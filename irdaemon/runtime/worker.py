"""Start child processes: the only module that does.

    run(["systemctl", "--user", "daemon-reload"], ProcessLimits(60.0))

A bounded child is started by way of `bounded.py`, which sets its limits on itself and becomes the
command: nothing of ours runs between fork and exec, so it is safe beside threads.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import BinaryIO

from irclient.errors import Unavailable
from irdaemon.runtime import bounded

Child = subprocess.Popen[bytes]

_READ_AT_ONCE = 65_536


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
        _end(child)
    _check_end(child.returncode, command[0])
    return Finished(child.returncode, (out + err).decode("utf-8", "replace"))


def filtered(command: Sequence[str], file: BinaryIO, limits: ProcessLimits, most: int) -> bytes:
    """Run a command whose stdin is a file to its end; return what it printed, not its stderr.

    `command` ends with the program's file, by which errors call it. Raises Unavailable as `run`
    does, and for more than `most` bytes and for another exit code than 0.
    """
    name = os.path.basename(command[-1])
    child = subprocess.Popen(
        _limited(command, limits),
        stdin=file,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        process_group=0,
    )
    assert child.stdout is not None  # it is a pipe
    try:
        with child.stdout:
            out = _printed(child, name, limits, most)
    finally:
        _end(child)
    _check_end(child.returncode, name)
    if child.returncode:
        raise Unavailable(f"{name} failed with exit code {child.returncode}")
    return out


def _printed(child: Child, name: str, limits: ProcessLimits, most: int) -> bytes:
    """Return what a child prints until it ends."""
    until = time.monotonic() + limits.timeout_s
    out = bytearray()
    assert child.stdout is not None
    with selectors.DefaultSelector() as ready:
        ready.register(child.stdout, selectors.EVENT_READ)
        while ready.select(max(0.0, until - time.monotonic())):
            part = os.read(child.stdout.fileno(), _READ_AT_ONCE)
            if not part:
                break
            out += part
            if len(out) > most:
                raise Unavailable(f"{name} was killed after {most:,} bytes of output")
    try:
        child.wait(max(0.0, until - time.monotonic()))
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"{name} was killed after {limits.timeout_s:g} s") from error
    return bytes(out)


def _limited(command: Sequence[str], limits: ProcessLimits) -> list[str]:
    limiter = [sys.executable, "-I", "-S", bounded.__file__, str(os.getpid()), str(limits.memory)]
    return [*limiter, *command]


def _check_end(code: int, name: str) -> None:
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


def _end(child: Child) -> None:
    """Kill a child and its process group unless it has ended."""
    if child.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    for pipe in (child.stdout, child.stderr):
        if pipe is not None:
            pipe.close()


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
