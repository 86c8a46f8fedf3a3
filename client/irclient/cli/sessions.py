"""`irc sessions`: list the sessions that touched a file."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from irclient.cli.query import take_argument
from irclient.client import Client
from irclient.terminal.exits import COMMITTED
from irclient.terminal.help import argument, command
from irclient.terminal.hits import quote
from irclient.terminal.output import print_data
from irclient.terminal.tables import format_moment
from irclient.terminal.width import Terminal, detect_terminal, fold
from irclient.verdicts import describe_verdict

_ABSTAINED = 1
_QUESTION_LINES = 2
_HASH = 10


@command(
    argument("file FILE", "its path, or the end of one: src/parser.py"),
    take_argument("sessions.limit", "-n --limit N", "at most N turns (20)"),
)
def list_sessions(client: Client, options: argparse.Namespace) -> int:
    """List the sessions that touched a file, and what was asked in them.

    List the turns of agents' sessions that read or wrote a file, newest first: when
    that was, the session, what was asked, and whether the files of that turn have
    changed since. A path that does not exist matches any file that ends in it.

    examples:
    # who touched this file, and why?
    irc sessions src/parser.py

    # what was asked the last time, as data for a program
    irc sessions src/parser.py --limit 1 --json

    # search the turns that touched it
    irc search --where file=src/parser.py "line endings"
    """
    asked = (client.sessions(path, options.limit) for path in list_paths(options.file))
    found = next(filter(None, asked), [])
    print_data(options, found, lambda rows: _format_turns(rows, options.file, detect_terminal()))
    return COMMITTED if found else _ABSTAINED


def list_paths(path: str) -> list[str]:
    """Return the paths to ask for: of an existing file the absolute and the real path.

    A session may have used either one where a link is involved.
    """
    if not os.path.lexists(path):
        return [path]
    return list(dict.fromkeys((os.path.abspath(path), os.path.realpath(path))))


def _format_turns(rows: Sequence[Mapping[str, Any]], file: str, to: Terminal) -> Iterator[str]:
    for row in rows:
        did = "wrote" if row["is_write"] else "read"
        when = format_moment(row["at"]) if row["at"] else "at an unknown time"
        yield f"{when}  {row['session']}  {did} {row['path']}"
        yield from (f"    {line}" for line in fold(row["question"], to.width - 5, _QUESTION_LINES))
        yield "    " + quote(f"{row['corpus']}/{row['artifact_id']}")
        if became := describe_verdict(row["verdict"]):
            yield f"    {became}"
        if row["commits"]:
            yield f"    made {', '.join(each[:_HASH] for each in row['commits'])}"
    if not rows:
        yield f"no session is known to have touched {file}"
