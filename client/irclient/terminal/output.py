"""Print what a command returns: as JSON if requested, else as text.

Every line for a person passes through here, so that no name in it can start a new line. If output
cannot be written, the command still finishes, and `irclient.terminal.ending` reports the loss at
its end.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any

from irclient.fast.light_json import dump_json
from irclient.fast.plain import plain_data
from irclient.invisible import escape_json, make_safe, replace_hidden, spell_hidden
from irclient.terminal.exits import DONE
from irclient.terminal.width import clip, takes_unicode

# Variables that CI and coding agents set for their commands; some run them on a terminal.
PROGRAMS = (
    *("CI", "CLAUDECODE", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "GEMINI_CLI"),
    *("CURSOR_AGENT", "OPENCODE", "AGENT", "AI_AGENT"),
)


# The first error of writing to stdout, if any: later output is discarded.
_lost: list[OSError] = []


def begin_output() -> None:
    """Forget the write errors of an earlier program."""
    _lost.clear()


def find_lost_output() -> OSError | None:
    """Return why stdout cannot be written any more, or None.

    A command that only prints ends then.
    """
    return _lost[0] if _lost else None


def dump_safe_json(value: Any) -> str:
    """Return a value as a line of JSON that is harmless on a terminal."""
    return escape_json(dump_json(value, not takes_unicode()))


def print_data(
    options: argparse.Namespace, value: Any, text: Callable[[Any], str | Iterable[str]]
) -> int:
    """Print a value, or types of irclient, as JSON or by `text`; "" prints nothing. Return DONE.

    `text` gets plain data that is safe to show, and returns a text or lines.
    """
    value = plain_data(value)
    if options.json:
        print_json(value)
        return DONE
    shown = text(make_safe(value))
    if readable := shown if isinstance(shown, str) else "\n".join(shown):
        _print(readable)
    return DONE


def print_json(value: Any) -> None:
    """Print a value as a line of JSON."""
    _print(dump_safe_json(value))


def print_line(line: str) -> None:
    """Print one line to stdout, escaping line ends in names."""
    _print(spell_hidden(line))


def note(line: str) -> None:
    """Print one line to stderr, escaping line ends in names."""
    _say(spell_hidden(line))


def print_text(text: str) -> None:
    """Print a text of many lines that is safe to show, to stdout."""
    _print(replace_hidden(text))


def note_text(text: str) -> None:
    """Print a text of many lines that is safe to show, to stderr."""
    _say(replace_hidden(text))


def can_ask() -> bool:
    """Return whether a person can answer questions: at a terminal, and not run by a program."""
    if any(os.environ.get(name, "").lower() not in ("", "0", "false") for name in PROGRAMS):
        return False
    return all(each is not None and each.isatty() for each in (sys.stdin, sys.stdout))


def flush_output() -> None:
    """Write buffered output to stdout."""
    try:
        sys.stdout.flush()
    except OSError as error:
        _drop_output(error)


def _print(text: str) -> None:
    try:
        print(text, flush=True)
    except OSError as error:
        _drop_output(error)


def _drop_output(error: OSError) -> None:
    """Record that stdout cannot be written any more, and discard further output."""
    _lost.append(error)
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(text: str) -> None:
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        return  # there is no other place to say it


_BAR = 24


class ProgressLine:
    """Draw `label [#####     ] done/todo` in place, and erase it at the end."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._drawn = False

    def draw(self, label: str, done: int, todo: int) -> None:
        """Show the progress; `todo` of 0 shows the label alone."""
        if not self._live:
            return
        filled = round(_BAR * min(done, todo) / todo) if todo else 0
        bar = f" [{'#' * filled}{' ' * (_BAR - filled)}] {done:,}/{todo:,}" if todo else " ..."
        import shutil  # only on a terminal

        width = shutil.get_terminal_size().columns
        sys.stderr.write(f"\r\x1b[K{clip(spell_hidden(label) + bar, width - 1)}")
        sys.stderr.flush()
        self._drawn = True

    def clear(self) -> None:
        """Erase the line."""
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._drawn = False
