"""`irc offered`: what an agent's session was shown."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from irclient.client import Client
from irclient.exits import COMMITTED
from irclient.output import printed
from irclient.show_answer import safe

HELP = "what an agent's session was shown, and when"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the session, and what to note as shown to it."""
    parser.add_argument("session", help="as the hook names it: AGENT:ID")
    parser.add_argument(
        "reference", nargs="*", metavar="CORPUS/ID", help="note these as shown to it, too"
    )


def run(client: Client, options: argparse.Namespace) -> int:
    """Print what the session was shown."""
    told = client.offered(options.session, options.reference)
    printed(options, told, lambda: "\n".join(_lines(told)) or "nothing")
    return COMMITTED


def _lines(told: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for each in told:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(each["at"]))
        yield f"{when}  {safe(each['reference'])}"
