"""`irdaemon init`: write a configuration file with the corpora found here."""

from __future__ import annotations

import argparse

from irclient.terminal.exits import DONE, WRONG
from irclient.terminal.output import note, print_line, print_text

HELP = "write a configuration file with the corpora found here"
ABOUT = """
Write a commented configuration file with the corpora found on this machine.
They are indexed without one, too: the file is for changing that.
"""
EXAMPLES = """
# only show it
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
    # Not sooner: they load numpy, for which `start` sets the environment first.
    from irdaemon.config.edit import ConfigFile
    from irdaemon.config.template import initial_config
    from irdaemon.daemon.active_config import check_startable

    path, text = initial_config(options.config)
    if options.print:
        print_text(text.removesuffix("\n"))
        return DONE
    if not ConfigFile(path, check_startable).begin(text, replace=options.force):
        note(f"irdaemon: {path} exists already")
        note("          --force replaces it, --print shows what would be written")
        return WRONG
    print_line(path)
    return DONE
