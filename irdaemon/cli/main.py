"""`irdaemon`: start, stop and set up the daemon.

Exit codes: 0 done, 1 failed (`doctor`: something is wrong), 2 wrong usage or configuration, 3 not
running, 5 (`status`) stale or offline.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from irclient.errors import IRError
from irclient.terminal.help import Parser, add_command, needed, parsed, parser
from irclient.terminal.output import note
from irclient.terminal.width import spell_the_rest
from irdaemon import __version__
from irdaemon.cli.commands import COMMANDS, FAILED, NOT_RUNNING, WRONG


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    spell_the_rest()
    words = sys.argv[1:] if argv is None else argv
    options = parsed(program(words), words)
    try:
        code: int = options.run(options)
        return code
    except IRError as error:
        note(f"irdaemon: {error.message}")
        if error.hint:
            note(f"          {error.hint}")
        return {"config": WRONG, "unreachable": NOT_RUNNING}.get(error.code, FAILED)
    except KeyboardInterrupt:
        return 130


def program(words: Sequence[str] = ()) -> Parser:
    """Return the parser of all commands, or of the one that a command line begins with."""
    irdaemon = parser("irdaemon", _ABOUT, _MORE)
    irdaemon.add_argument("--version", action="version", version=f"irdaemon {__version__}")
    commands = irdaemon.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in needed(words, COMMANDS):
        add_command(commands, name, import_module(f"irdaemon.cli.commands.{name}"))
    return irdaemon


_ABOUT = """\
Run irdaemon: a daemon that keeps the skills, packages, past sessions and
documents of this machine indexed while they change, and tells coding agents
which of them apply to a task. `irc` asks it; see irc --help."""
_MORE = """\
irdaemon COMMAND --help has the options of a command, with examples.

words:
  corpus  what is indexed as one: skills, packages, a directory of notes
  root    a directory or file that a corpus indexes and watches
  ledger  the SQLite file with everything that was indexed

exit codes:
  0  done
  1  failed
  2  wrong usage or configuration
  3  not running
  5  (status) a corpus is stale (behind its files) or offline (a root is gone)

environment:
  IRDAEMON_CONFIG   the configuration file, if it is not at the default path
  IRDAEMON_SOCKET   the path of the socket to serve at

examples:
  # start in the background, and return when everything is indexed
  irdaemon start --detach --wait

  # start at every login
  irdaemon service install
"""
