"""`irdaemon`: start, stop and set up the daemon.

Exit codes: 0 done, 1 failed (`doctor`: something is wrong), 2 wrong usage or configuration, 3 not
running, 5 (`status`) stale or dark.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from irclient.errors import IRError
from irdaemon import __version__
from irdaemon.commands import COMMANDS, FAILED, NOT_RUNNING, WRONG


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    options = _parser().parse_args(argv)
    try:
        code: int = options.run(options)
        return code
    except IRError as error:
        print(f"irdaemon: {error.message}", file=sys.stderr)
        if error.hint:
            print(f"          {error.hint}", file=sys.stderr)
        return {"config": WRONG, "unreachable": NOT_RUNNING}.get(error.code, FAILED)
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="irdaemon",
        description="Keep what an agent could use indexed, and answer discover about it.",
        epilog="exit codes: 0 done, 1 failed (doctor: something is wrong), 2 wrong usage or"
        " configuration, 3 not running, 5 (status) stale or dark",
    )
    parser.add_argument("--version", action="version", version=f"irdaemon {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in COMMANDS:
        command = import_module(f"irdaemon.commands.{name}")
        options = commands.add_parser(name, help=command.HELP, description=command.HELP)
        options.set_defaults(run=command.run)
        command.add_options(options)
    return parser
