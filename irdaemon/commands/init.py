"""`irdaemon init`: write a configuration file with what was found here."""

from __future__ import annotations

import argparse
import sys

from irdaemon.commands import DONE, WRONG

HELP = "write a configuration file with what was found here"
ABOUT = """
Write a commented configuration file with the corpora found on this machine.
Without one they are indexed all the same: the file is for changing that.
"""
EXAMPLES = """
# only look
irdaemon init --print

# write it
irdaemon init
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add where to write it, and whether."""
    parser.add_argument("--config", metavar="FILE", help="write it here")
    parser.add_argument("--force", action="store_true", help="replace an existing file")
    parser.add_argument("--print", action="store_true", help="print it, write nothing")


def run(options: argparse.Namespace) -> int:
    """Write the file, or print it."""
    # Not sooner: they load numpy, and `start` has something to say to it first.
    from irdaemon.initial import initial_config
    from irdaemon.settings import begin

    path, text = initial_config(options.config)
    if options.print:
        print(text, end="")
        return DONE
    if not begin(path, text, replace=options.force):
        print(f"irdaemon: {path} exists already", file=sys.stderr)
        print("          --force replaces it, --print shows what would be written", file=sys.stderr)
        return WRONG
    print(path)
    return DONE
