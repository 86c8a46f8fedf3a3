"""`irc maintain`: do the upkeep that is due."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from irclient.cli.follow import add_no_wait, ended_jobs, exit_of
from irclient.client import Client
from irclient.terminal.columns import table
from irclient.terminal.exits import COMMITTED
from irclient.terminal.output import note, printed

HELP = "do the upkeep that is due, or show it"
ABOUT = """
Do the upkeep of one corpus, or of all, that is due: scans, vectors that are to
come, floors to be found anew, and the compaction of the ledger. Seldom needed:
the daemon does each in its time. What is scanned at an interval, and
compaction, wait for the quiet hours; a corpus that is indexed by hand is never
due. Exit code 5 if something that was due failed.
"""
EXAMPLES = """
# what would be done now, and why
irc maintain --dry-run

# one corpus
irc maintain notes
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the corpus, and whether to do anything."""
    parser.add_argument("corpus", nargs="?", metavar="CORPUS", help="only this corpus (all)")
    parser.add_argument("--dry-run", action="store_true", help="only show what is due, and why")
    add_no_wait(parser)


def run(client: Client, options: argparse.Namespace) -> int:
    """Request what is due, follow it, and print what was considered."""
    tasks = client.maintain(options.corpus, options.dry_run)
    jobs = [task.job for task in tasks if task.job]
    ended = [] if options.no_wait else ended_jobs(client, jobs)
    printed(options, tasks, lambda tasks: _told(tasks, options.dry_run))
    for each in ended:
        if each.state == "failed":
            note(f"irc: {each.kind} {each.corpus}: {each.report}")
    return exit_of(ended) if ended else COMMITTED


def _told(tasks: Sequence[dict[str, Any]], dry_run: bool) -> str:
    rows = [
        [task["corpus"] or "all", task["work"], _state(task, dry_run), task["reason"]]
        for task in tasks
    ]
    return table(("corpus", "work", "", "why"), rows) if rows else "no corpora"


def _state(task: dict[str, Any], dry_run: bool) -> str:
    if not task["due"]:
        return "not due"
    return "due" if dry_run else f"job {task['job']}"
