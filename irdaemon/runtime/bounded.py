"""Become a command that has limits: run by `pool.run`, as a file alone, without the package.

    python -I -S bounded.py PARENT MEMORY COMMAND...

PARENT is the pid of the waiting process, with which the command ends (Linux); MEMORY is in bytes of
address space, 0 for no limit.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from collections.abc import Sequence

# The exit code of a shell.
NOT_FOUND = 127
# From linux/prctl.h.
_PR_SET_PDEATHSIG = 1


def main(words: Sequence[str]) -> int:
    """Set the limits and become the command; return NOT_FOUND if it cannot be started."""
    parent, memory, *command = words
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != int(parent):  # it ended before the line above
            return NOT_FOUND
    if int(memory):
        limit_memory(int(memory))
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and exec passes that on
    try:
        os.execvp(command[0], command)
    except OSError:
        return NOT_FOUND


def limit_memory(size: int) -> None:
    """Limit the address space, if the system accepts such a limit.

    macOS accepts none below the size that every process has from the start.
    """
    try:
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
    except (OSError, ValueError):
        return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
