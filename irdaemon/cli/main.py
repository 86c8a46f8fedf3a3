"""`irdaemon`: start, stop and set up the daemon.

The exit codes are those of `irc`, in `irclient.terminal.exits`.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from importlib import import_module

from irclient.errors import IRError, Unavailable
from irclient.terminal.ending import run_program
from irclient.terminal.exits import choose_error_exit
from irclient.terminal.help import (
    Parser,
    add_command,
    choose_commands,
    group_commands,
    make_parser,
    parse_options,
)
from irclient.terminal.output import note
from irclient.terminal.width import escape_unencodable
from irdaemon import __version__
from irdaemon.cli.commands import COMMANDS, HEADINGS, OF_IRC

# What its start imports and loads stays: the collector need not go through all of it again and
# again meanwhile. `irdaemon.runtime.memory.settle` has it begin.
_STAYS = "start"
# The packages whose modules have another name.
_PACKAGES = {
    "Stemmer": "PyStemmer",
    "markdown_it": "markdown-it-py",
    "yaml": "PyYAML",
    "zmq": "pyzmq",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = sys.argv[1:] if argv is None else argv
    return run_program("irdaemon", lambda: _run(words))


def _run(words: Sequence[str]) -> int:
    escape_unencodable()
    if list(words[:1]) == [_STAYS]:
        gc.disable()
    try:
        options = parse_options(program(words), words)
        code: int = options.run(options)
        return code
    except IRError as error:
        return _said(error)
    except ImportError as error:
        return _said(_not_importable(error))


def _said(error: IRError) -> int:
    note(f"irdaemon: {error.message}")
    if error.hint:
        note(f"          {error.hint}")
    return choose_error_exit(error.code)


def _not_importable(error: ImportError) -> IRError:
    """Return what to do about a package that is needed. Raises the error where it is our own."""
    module = (error.name or "").partition(".")[0]
    if module in ("", "irdaemon", "irclient"):
        raise error
    from irclient.installation import install_command  # with importlib.metadata

    package = _PACKAGES.get(module, module)
    return Unavailable(
        f"the package {package} is needed and cannot be imported: {error}",
        install_command(package),
    )


def program(words: Sequence[str] = ()) -> Parser:
    """Return the parser of all commands, or of the one that a command line begins with."""
    irdaemon = make_parser("irdaemon", _ABOUT, _MORE)
    irdaemon.elsewhere = {name: f"irc {name}" for name in OF_IRC}
    irdaemon.add_argument("--version", action="version", version=f"irdaemon {__version__}")
    commands = irdaemon.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in choose_commands(words, COMMANDS):
        add_command(commands, name, import_module(f"irdaemon.cli.commands.{name}"))
    group_commands(commands, HEADINGS)
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
  0   done
  2   wrong usage or configuration
  3   the daemon does not run, or not answer
  4   unknown, or nothing indexed yet
  5   unhealthy (status, check, doctor), or not done in full
  70  a fault of irdaemon
  74  the output cannot be written

environment:
  IRDAEMON_CONFIG   the configuration file, if it is not at the default path
  IRDAEMON_SOCKET   the path of the socket to serve at

examples:
  # start in the background, and return when everything is indexed
  irdaemon start --detach --wait

  # start at every login
  irdaemon service install
"""
