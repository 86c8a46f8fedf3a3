"""`irdaemon compact`: give back the room that the ledger no longer needs."""

from __future__ import annotations

import argparse
import os
from contextlib import closing

from irclient.counts import format_count
from irclient.places import socket_path
from irclient.terminal.exits import DONE, UNKNOWN
from irclient.terminal.output import note, print_line
from irdaemon.daemon.lock import alone

HELP = "make the ledger as small as what is in it"
ABOUT = """
Rewrite the ledger (the SQLite file with everything that was indexed) without
the room that removed corpora left, and drop vectors that no text needs; the
daemon must not run. It needs as much room beside it as the ledger has then.
"""
EXAMPLES = """
# after a large corpus was removed
irdaemon stop
irdaemon compact
irdaemon start --detach
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add which configuration."""
    parser.add_argument("--config", metavar="FILE", help="read this configuration")


def run(options: argparse.Namespace) -> int:
    """Rewrite the ledger, and print its size before and after."""
    from irdaemon.config.config import load_config
    from irdaemon.ledger import Ledger

    config = load_config(options.config)
    path = config.ledger_path
    if not os.path.exists(path):
        note(f"irdaemon: there is no ledger at {path}")
        return UNKNOWN
    with alone(config.state_dir, socket_path(), "irdaemon compact"):
        before = _size(path)
        with closing(Ledger(path)) as ledger:
            dropped = ledger.vectors.drop_unused()
            ledger.forget_unused_terms()
            ledger.vacuum()
        after = _size(path)
    print_line(
        f"{path}: {before:,} bytes, now {after:,}; {format_count(dropped, 'unused vector')} dropped"
    )
    return DONE


def _size(path: str) -> int:
    """Return the bytes of a ledger and of its log."""
    return sum(os.path.getsize(each) for each in (path, f"{path}-wal") if os.path.exists(each))
