"""`irdaemon`: start, stop and set up the daemon.

The exit codes are those of `irc`, in `irclient.terminal.exits`.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence

from irclient.errors import IRError, Unavailable
from irclient.terminal.ending import report_error, run_program
from irclient.terminal.help import (
    Parser,
    choose_commands,
    group_commands,
    load_command,
    make_parser,
    parse_options,
)
from irclient.terminal.width import escape_unencodable
from irdaemon import __version__

# The function of each command, by module.
COMMANDS = {
    "start": "irdaemon.cli.starting:start_daemon",
    "restart": "irdaemon.cli.starting:restart_daemon",
    "reload": "irdaemon.cli.running:reload_configuration",
    "stop": "irdaemon.cli.running:stop_daemon",
    "status": "irdaemon.cli.running:show_status",
    "logs": "irdaemon.cli.running:print_log",
    "check": "irdaemon.cli.ledger:check_ledger",
    "backup": "irdaemon.cli.ledger:write_backup",
    "restore": "irdaemon.cli.ledger:restore_backup",
    "compact": "irdaemon.cli.ledger:compact_ledger",
    "backend": "irdaemon.contrib.backends.command:manage_backends",
    "init": "irdaemon.cli.first_run:begin",
    "config": "irdaemon.cli.configuration:manage_configuration",
    "fetch": "irdaemon.cli.setup:fetch_model",
    "tools": "irdaemon.cli.tools:manage_tools",
    "keys": "irdaemon.cli.configuration:manage_keys",
    "service": "irdaemon.cli.setup:manage_service",
    "uninstall": "irdaemon.cli.setup:uninstall",
    "doctor": "irdaemon.cli.doctor:find_faults",
    "mcp": "irdaemon.cli.mcp:serve_mcp",
    "version": "irdaemon.cli.setup:print_version",
    "completion": "irdaemon.cli.setup:print_completion",
}
# Headings of groups in the list of commands, by the first command of each.
HEADINGS = {
    "start": "run it",
    "check": "the ledger",
    "backend": "index backends",
    "init": "set it up",
    "doctor": "find what is wrong",
    "mcp": "the rest",
}
# Commands of `irc` that are not found here: the error names irc.
OF_IRC = (
    *("discover", "search", "explain", "eval", "disclose", "open", "here", "projects", "ls"),
    *("info", "records", "artifacts", "prompts", "mute", "pin", "sessions"),
    *("audit", "coverage", "usage", "gaps", "listing", "top", "web", "add", "rm", "build"),
    *("maintain", "hint", "docs", "impressions", "hook", "install", "wait", "events", "ping"),
)
# What the start imports and loads stays, so the collector need not traverse it again and again
# meanwhile. `irdaemon.runtime.memory.settle` switches it on.
_STAYS = "start"
# The packages whose modules are named differently.
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
        options = parse_options(make_program(words), words)
        code: int = options.run(options)
        return code
    except IRError as error:
        return report_error("irdaemon", error)
    except ImportError as error:
        return report_error("irdaemon", _explain_import(error))


def _explain_import(error: ImportError) -> IRError:
    """Say how to install a missing package. Raises the error if the module is our own."""
    module = (error.name or "").partition(".")[0]
    if module in ("", "irdaemon", "irclient"):
        raise error
    from irclient.installation import install_command  # with importlib.metadata

    package = _PACKAGES.get(module, module)
    return Unavailable(
        f"the package {package} is needed and cannot be imported: {error}",
        install_command(package),
    )


def make_program(words: Sequence[str] = ()) -> Parser:
    """Return the parser of all commands, or of only the one that `words` begin with."""
    irdaemon = make_parser("irdaemon", _ABOUT, _MORE)
    irdaemon.elsewhere = {name: f"irc {name}" for name in OF_IRC}
    irdaemon.add_argument("--version", action="version", version=f"irdaemon {__version__}")
    commands = irdaemon.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in choose_commands(words, COMMANDS):
        load_command(COMMANDS[name]).add_to(commands, name)
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
  3   the daemon does not run or does not answer
  4   unknown, or nothing indexed yet
  5   unhealthy (status, check, doctor), or not done in full
  70  a bug in irdaemon
  74  the output cannot be written

environment:
  IRDAEMON_CONFIG   the configuration file, if it is not at the default path
  IRDAEMON_SOCKET   the path of the socket to serve at

examples:
  # set it up: at most three questions
  irdaemon init

  # start in the background, and return when everything is indexed
  irdaemon start --detach --wait

  # start at every login
  irdaemon service install
"""
