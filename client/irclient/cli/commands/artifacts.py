"""`irc artifacts`: list the artifacts of a corpus."""

from __future__ import annotations

import argparse
import os
from typing import Any

from irclient.client import Client
from irclient.errors import QueryError
from irclient.terminal.exits import COMMITTED
from irclient.terminal.hits import quoted
from irclient.terminal.output import note, printed
from irclient.terminal.width import cells, clipped, terminal

HELP = "list the artifacts of a corpus"
ABOUT = """
List the artifacts of one corpus or of all, ordered by reference, a page at a
time; where there are more, a line on stderr says so.
"""
EXAMPLES = """
# the first hundred skills
irc artifacts skills

# the next ones
irc artifacts skills --after skills/zsh-scripts

# what was indexed below one directory
irc artifacts --under ~/notes/work
"""

# Less of a name says nothing.
_LEAST_NAME = 8


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add which corpus or directory, and which page."""
    parser.add_argument("corpus", nargs="?", metavar="CORPUS", help="only this corpus (all)")
    parser.add_argument("-c", default="", metavar="CORPUS", help="the same, as in discover")
    parser.add_argument("--under", default="", metavar="PATH", help="only at or below PATH")
    parser.add_argument(
        "--after", default="", metavar="CORPUS/ID", help="continue after this artifact"
    )
    parser.add_argument(
        "-k", type=int, default=100, metavar="N", help="how many, at most 1,000 (100)"
    )


def run(client: Client, options: argparse.Namespace) -> int:
    """Print the artifacts in the order of their references, a line each."""
    under = os.path.realpath(options.under) if options.under else ""
    if options.c and options.corpus not in (None, options.c):
        raise QueryError(f"two corpora, {options.corpus} and {options.c}", "name one, or none")
    corpus = options.c or options.corpus
    held = client.artifacts(corpus, under, options.after, options.k)
    width = terminal().width
    printed(options, held, lambda held: "\n".join(_line(each, width) for each in held))
    if held and len(held) >= options.k:
        last = f"{held[-1].corpus}/{held[-1].artifact_id}"
        if client.artifacts(corpus, under, last, 1):
            note(f"irc: there are more; go on with --after {quoted(last)}")
    return COMMITTED


def _line(held: dict[str, Any], width: int) -> str:
    """Return the reference, which stays whole, and as much of the name as there is room for."""
    reference = f"{held['corpus']}/{held['artifact_id']}"
    room = width - cells(reference) - 2
    return f"{reference}  {clipped(held['name'], room)}" if room >= _LEAST_NAME else reference
