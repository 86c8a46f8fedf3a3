"""`irc coverage`: show what lies on disk and is not indexed."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from irclient.client import Client
from irclient.terminal.columns import paragraph, table
from irclient.terminal.exits import COMMITTED, UNHEALTHY
from irclient.terminal.output import printed
from irclient.terminal.width import UNCUT, terminal

HELP = "show what lies on disk and is not indexed"
ABOUT = """
Walk the directories of one corpus, or of all, and compare what lies there with
what is indexed. The walk is not the one that finds what to index, so what that
one overlooks is missing here. Files are left out for a reason, such as the
pattern or an ignore file; a missing one has none. Exit code 5 if something is
missing, or a directory could not be walked.
"""
EXAMPLES = """
# is everything there?
irc coverage

# the files that are not, by path
irc coverage notes --json | jq -r '.[].missing_paths[]'
"""
_SHOWN = 20
# A walk of a large tree takes longer than any other answer.
_WITHIN_S = 600.0


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add which corpus."""
    parser.add_argument("corpus", nargs="?", metavar="CORPUS", help="only this corpus (all)")


def run(client: Client, options: argparse.Namespace) -> int:
    """Print how much is indexed; fail where something is missing."""
    client.timeout = max(client.timeout, _WITHIN_S)
    found = client.coverage(options.corpus)
    printed(options, found, lambda found: _told(found, terminal().width))
    whole = all(each.missing == 0 and (not each.unchecked or each.ratio is None) for each in found)
    return COMMITTED if whole else UNHEALTHY


def _told(found: Sequence[dict[str, Any]], width: int = UNCUT) -> str:
    columns = ("corpus", "on disk", "indexed", "excluded", "missing", "coverage")
    rows = [
        [
            *(each["corpus"], each["on_disk"], each["indexed"]),
            sum(n for why, n in each["excluded"].items() if not why.startswith("directory: ")),
            *(each["missing"], _share(each["ratio"])),
        ]
        for each in found
    ]
    lines = [paragraph(line, width) for each in found for line in _lines(each)]
    return "\n".join([table(columns, rows), *lines]) if rows else "no corpora"


def _share(ratio: float | None) -> str:
    if ratio is None:
        return "-"
    # What is not whole is never shown as whole.
    return f"{min(ratio, 0.999):.1%}" if ratio < 1 else "100%"


def _lines(each: dict[str, Any]) -> list[str]:
    """Return what is to be told of one corpus below the table."""
    name, paths = each["corpus"], each["missing_paths"]
    told = [f"{name}: {each['unchecked']}"] if each["unchecked"] else []
    told += [f"{name}: left out: {why} {n:,}" for why, n in each["excluded"].items()]
    told += [f"{name}: missing: {path}" for path in paths[:_SHOWN]]
    if each["missing"] > _SHOWN:
        told.append(f"{name}: missing: {each['missing'] - _SHOWN:,} more; --json lists them")
    if each["missing"]:
        told.append(f"{name}: irc build {name} looks for them again")
    return told
