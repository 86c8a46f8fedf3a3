"""What a terminal supports, and how many cells text takes on it.

This imports nothing heavier than `os` and `unicodedata`, because every `irc discover` runs it.
wcwidth knows more scripts but takes 30 ms to import, and with two rules the same name would be laid
out in two ways; so this one serves every command.
"""

from __future__ import annotations

import os
import sys
import unicodedata

TYPE_CHECKING = False  # typing itself takes 8 ms to import
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

BOLD, DIM, GREEN = "1", "2", "32"

_WIDE_IF_UNKNOWN = 100
# Output to a pipe or a file is not cut.
UNCUT = 1_000_000
_NARROWEST = 20
# Emoji presentation makes the character before it wide.
_EMOJI = "\ufe0f"
# Terminals known to open links (OSC 8); others may print the escape sequence.
_LINKING_PROGRAMS = ("iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "Tabby", "rio")
_LINKING_TERMS = ("xterm-kitty", "xterm-ghostty", "foot", "alacritty", "contour", "wezterm")
_LINKING_MARKS = ("KITTY_WINDOW_ID", "WT_SESSION", "KONSOLE_VERSION", "DOMTERM")
_PLAIN_IN_LINKS = frozenset(b"/-._~ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")


class Terminal:
    """A line's width in cells, whether colours are allowed, and the host for links.

    Without a host there are no links.
    """

    __slots__ = ("colour", "host", "width")

    def __init__(self, width: int, colour: bool = False, host: str = ""):
        self.width = width
        self.colour = colour
        self.host = host

    def paint(self, style: str, text: str) -> str:
        """Return text in a style, if the terminal has styles."""
        return f"\x1b[{style}m{text}\x1b[0m" if self.colour and text else text

    def link_file(self, path: str, text: str) -> str:
        """Return text that opens a file, if the terminal has links."""
        if not self.host or not path.startswith("/"):
            return text
        return f"\x1b]8;;file://{self.host}{_quote(path)}\x1b\\{text}\x1b]8;;\x1b\\"


def detect_terminal() -> Terminal:
    """Return what stdout supports; the environment can force or forbid it."""
    live = sys.stdout.isatty()
    return Terminal(
        _find_width(live), _has_colour(live), os.uname().nodename if _has_links(live) else ""
    )


def escape_unencodable() -> None:
    """Make stdout escape characters that its encoding lacks, instead of raising an error."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")


def takes_unicode() -> bool:
    """Return whether stdout's encoding has every character."""
    return (getattr(sys.stdout, "encoding", "") or "").lower().replace("-", "") == "utf8"


def count_cells(text: str) -> int:
    """Return how many cells of a terminal text takes."""
    return len(text) if text.isascii() else sum(map(_count_cells, text))


def clip(text: str, width: int) -> str:
    """Return text, or its beginning and an ellipsis if it takes more than `width` cells."""
    return text if count_cells(text) <= width else _take_cells(text, max(0, width - 1)) + "…"


def clip_beginning(text: str, width: int) -> str:
    """Return text, or an ellipsis and its end if it takes more than `width` cells."""
    if count_cells(text) <= width:
        return text
    end = _take_cells(text[::-1], max(0, width - 1))[::-1]
    # Marks of a character that was cut off must not combine with the ellipsis.
    while end and _count_cells(end[0]) == 0:
        end = end[1:]
    return "…" + end


def fold(text: str, width: int, most: int) -> list[str]:
    """Return one line as up to `most` lines, ended between words; the last is clipped."""
    lines: list[str] = []
    while len(lines) < most - 1 and count_cells(text) > width:
        line = _take_cells(text, width) or text[:1]
        end = len(line) if text[len(line)] == " " else line.rfind(" ")
        # In scripts without spaces a space is rare: no line is broken early for it.
        line = line[:end] if end > len(line) // 2 else line
        lines.append(line.rstrip())
        text = text[len(line) :].lstrip()
    return [*lines, clip(text, width)]


def wrap(parts: Iterable[str], joint: str, width: int) -> Iterator[str]:
    """Yield parts, joined, as lines that end between them; all but the first are indented."""
    line = ""
    for part in parts:
        if line and count_cells(line + joint + part) > width:
            yield line
            line = "    " + part
        else:
            line = line + joint + part if line else part
    yield line


def _take_cells(text: str, width: int) -> str:
    taken = 0
    for at, character in enumerate(text):
        taken += _count_cells(character)
        if taken > width:
            return text[:at]
    return text


def _count_cells(character: str) -> int:
    if character == _EMOJI:
        return 1
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _quote(path: str) -> str:
    return "".join(
        chr(byte) if byte in _PLAIN_IN_LINKS else f"%{byte:02X}" for byte in os.fsencode(path)
    )


def _find_width(live: bool) -> int:
    """Return the terminal's width as shutil does, without the cost of importing it.

    A pipe has none, unless COLUMNS sets it.
    """
    try:
        columns = int(os.environ.get("COLUMNS", 0)) or os.get_terminal_size(1).columns
    except (OSError, ValueError):
        columns = 0
    return max(_NARROWEST, columns or (_WIDE_IF_UNKNOWN if live else UNCUT))


def _has_colour(live: bool) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    if forced := os.environ.get("FORCE_COLOR"):
        return forced != "0"
    return live and os.environ.get("TERM") != "dumb"


def _has_links(live: bool) -> bool:
    if forced := os.environ.get("FORCE_HYPERLINK"):
        return forced != "0"
    if not live or "TMUX" in os.environ or "STY" in os.environ:
        return False
    term, vte = os.environ.get("TERM", ""), os.environ.get("VTE_VERSION", "")
    return term != "dumb" and (
        term.startswith(_LINKING_TERMS)
        or os.environ.get("TERM_PROGRAM") in _LINKING_PROGRAMS
        or any(mark in os.environ for mark in _LINKING_MARKS)
        or (vte.isdecimal() and int(vte) >= 5000)
    )
