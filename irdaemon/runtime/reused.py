"""Answers of child processes that are used again: starting one takes longer than most answers.

    answered("extract_pdf.py", data, ProcessLimits(20.0, 1024 * MB), most=40 * MB)

A child runs one program (see `repeat`), one request after the other. It is replaced after
`MOST_REQUESTS` of them or `OLDEST_S`, and after any that it did not survive, which costs that one
alone: where a child that had served others ends in the middle, the request is tried in a new one,
for what others left behind may have ended it. Left without requests it ends by itself, and so it
does with the process, on Linux with the thread, that started it.
"""

from __future__ import annotations

import atexit
import os
import selectors
import sys
import time
from dataclasses import dataclass, field

from irclient.errors import Unavailable
from irdaemon.runtime import repeat
from irdaemon.runtime.worker import Child, ProcessLimits, check_end, end, start_answering

MOST_REQUESTS = 200
OLDEST_S = 120.0
_AT_ONCE = 65_536
_HEAD = 1 + repeat.LENGTH
# How long a child whose pipes have ended may take to end itself, so that its exit code is known.
_PATIENCE_S = 1.0


class _Unanswered(Exception):
    """The program failed, or the child ended before it had answered."""


@dataclass(slots=True)
class _Repeating:
    """A child with what it has done."""

    child: Child
    program: str
    requests: int = 0
    started: float = field(default_factory=time.monotonic)

    @property
    def is_worn(self) -> bool:
        """Return whether it is to be replaced."""
        return self.requests >= MOST_REQUESTS or time.monotonic() - self.started > OLDEST_S


# By program and limits of memory and output. One is taken out while it is used, so that no two
# threads have it.
_idle: dict[tuple[str, int, int], _Repeating] = {}


def answered(program: str, data: bytes, limits: ProcessLimits, most: int) -> bytes:
    """Return what a program prints that finds `data` in its stdin.

    `program` is a file of Python. Raises Unavailable where it fails, needs longer than the limit or
    more memory, or prints more than `most` bytes.
    """
    key = (program, limits.memory, most)
    repeating = _idle.pop(key, None) or _started(program, limits, most)
    try:
        printed = _exchange(repeating, data, limits, most)
    except _Unanswered as error:
        end(repeating.child, patience_s=_PATIENCE_S)
        if not repeating.requests:
            raise _why(repeating, error) from error
    except BaseException:
        end(repeating.child)
        raise
    else:
        _keep(repeating, limits, most)
        return printed
    return answered(program, data, limits, most)


def end_all() -> None:
    """End the children that wait for a request."""
    while _idle:
        _, repeating = _idle.popitem()
        end(repeating.child)


atexit.register(end_all)


def _why(repeating: _Repeating, error: _Unanswered) -> Unavailable:
    """Return what became of a child that gave no answer, once it has ended."""
    name, code = os.path.basename(repeating.program), repeating.child.returncode
    if str(error):
        return Unavailable(f"{name} {error}")
    try:
        check_end(code, name)
    except Unavailable as known:
        return known
    return Unavailable(f"{name} failed with exit code {code}")


def _started(program: str, limits: ProcessLimits, most: int) -> _Repeating:
    command = [sys.executable, "-P", repeat.__file__, program, str(most)]
    return _Repeating(start_answering(command, limits), program)


def _keep(repeating: _Repeating, limits: ProcessLimits, most: int) -> None:
    """Keep a child for the next request, one for each program."""
    repeating.requests += 1
    key = (repeating.program, limits.memory, most)
    if repeating.is_worn or key in _idle:
        end(repeating.child)
    else:
        _idle[key] = repeating


def _exchange(repeating: _Repeating, data: bytes, limits: ProcessLimits, most: int) -> bytes:
    """Send a request and return what the program printed."""
    child, name = repeating.child, os.path.basename(repeating.program)
    assert child.stdin is not None  # both are pipes
    assert child.stdout is not None
    until = time.monotonic() + limits.timeout_s
    asked = memoryview(len(data).to_bytes(repeat.LENGTH, "big") + data)
    reply = bytearray()
    with selectors.DefaultSelector() as ready:
        ready.register(child.stdin, selectors.EVENT_WRITE)
        ready.register(child.stdout, selectors.EVENT_READ)
        while len(reply) < _HEAD or len(reply) < _HEAD + _length(reply):
            left = until - time.monotonic()
            found = ready.select(left) if left > 0 else []
            if not found:
                raise Unavailable(f"{name} was killed after {limits.timeout_s:g} s")
            for key, _ in found:
                if key.fileobj is child.stdin:
                    asked = asked[_written(key.fd, asked) :]
                    if not asked:
                        ready.unregister(child.stdin)
                else:
                    reply += _read(key.fd)
    if reply[:1] == repeat.TOO_MUCH:
        raise Unavailable(f"{name} was killed after {most:,} bytes of output")
    if reply[:1] != repeat.DONE:
        raise _Unanswered("failed with exit code 1")
    return bytes(reply[_HEAD:])


def _length(reply: bytearray) -> int:
    return int.from_bytes(reply[1:_HEAD], "big")


def _written(descriptor: int, data: memoryview) -> int:
    try:
        return os.write(descriptor, data[:_AT_ONCE])
    except BlockingIOError:
        return 0
    except BrokenPipeError as error:
        raise _Unanswered from error


def _read(descriptor: int) -> bytes:
    part = os.read(descriptor, _AT_ONCE)
    if not part:
        raise _Unanswered
    return part
