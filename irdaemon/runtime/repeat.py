"""Run a program once for each request: run by `pool` in a child process, as a file alone.

    python -P repeat.py PROGRAM MOST

A request is the length of the program's stdin (8 bytes, big-endian), followed by the stdin. A reply
is `+`, `-` (it failed) or `>` (it printed more than MOST bytes), the length of its output in the
same form, and the output. The program is a Python file that is run as `__main__` each time; its
imports stay. The process ends when its stdin does, after IDLE_S without a request, and after a
request that took much memory.
"""

from __future__ import annotations

import gc
import io
import os
import resource
import select
import sys
from types import CodeType
from typing import BinaryIO

LENGTH = 8
DONE, FAILED, TOO_MUCH = b"+", b"-", b">"
_AT_ONCE = 1 << 20
_MOST_KIB = 256 << 10
# A little later the next check of a directory is due, or none.
IDLE_S = 10.0


class _TooMuch(BaseException):
    """The program printed more than it may: nothing in it should catch this."""


class _Printed(io.BytesIO):
    """Collect a program's output, up to a limit."""

    def __init__(self, most: int):
        super().__init__()
        self._left = most

    def write(self, data: bytes) -> int:  # type: ignore[override]
        """Collect more output. Raises _TooMuch beyond the limit."""
        self._left -= len(data)
        if self._left < 0:
            raise _TooMuch
        return super().write(data)


def main(program: str, most: int) -> None:
    """Answer requests until there are no more."""
    requests, replies = take_streams()
    with open(program, "rb") as file:
        code = compile(file.read(), program, "exec")
    while (data := read_request(requests)) is not None:
        state, printed = _run(code, data, most)
        del data
        replies.write(state + len(printed).to_bytes(LENGTH, "big") + printed)
        replies.flush()
        del printed
        gc.collect()
        if _measure_peak_kib() > _MOST_KIB:
            break  # so that the next has all the memory it may use


def _measure_peak_kib() -> int:
    """Return the peak memory of this program, in KiB.

    Linux counts the parent's memory into `ru_maxrss`, so with a large parent no process would be
    reused.
    """
    try:
        with open("/proc/self/status", encoding="ascii") as file:
            line = next(line for line in file if line.startswith("VmHWM:"))
        return int(line.split()[1])
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def take_streams() -> tuple[io.RawIOBase, BinaryIO]:
    """Take stdin and stdout for requests and replies alone; programs get empty ones instead."""
    requests, replies = os.fdopen(os.dup(0), "rb", 0), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1):  # what a library prints directly is not part of a reply
        os.dup2(nothing, standard)
    return requests, replies


def read_request(requests: io.RawIOBase) -> bytes | None:
    """Return the next request; None at the end of the stream, or after IDLE_S without one."""
    ready, _, _ = select.select([requests], [], [], IDLE_S)
    head = _read_exactly(requests, LENGTH) if ready else b""
    return _read_exactly(requests, int.from_bytes(head, "big")) if len(head) == LENGTH else None


def _read_exactly(file: io.RawIOBase, size: int) -> bytes:
    """Read `size` bytes; fewer only at the end of the file."""
    data = bytearray()
    while len(data) < size and (part := file.read(min(size - len(data), _AT_ONCE))):
        data += part
    return bytes(data)


def _run(code: CodeType, data: bytes, most: int) -> tuple[bytes, bytes]:
    """Run a program on `data`; return its outcome and its output."""
    printed = _Printed(most)
    sys.stdin, sys.stdout = io.TextIOWrapper(io.BytesIO(data)), io.TextIOWrapper(printed)
    sys.argv = [code.co_filename]
    try:
        exec(code, {"__name__": "__main__", "__file__": code.co_filename})
        sys.stdout.flush()
        return DONE, printed.getvalue()
    except _TooMuch:
        return TOO_MUCH, b""
    except BaseException as error:
        succeeded = isinstance(error, SystemExit) and not error.code
        return (DONE, printed.getvalue()) if succeeded else (FAILED, b"")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
