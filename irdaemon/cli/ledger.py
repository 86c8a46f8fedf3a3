"""The ledger, whether or not the daemon runs: check, backup, restore, compact."""

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
from irclient.errors import IRError, NotFound, QueryError
from irclient.places import socket_path
from irclient.terminal.exits import DONE, UNHEALTHY
from irclient.terminal.help import argument, command, flag
from irclient.terminal.output import print_json, print_line
from irdaemon.config.addons import call_addons
from irdaemon.config.config import load_config
from irdaemon.config.corpus import add_examples, read_fallback
from irdaemon.config.sections import Config
from irdaemon.daemon.lock import keep_daemons_off

if TYPE_CHECKING:
    from irdaemon.ledger import IntegrityProblem


@command(
    flag("--repair", "repair it; the daemon must not run"),
    flag("--json", "print it as JSON"),
    argument("--config FILE", "read this configuration"),
)
def check_ledger(options: argparse.Namespace) -> int:
    """Check the ledger for damage and missing changes; repair it.

    Check the ledger (the SQLite file with everything that was indexed) for damage,
    and against the files on disk. It can be checked while the daemon runs; to
    repair it, stop the daemon. Exit codes: 0 nothing is wrong, 5 something is, 2
    wrong usage, 4 no ledger yet.

    examples:
    # is anything wrong?
    irdaemon check

    # repair the ledger
    irdaemon stop
    irdaemon check --repair
    irdaemon start --detach
    """
    from irdaemon.ledger import IntegrityProblem

    config = load_config(options.config)
    examples = read_fallback()
    config = add_examples(config, load_config(examples).corpora if examples else None) or config
    path = config.ledger_path
    _require_ledger(path)
    if not options.repair:
        found = _find_problems(config)
        _print_problems(path, found, options.json)
        return UNHEALTHY if any(each.severe for each in found) else DONE
    with keep_daemons_off(config.state_dir, socket_path(), "irdaemon check --repair"):
        done = _repair(path)
        found = _find_problems(config) if os.path.exists(path) else []
    _print_problems(
        path, [IntegrityProblem("repaired", each, "") for each in done] + found, options.json
    )
    left = (each for each in found if each.part in ("sqlite", "itself"))
    return UNHEALTHY if any(each.severe for each in left) else DONE


def _require_ledger(path: str) -> None:
    if not os.path.lexists(path):
        raise NotFound(f"there is no ledger at {path}", "irdaemon start --detach makes one")


def _find_problems(config: Config) -> list[IntegrityProblem]:
    from irdaemon.cli.consistency import compare_with_daemon, examine_ledger
    from irdaemon.ledger import Ledger

    with closing(Ledger(config.ledger_path, read_only=True)) as ledger:
        found = examine_ledger(ledger, config)
        if not any(each.part == "sqlite" for each in found):
            # Without a daemon, or with an older one, there is nothing to compare with.
            with suppress(IRError), Client() as client:
                if (client.status().ledger or {}).get("path") == config.ledger_path:
                    found += compare_with_daemon(ledger, client.status)
    return found


def _repair(path: str) -> list[str]:
    """Repair a ledger, or set it aside if it is beyond repair; return what was done."""
    from irdaemon.ledger import Ledger
    from irdaemon.ledger.backups import set_corrupt_aside

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


def _print_problems(path: str, found: Sequence[IntegrityProblem], as_json: bool) -> None:
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


@command(
    argument("file FILE", "where to write it; it contains the indexed texts, so keep it private"),
    flag("--force", "replace an existing file"),
    flag("--no-usage", "leave the log of use and what sessions did out"),
)
def write_backup(options: argparse.Namespace) -> int:
    """Write a backup of the ledger, the log of use and what sessions did.

    Write the ledger (the SQLite file with everything that was indexed) into one
    file, whether or not the daemon runs, and beside it the log of use into
    FILE.usage and what sessions did into FILE.recall. Exit codes: 0 done, 2 it
    cannot be written there, 4 no ledger yet.

    examples:
    # write one
    irdaemon backup ~/irdaemon-ledger.db

    # replace the last one
    irdaemon backup --force ~/irdaemon-ledger.db
    """
    from irdaemon.ledger.backups import back_up

    config = load_config()
    path = config.ledger_path
    _require_ledger(os.path.realpath(path))
    if os.path.lexists(options.file) and not options.force:
        raise QueryError(f"{options.file} exists already", "--force replaces it")
    size = back_up(path, options.file, replace=options.force)
    for path, noted in () if options.no_usage else call_addons("backup", config, options.file):
        if noted:
            print_line(f"{path}: {noted:,} bytes")
    print_line(f"{options.file}: {size:,} bytes; irdaemon restore {options.file} brings it back")
    return DONE


@command(argument("file FILE", "a file written by irdaemon backup"))
def restore_backup(options: argparse.Namespace) -> int:
    """Replace the ledger with a backup; the daemon must not run.

    Replace the ledger (the SQLite file with everything that was indexed) by a
    backup, and the log of use and what sessions did by FILE.usage and FILE.recall
    where these lie beside it; the daemon must not run. The backup is checked
    first, and what was there is kept beside it.

    examples:
    # the daemon must not run
    irdaemon stop
    irdaemon restore ~/irdaemon-ledger.db
    irdaemon start --detach
    """
    from irdaemon.ledger.backups import restore

    config = load_config()
    with keep_daemons_off(config.state_dir, socket_path(), f"irdaemon restore {options.file}"):
        old = restore(options.file, config.ledger_path)
        older = call_addons("restore", config, options.file)
    print_line(
        f"{config.ledger_path} is now {options.file}; the next start indexes what changed since"
    )
    for kept in filter(None, (old, *older)):
        print_line(f"the previous one is kept in {kept}")
    return DONE


@command(argument("--config FILE", "read this configuration"))
def compact_ledger(options: argparse.Namespace) -> int:
    """Compact the ledger.

    Rewrite the ledger (the SQLite file with everything that was indexed) without
    the space that removed corpora left, and drop unused vectors; the daemon must
    not run. It needs as much free space as the compacted ledger takes.

    examples:
    # after a large corpus was removed
    irdaemon stop
    irdaemon compact
    irdaemon start --detach
    """
    from irdaemon.ledger import Ledger

    config = load_config(options.config)
    path = config.ledger_path
    _require_ledger(os.path.realpath(path))
    with keep_daemons_off(config.state_dir, socket_path(), "irdaemon compact"):
        before = _measure(path)
        with closing(Ledger(path)) as ledger:
            dropped = ledger.vectors.drop_unused()
            ledger.forget_unused_terms()
            ledger.vacuum()
        after = _measure(path)
    print_line(
        f"{path}: {before:,} bytes, now {after:,}; {format_count(dropped, 'unused vector')} dropped"
    )
    return DONE


def _measure(path: str) -> int:
    """Return the size of a ledger and its write-ahead log in bytes."""
    return sum(os.path.getsize(each) for each in (path, f"{path}-wal") if os.path.exists(each))
