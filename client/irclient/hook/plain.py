"""Text from indexed files as one quotable line: nothing invisible, nothing that reads as markup.

Whoever wrote a description may want to speak to the agent in the user's place. So it stays inside
its quotation marks: no line ends, no quotes, brackets or backticks of its own, and no characters
that a person reviewing the file could not have seen.
"""

from __future__ import annotations

_QUOTING = str.maketrans({'"': "'", "`": "'", "<": "\u2039", ">": "\u203a"})
# Letters and symbols that show nothing.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")


def plain(text: str, width: int) -> str:
    """Return a text as one plain line of at most `width` characters."""
    # What will be cut off need not be looked at; what is dropped may make room for some of it.
    text = text[: 4 * width]
    if not (text.isascii() and text.isprintable()):
        text = "".join(map(_shown, text))
    line = " ".join(text.split()).translate(_QUOTING)
    return line if len(line) <= width else line[: max(0, width - 3)].rstrip() + "..."


def _shown(c: str) -> str:
    """Return a character that can be seen; a space for white space, "" for any other.

    Not printable are controls, bidi and zero-width characters, tags, surrogates and private use.
    """
    if not c.isprintable():
        return " " if c.isspace() else ""
    return "" if c in _BLANK or _selects(c) else c


def _selects(c: str) -> bool:
    """Say whether a character is a variation selector: enough of them spell a hidden text."""
    return (
        "\ufe00" <= c <= "\ufe0f" or "\U000e0100" <= c <= "\U000e01ef" or "\u180b" <= c <= "\u180f"
    )
