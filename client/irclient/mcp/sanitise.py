"""Indexed text as plain data: without what a person cannot see and a model might obey.

Control characters can drive a terminal, direction marks can show one thing and say another, and
invisible characters can carry words that only a model reads. All of them are taken out.
"""

from __future__ import annotations

from irclient.invisible import legible

_LINE_ENDS = str.maketrans({"\u2028": "\n", "\u2029": "\n", "\x85": "\n"})


def plain(text: str) -> str:
    """Return text without control, direction-changing and invisible characters.

    Tabs stay, and line ends become newlines.
    """
    if text.isascii() and text.isprintable():
        return text
    return legible(text.replace("\r\n", "\n").replace("\r", "\n").translate(_LINE_ENDS))


def as_place(text: str) -> str:
    """Return a path or reference as plain text on one line, otherwise as it is."""
    return plain(text).replace("\n", " ").replace("\t", " ")


def one_line(text: str) -> str:
    """Return plain text with every run of white space as one space."""
    return " ".join(plain(text).split())
