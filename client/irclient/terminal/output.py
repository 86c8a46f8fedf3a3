"""Print what a command returns: as JSON if requested, else as text.

Every line for a person passes through here, so that no name in it can begin another line.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Callable
from typing import Any

from irclient.invisible import escaped, safe, shown, spelled
from irclient.terminal.width import takes_all
from irclient.types import plain_data

_MOST_S = 1e6


class NotWritten(OSError):
    """The system refused what was printed to stdout."""


def add_output(parser: argparse.ArgumentParser, data: bool = True) -> None:
    """Add the options that every command has; `--json` only to one that prints `data`."""
    if data:
        parser.add_argument("--json", action="store_true", help="print data as JSON")
    else:
        parser.set_defaults(json=False)
    parser.add_argument(
        "--timeout", type=seconds, default=10.0, metavar="S", help="give up after S seconds (10)"
    )


def add_output_of_action(parser: argparse.ArgumentParser) -> None:
    """Add the same options to an action of a command: they may stand before it or behind it."""
    parser.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS, help="print data as JSON"
    )
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=argparse.SUPPRESS,
        metavar="S",
        help="give up after S seconds (10)",
    )


def seconds(text: str) -> float:
    """Return an option's number of seconds, above 0 and of this month."""
    with contextlib.suppress(ValueError):
        if 0 < (number := float(text)) < _MOST_S:
            return number
    raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")


def as_json(value: Any) -> str:
    """Return a value as a line of JSON that is harmless on a terminal."""
    return escaped(json.dumps(value, ensure_ascii=not takes_all()))


def printed(options: argparse.Namespace, value: Any, text: Callable[[Any], str]) -> None:
    """Print a value, or types of irclient, as JSON or by `text`; "" prints nothing.

    `text` is given plain data as it may be shown.
    """
    value = plain_data(value)
    if options.json:
        print_json(value)
    elif readable := text(shown(value)):
        _print(readable)


def print_json(value: Any) -> None:
    """Print a value as a line of JSON."""
    _print(as_json(value))


def print_line(line: str) -> None:
    """Print one line to stdout, whatever it names."""
    _print(spelled(line))


def note(line: str) -> None:
    """Print one line to stderr, whatever it names."""
    _say(spelled(line))


def print_text(text: str) -> None:
    """Print a text of many lines, made of what may be shown, to stdout."""
    _print(safe(text))


def note_text(text: str) -> None:
    """Print a text of many lines, made of what may be shown, to stderr."""
    _say(safe(text))


def flush_output() -> None:
    """Write out what is still kept for stdout. Raises NotWritten, BrokenPipeError."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise NotWritten(error.errno, error.strerror) from error


def _print(text: str) -> None:
    try:
        print(text)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise NotWritten(error.errno, error.strerror) from error
    flush_output()


def _say(text: str) -> None:
    with contextlib.suppress(OSError):  # there is no other place to say it
        print(text, file=sys.stderr, flush=True)
