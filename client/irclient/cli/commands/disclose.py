"""`irc disclose`: the payload of artifacts."""

from __future__ import annotations

import argparse

from irclient.cli.query import add_expand
from irclient.client import Client
from irclient.fast.choices import LEVELS
from irclient.terminal.exits import COMMITTED
from irclient.terminal.hits import disclosure_lines
from irclient.terminal.output import printed

HELP = "the payload of artifacts"
ABOUT = """
The payload of artifacts, read now from where they lie: their text, or with
--level bundled also the files that come with them. It is marked when a file is
not what was indexed.
"""
EXAMPLES = """
# the text of a skill
irc disclose skills/fill-pdf-form

# with its scripts and references
irc disclose --level bundled skills/fill-pdf-form
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the artifacts, and how much of them."""
    parser.add_argument(
        "reference", nargs="+", metavar="CORPUS/ID", help="as an answer names it, or CORPUS/NAME"
    )
    parser.add_argument(
        "--level",
        choices=LEVELS,
        default="body",
        metavar="LEVEL",
        help="metadata, body (the default), or bundled: with the files that go with it",
    )
    add_expand(parser)


def run(client: Client, options: argparse.Namespace) -> int:
    """Print what the artifacts hold now."""
    found = client.disclose(options.reference, options.level, options.expand)
    plain = [each.to_dict() for each in found]
    printed(
        options, plain, lambda plain: "\n\n".join("\n".join(disclosure_lines(e)) for e in plain)
    )
    return COMMITTED
