"""`irc`: ask the daemon.

Data goes to stdout, everything else to stderr. Exit codes: 0 committed, 1 abstained, 2 wrong usage
or query, 3 daemon unreachable or too slow, 4 unknown corpus or artifact, or nothing indexed,
5 (`status`) stale or dark.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from irclient import __version__
from irclient.client import Client
from irclient.commands import COMMANDS
from irclient.errors import InternalError, IRError, NotFound, Unavailable, Unreachable
from irclient.exits import UNKNOWN, UNREACHABLE, WRONG
from irclient.output import add_output


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    options = _parser().parse_args(argv)
    try:
        with Client(timeout=options.timeout) as client:
            code: int = options.run(client, options)
            return code
    except IRError as error:
        return failed(error, options.json)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def failed(error: IRError, as_json: bool) -> int:
    """Say what went wrong, and return the exit code for it."""
    if as_json:
        said = {"code": error.code, "message": error.message, "hint": error.hint}
        print(json.dumps({"error": said}))
    print(f"irc: {error.message}", file=sys.stderr)
    if error.hint:
        print(f"     {error.hint}", file=sys.stderr)
    if isinstance(error, (Unreachable, Unavailable, InternalError)):
        return UNREACHABLE
    return UNKNOWN if isinstance(error, NotFound) else WRONG


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="irc",
        description="Find the skills, packages, past sessions and documents that apply.",
        epilog="exit codes: 0 committed, 1 abstained, 2 wrong usage or query,"
        " 3 daemon unreachable, 4 unknown corpus or nothing indexed, 5 (status) stale or dark",
    )
    parser.add_argument("--version", action="version", version=f"irc {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in COMMANDS:
        command = import_module(f"irclient.commands.{name}")
        options = commands.add_parser(name, help=command.HELP, description=command.HELP)
        options.set_defaults(run=command.run)
        add_output(options)
        command.add_options(options)
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
