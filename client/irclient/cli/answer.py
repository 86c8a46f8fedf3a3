"""An answer on the terminal, or an error: what is printed of it, and the exit code."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from irclient.errors import IRError
from irclient.invisible import shown
from irclient.terminal.exits import exit_of, exit_of_error
from irclient.terminal.hits import answer_lines, footer, scope_hint
from irclient.terminal.output import note, note_text, print_json, printed
from irclient.terminal.width import terminal
from irclient.types import Selection


def add_paths(parser: argparse.ArgumentParser) -> None:
    """Add the choice of paths alone."""
    parser.add_argument(
        *("-l", "--paths"), action="store_true", help="print where the items lie and nothing else"
    )


def _paths(plain: dict[str, Any]) -> str:
    return "\n".join(hit["pointer"] for hit in plain["results"] if hit["pointer"])


def print_answer(options: argparse.Namespace, answer: Selection) -> int:
    """Print an answer and return the exit code it stands for."""
    plain, to = answer.to_dict(), terminal()
    if options.paths:
        printed(options, plain, _paths)
        if answer.abstained:
            note("\n".join(answer_lines(plain, to)))
    else:
        printed(options, plain, lambda plain: "\n".join(answer_lines(plain, to)))
    for path in plain["freshness"].get("unproved", ()):
        note(f"irc: it could not be shown that {path} is up to date")
    words = [] if options.json or options.corpus else options.query
    if hint := scope_hint(words, plain):
        note(hint)
    if sys.stderr.isatty() and not options.json:
        note_text(footer(shown(plain), to))
    return exit_of(plain)


def failed(error: IRError, as_json: bool) -> int:
    """Print an error, and return its exit code."""
    if as_json:
        report = {"code": error.code, "message": error.message, "hint": error.hint}
        print_json({"error": report})
    note(f"irc: {error.message}")
    if error.hint:
        note(f"     {error.hint}")
    return exit_of_error(error.code)
