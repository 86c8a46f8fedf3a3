"""An answer on the terminal: its items, what could not be shown to be fresh, and the exit code."""

from __future__ import annotations

import argparse
import sys

from irclient.exits import exit_of
from irclient.hidden import safe
from irclient.output import printed
from irclient.show_answer import answer_lines, footer
from irclient.terminal import terminal
from irclient.types import Selection


def print_answer(options: argparse.Namespace, answer: Selection) -> int:
    """Print an answer and return the exit code it stands for."""
    told, to = answer.to_dict(), terminal()
    printed(options, told, lambda: "\n".join(answer_lines(told, to)))
    for path in told["freshness"].get("unproved", ()):
        print(f"irc: it could not be shown that {safe(path)} is up to date", file=sys.stderr)
    if sys.stderr.isatty() and not options.json:
        print(footer(told, to), file=sys.stderr)
    return exit_of(told)
