"""`irc artifacts`: what is held, one by one."""

from __future__ import annotations

import argparse
import os
from typing import Any

from irclient.client import Client
from irclient.terminal.exits import COMMITTED
from irclient.terminal.output import printed

HELP = "what is held, one by one"
ABOUT = """
What is held, in the order of references, a page at a time.
"""
EXAMPLES = """
# the first hundred skills
irc artifacts skills

# the next ones
irc artifacts skills --after skills/zsh-scripts

# what was indexed of one directory
irc artifacts --under ~/notes/work
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add of what, and which page of it."""
    parser.add_argument("corpus", nargs="?", help="only this one (all)")
    parser.add_argument("--under", default="", metavar="PATH", help="only at or below PATH")
    parser.add_argument(
        "--after", default="", metavar="CORPUS/ID", help="the page after the one that ended so"
    )
    parser.add_argument("-k", type=int, default=100, metavar="N", help="how many, to 1,000 (100)")


def run(client: Client, options: argparse.Namespace) -> int:
    """Print the artifacts in the order of their references, a line each."""
    under = os.path.realpath(options.under) if options.under else ""
    held = client.artifacts(options.corpus, under, options.after, options.k)
    printed(options, held, lambda held: "\n".join(map(_line, held)))
    return COMMITTED


def _line(held: dict[str, Any]) -> str:
    return f"{held['corpus']}/{held['artifact_id']}  {held['name']}"
