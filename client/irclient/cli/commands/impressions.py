"""`irc impressions`: what an agent's session was shown."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from irclient.client import Client
from irclient.terminal.exits import COMMITTED
from irclient.terminal.output import printed

HELP = "what an agent's session was shown, and when"
ABOUT = """
What an agent's session was shown by the prompt hook, oldest first. The hook
shows nothing twice; with references, those count as shown as well.
"""
EXAMPLES = """
# what a session of Claude Code was shown
irc impressions claude:5f1c9b2e

# never show it this one
irc impressions claude:5f1c9b2e skills/fill-pdf-form
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the session, and what to note as shown to it."""
    parser.add_argument("session", help="as the hook names it: AGENT:ID")
    parser.add_argument(
        "reference",
        nargs="*",
        metavar="CORPUS/ID",
        help="note these as shown, too; a name will do",
    )


def run(client: Client, options: argparse.Namespace) -> int:
    """Print what the session was shown."""
    # A name means the item of that name: what is noted is what an answer names it by.
    meant = client.disclose(options.reference, "metadata") if options.reference else []
    references = [f"{each.corpus}/{each.artifact_id}" for each in meant]
    found = client.impressions(options.session, references)
    printed(options, found, lambda found: "\n".join(_lines(found)) or "nothing")
    return COMMITTED


def _lines(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for each in found:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(each["at"]))
        yield f"{when}  {each['reference']}"
