"""`irdaemon logs`: print the end of the daemon's log, and what comes."""

from __future__ import annotations

import argparse
import contextlib
import os
import time
from collections import deque
from collections.abc import Iterator
from typing import TextIO

from irclient.errors import NotFound
from irclient.terminal.exits import DONE
from irclient.terminal.output import find_lost_output, print_line
from irdaemon.config.config import state_dir

HELP = "print the end of the daemon's log"
ABOUT = """
Print the end of the log of a daemon that was started with --detach; with -f go
on with what comes, until interrupted. A service logs to the journal instead:
journalctl --user -u irdaemon.
"""
EXAMPLES = """
# the last fifty lines
irdaemon logs

# the last ten, and what comes
irdaemon logs -n 10 -f
"""

_POLL_S = 0.2


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add how much, and whether to go on."""
    parser.add_argument("-n", type=_count, default=50, metavar="N", help="the last N lines (50)")
    parser.add_argument(
        "-f", "--follow", action="store_true", help="go on with what comes, until interrupted"
    )
    parser.add_argument("--log", metavar="FILE", help="the log, if it is not the usual one")


def run(options: argparse.Namespace) -> int:
    """Print the last lines, and those that come."""
    path = options.log or os.path.join(state_dir(), "irdaemon.log")
    try:
        file = _opened(path)
    except FileNotFoundError:
        hint = "journalctl --user -u irdaemon shows that of a service"
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
    """Yield the lines that come into a log, and go on in the one that takes its place."""
    begun = ""
    with contextlib.ExitStack() as opened:
        while True:
            replaced = _is_replaced(path, file)  # asked first, so that its last lines are not lost
            if more := file.readline():
                begun += more
            elif replaced:
                opened.close()
                file, begun = opened.enter_context(_opened(path)), ""
            else:
                time.sleep(_POLL_S)
            if begun.endswith("\n"):
                yield begun[:-1]
                begun = ""


def _is_replaced(path: str, file: TextIO) -> bool:
    try:
        return not os.path.samestat(os.stat(path), os.fstat(file.fileno()))
    except FileNotFoundError:  # between the one and the other
        return False


def _opened(path: str) -> TextIO:
    return open(path, encoding="utf-8", errors="replace")


def _count(text: str) -> int:
    if text.isdecimal() and len(text) < 10:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number of lines")
