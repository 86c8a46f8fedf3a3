"""`irdaemon restore`: replace the ledger by a backup."""

from __future__ import annotations

import argparse

from irclient.places import socket_path
from irclient.terminal.exits import DONE
from irclient.terminal.output import print_line
from irdaemon.daemon.lock import alone

HELP = "replace the ledger by a backup; the daemon must not run"
ABOUT = """
Replace the ledger (the SQLite file with everything that was indexed) by a
backup, and the log of use by FILE.usage where that lies beside it; the daemon
must not run. The backup is checked first, and what was there is kept beside
it.
"""
EXAMPLES = """
# the daemon must not run
irdaemon stop
irdaemon restore ~/irdaemon-ledger.db
irdaemon start --detach
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add which backup."""
    parser.add_argument("file", metavar="FILE", help="a file written by irdaemon backup")


def run(options: argparse.Namespace) -> int:
    """Check the backup, put it in place, and print where the old ledger is kept."""
    from irdaemon.config.config import load_config
    from irdaemon.contrib.usage.store import restore_usage
    from irdaemon.ledger.backups import restore

    config = load_config()
    with alone(config.state_dir, socket_path(), f"irdaemon restore {options.file}"):
        old = restore(options.file, config.ledger_path)
        old_usage = restore_usage(options.file, config.usage_path)
    print_line(
        f"{config.ledger_path} is now {options.file}; the next start indexes what changed since"
    )
    for kept in filter(None, (old, old_usage)):
        print_line(f"the one before is kept in {kept}")
    return DONE
