"""Commands that ask the daemon one thing, without argparse, pyzmq and dataclasses.

Importing those takes several times as long as the answer. A command runs here unchanged, on
`Arguments` and `ShortClient`, where its line is well formed and the daemon is on this machine;
everything else is left to `irclient.cli.main`.
"""

from __future__ import annotations

import os

from irclient.cli.answer import failed
from irclient.cli.short_client import ShortClient
from irclient.errors import IRError
from irclient.fast.arguments import Arguments
from irclient.places import endpoint, is_remote
from irclient.terminal.ending import exit_code
from irclient.terminal.output import add_output
from irclient.terminal.width import spell_the_rest

TYPE_CHECKING = False  # typing itself takes 8 ms to import
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from irclient.fast.arguments import Options

COMMANDS = frozenset(
    (
        *("discover", "search", "explain", "disclose", "ls", "info", "records", "artifacts"),
        *("status", "audit", "coverage", "usage", "gaps", "listing", "add", "rm", "build"),
        *("maintain", "hint", "docs", "impressions", "wait", "ping"),
    )
)


def run(words: Sequence[str]) -> int | None:
    """Run a command and return its exit code; None where nothing was done, and `main` is to."""
    if not words or words[0] not in COMMANDS or not all(map(_is_text, words)):
        return None
    command = __import__(f"irclient.cli.commands.{words[0]}", fromlist=["run"])
    arguments = Arguments()
    command.add_options(arguments)
    add_output(arguments)  # type: ignore[arg-type]
    options = arguments.parsed(words[1:])
    if options is None or (place := _place()) is None:
        return None
    client = ShortClient(place, options.timeout)  # type: ignore[attr-defined]
    try:
        return exit_code("irc", lambda: _asked(command, client, options))
    except _OlderDaemon:
        return None


class _OlderDaemon(BaseException):
    """A reply lacks what this version shows; the types of results have a default for it."""


def _asked(command: Any, client: ShortClient, options: Options) -> int:
    spell_the_rest()
    try:
        code: int = command.run(client, options)
        return code
    except IRError as error:
        return failed(error, options.json)  # type: ignore[attr-defined]
    except (AttributeError, KeyError):
        if client.asked_once:
            raise
        raise _OlderDaemon from None


def _is_text(word: str) -> bool:
    """Return whether a word is UTF-8: the system's functions hand on other bytes as surrogates."""
    return word.isascii() or not any("\ud800" <= char <= "\udfff" for char in word)


def _place() -> str | None:
    """Return the path of the daemon's socket; None where it is asked in another way."""
    if os.environ.get("IRDAEMON_TOKEN"):
        return None
    try:
        place = endpoint()
    except IRError:
        return None
    return None if is_remote(place) else place
