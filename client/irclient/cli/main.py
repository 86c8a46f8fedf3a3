"""`irc`: ask the daemon.

Data goes to stdout, everything else to stderr. The exit codes are in `irclient.terminal.exits`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from irclient import __version__
from irclient.cli.answer import failed
from irclient.cli.commands import COMMANDS, ELSEWHERE, HEADINGS, NO_DATA
from irclient.cli.query import with_level
from irclient.client import Client
from irclient.errors import IRError
from irclient.terminal.ending import exit_code
from irclient.terminal.help import Parser, add_command, group_commands, needed, parsed, parser
from irclient.terminal.output import add_output
from irclient.terminal.width import spell_the_rest


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = sys.argv[1:] if argv is None else argv
    return exit_code("irc", lambda: _run(words))


def _run(words: Sequence[str]) -> int:
    spell_the_rest()
    if words and words[0] == "eval":
        words = import_module("irclient.cli.commands.eval").with_action(words)
    words = with_level(words)
    options = parsed(program(words), words)
    try:
        with Client(timeout=options.timeout) as client:
            code: int = options.run(client, options)
            return code
    except IRError as error:
        return failed(error, options.json)


def program(words: Sequence[str] = ()) -> Parser:
    """Return the parser of all commands, or of the one that a command line begins with."""
    irc = parser("irc", _ABOUT, _MORE)
    irc.elsewhere = ELSEWHERE
    irc.add_argument("--version", action="version", version=f"irc {__version__}")
    commands = irc.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in needed(words, COMMANDS):
        page = add_command(commands, name, import_module(f"irclient.cli.commands.{name}"))
        add_output(page, name not in NO_DATA)
    group_commands(commands, HEADINGS)
    return irc


_ABOUT = """\
Find out which skills, packages, past sessions and documents on this machine
apply to a task. The daemon irdaemon keeps them indexed while they change; irc
asks it, for you or for a coding agent."""
_MORE = """\
irc COMMAND --help has the options of a command, with examples.

words:
  corpus      what is indexed as one: skills, packages, a directory of notes
  artifact    an item of a corpus: a skill, a document; CORPUS/ID names it
  record      a piece of an artifact that queries are matched with
  generation  the number of a state of the index; each change raises it
  floor       the confidence below which a corpus gives no answer

exit codes:
  0   something applies, or done
  1   abstained: nothing applies
  2   wrong usage, query or configuration
  3   the daemon is too slow, or not running (irdaemon start --detach)
  4   unknown corpus or artifact, or nothing indexed
  5   unhealthy (a corpus is stale or offline), or not done in full
  6   a measure below what was asked for, or a regression
  70  a fault of irc or of the daemon
  74  the output cannot be written

environment:
  IRDAEMON_SOCKET   the path of the daemon's socket, if it is not the default
  IRDAEMON_USAGE    0: what is asked leaves no trace in the log of use
  NO_COLOR          no colours, even on a terminal
  FORCE_COLOR       colours, even if stdout is no terminal; 0: none
  FORCE_HYPERLINK   paths as links, whatever the terminal; 0: none
  COLUMNS           how wide lines may be, if not as wide as the terminal

examples:
  # what applies here?
  irc discover "fill in a PDF form"

  # what is indexed, and is it up to date?
  irc status
"""


if __name__ == "__main__":
    raise SystemExit(main())
