"""`irdaemon backup`: write a backup of the ledger, whether or not the daemon runs."""

from __future__ import annotations

import argparse
import os

from irclient.terminal.exits import DONE, UNKNOWN, WRONG
from irclient.terminal.output import note, print_line

HELP = "write a backup of the ledger and the log of use"
ABOUT = """
Write the ledger (the SQLite file with everything that was indexed) into one
file, whether or not the daemon runs, and the log of use into FILE.usage beside
it. Exit codes: 0 done, 2 it cannot be written there, 4 no ledger yet.
"""
EXAMPLES = """
# write one
irdaemon backup ~/irdaemon-ledger.db

# replace the last one
irdaemon backup --force ~/irdaemon-ledger.db
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add where to write it, and whether over another."""
    parser.add_argument(
        "file",
        metavar="FILE",
        help="where to write it; it has the indexed texts, so keep it private",
    )
    parser.add_argument("--force", action="store_true", help="replace an existing file")
    parser.add_argument("--no-usage", action="store_true", help="leave the log of use out")


def run(options: argparse.Namespace) -> int:
    """Write the backup and print its size."""
    from irdaemon.config.config import load_config
    from irdaemon.contrib.usage.store import save_usage, saved_beside
    from irdaemon.ledger.backups import back_up

    config = load_config()
    path = config.ledger_path
    if not os.path.exists(path):
        note(f"irdaemon: there is no ledger at {path}")
        return UNKNOWN
    if os.path.lexists(options.file) and not options.force:
        note(f"irdaemon: {options.file} exists already; --force replaces it")
        return WRONG
    size = back_up(path, options.file, replace=options.force)
    noted = 0 if options.no_usage else save_usage(config.usage_path, options.file, replace=True)
    if noted:
        print_line(f"{saved_beside(options.file)}: {noted:,} bytes")
    print_line(f"{options.file}: {size:,} bytes; irdaemon restore {options.file} brings it back")
    return DONE
