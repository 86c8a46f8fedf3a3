"""Indexed text as plain data: without what a person cannot see and a model might obey.

Control characters can drive a terminal, direction marks can show one thing and say another, and
invisible characters can carry words that only a model reads. All of them are taken out.
"""

from __future__ import annotations

import unicodedata

# Invisible, though Unicode does not class them as controls or formats: fillers, Mongolian and
# general variation selectors.
_FILLERS = (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x3164, 0xFFA0)
_INVISIBLE = frozenset((*_FILLERS, *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)))
_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_LINE_ENDS = str.maketrans({"\u2028": "\n", "\u2029": "\n", "\x85": "\n"})


def plain(text: str) -> str:
    """Return text without control, direction-changing and invisible characters.

    Tabs stay, and line ends become newlines.
    """
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n").translate(_LINE_ENDS)
    return "".join(c for c in text if c in "\n\t" or _is_seen(c))


def as_place(text: str) -> str:
    """Return a path or reference as plain text on one line, otherwise as it is."""
    return plain(text).replace("\n", " ").replace("\t", " ")


def one_line(text: str) -> str:
    """Return plain text with every run of white space as one space."""
    return " ".join(plain(text).split())


def _is_seen(character: str) -> bool:
    return ord(character) not in _INVISIBLE and unicodedata.category(character) not in _CATEGORIES
