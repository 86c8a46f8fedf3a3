"""What a command prints: data as JSON where it was asked for, else as text."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

from irclient.hidden import escaped


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add what every command takes."""
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")
    parser.add_argument(
        "--timeout", type=float, default=10.0, metavar="S", help="give up after S seconds (10)"
    )


def as_json(value: Any) -> str:
    """Return a value as a line of JSON that is harmless on a terminal."""
    return escaped(json.dumps(value, ensure_ascii=False))


def printed(options: argparse.Namespace, value: Any, text: Callable[[], str]) -> None:
    """Print a value as JSON, or the text made of it; empty text prints nothing."""
    if options.json:
        print(as_json(value))
    elif said := text():
        print(said)
