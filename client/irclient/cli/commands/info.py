"""`irc info`: show what is known about a corpus."""

from __future__ import annotations

import argparse
import time
from typing import Any

from irclient.client import Client
from irclient.terminal import tables
from irclient.terminal.columns import paragraph
from irclient.terminal.exits import COMMITTED
from irclient.terminal.output import printed
from irclient.terminal.width import terminal

HELP = "show what is known about a corpus"
ABOUT = """
Show what is known about one corpus: its roots, its embedder, its floors (the
confidence below which it gives no answer), the fields that --where can filter
by, the kinds that --surface can name, and what was skipped.
"""
EXAMPLES = """
# what can be filtered on?
irc info skills
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the corpus."""
    parser.add_argument("corpus", metavar="CORPUS", help="its name; `irc ls` lists them")


def run(client: Client, options: argparse.Namespace) -> int:
    """Print what the daemon knows about the corpus, one fact a line."""
    info = client.info(options.corpus)
    width = terminal().width
    printed(options, info, lambda info: "\n".join(paragraph(line, width) for line in _lines(info)))
    return COMMITTED


def _lines(info: dict[str, Any]) -> list[str]:
    told = {**info, "last_reconcile": _moment(info["last_reconcile"])}
    facts = [f"{name}: {_said(value)}" for name, value in told.items() if name != "floors"]
    floors = [f"floor, {mode}: {tables.floor(floor)}" for mode, floor in info["floors"].items()]
    return facts + floors


def _moment(seconds: float | None) -> str:
    if seconds is None:
        return "never"
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def _said(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_said, value)) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{key} {item}" for key, item in value.items()) or "none"
    return str(value)
