"""`irdaemon check`: check the ledger for damage and against the files; repair it."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import asdict
from typing import TYPE_CHECKING

from irclient.client import Client
from irclient.counts import format_count
from irclient.errors import IRError
from irclient.places import socket_path
from irclient.terminal.exits import DONE, UNHEALTHY, UNKNOWN
from irclient.terminal.output import note, print_json, print_line
from irdaemon.daemon.lock import alone

if TYPE_CHECKING:
    from irdaemon.config.config import Config
    from irdaemon.ledger import IntegrityProblem

HELP = "check the ledger for damage and missing changes; repair it"
ABOUT = """
Check the ledger (the SQLite file with everything that was indexed) for damage,
and against the files on disk. It can be checked while the daemon runs; to
repair it, stop the daemon. Exit codes: 0 nothing is wrong, 5 something is, 2
wrong usage, 4 no ledger yet.
"""
EXAMPLES = """
# is anything wrong?
irdaemon check

# repair it
irdaemon stop
irdaemon check --repair
irdaemon start --detach
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add whether to repair, and the output format."""
    parser.add_argument("--repair", action="store_true", help="repair it; the daemon must not run")
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    parser.add_argument("--config", metavar="FILE", help="read this configuration")


def run(options: argparse.Namespace) -> int:
    """Print what is wrong, each with what to do; repair it if requested."""
    from irdaemon.config.config import load_config
    from irdaemon.config.corpus import noted_fallback, with_examples
    from irdaemon.ledger import IntegrityProblem

    config = load_config(options.config)
    examples = noted_fallback()
    config = with_examples(config, load_config(examples).corpora if examples else None) or config
    path = config.ledger_path
    if not os.path.lexists(path):
        note(f"irdaemon: there is no ledger at {path}")
        note("          irdaemon start --detach makes one")
        return UNKNOWN
    if not options.repair:
        found = _found(config)
        _print(path, found, options.json)
        return UNHEALTHY if any(each.severe for each in found) else DONE
    with alone(config.state_dir, socket_path(), "irdaemon check --repair"):
        done = _repaired(path)
        found = _found(config) if os.path.exists(path) else []
    _print(path, [IntegrityProblem("repaired", each, "") for each in done] + found, options.json)
    left = (each for each in found if each.part in ("sqlite", "itself"))
    return UNHEALTHY if any(each.severe for each in left) else DONE


def _found(config: Config) -> list[IntegrityProblem]:
    from irdaemon.cli.consistency import check_ledger, compare_with_daemon
    from irdaemon.ledger import Ledger

    with closing(Ledger(config.ledger_path, read_only=True)) as ledger:
        found = check_ledger(ledger, config)
        if not any(each.part == "sqlite" for each in found):
            # Without a daemon, or with an older one, there is nothing to hold it against.
            with suppress(IRError), Client() as client:
                if (client.status().ledger or {}).get("path") == config.ledger_path:
                    found += compare_with_daemon(ledger, client.status)
    return found


def _repaired(path: str) -> list[str]:
    """Repair a ledger, or set it aside if it cannot be; return what was done."""
    from irdaemon.ledger import Ledger
    from irdaemon.ledger.corruption import set_corrupt_aside

    with closing(Ledger(path, read_only=True)) as view:
        damaged = [each.what for each in view.check() if each.part == "sqlite" and each.severe]
    if damaged:
        kept = set_corrupt_aside(path, damaged[0], time.time()).kept
        return [f"{damaged[0]}: it lies in {kept} now; the next start rebuilds it"]
    with closing(Ledger(path)) as ledger:
        wrong = [each.what for each in ledger.check()]
        unread = ledger.repair()
    again = format_count(unread, "entry", "is")
    return [*wrong, f"{again} read again at the next start"] if wrong else []


def _print(path: str, found: Sequence[IntegrityProblem], as_json: bool) -> None:
    if as_json:
        sound = not any(each.severe for each in found)
        report = {"ledger": path, "sound": sound, "findings": [asdict(each) for each in found]}
        print_json(report)
        return
    for each in found:
        corpus = f"{each.corpus}: " if each.corpus else ""
        advice = f"; {each.advice}" if each.advice else ""
        print_line(f"{each.part:<8} {corpus}{each.what}{advice}")
    if not any(each.severe for each in found):
        print_line(f"sound    {path}")
