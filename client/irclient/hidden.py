"""Characters that nobody sees or a terminal obeys: replaced where text is shown, escaped in JSON.

Text from indexed files is data. Nothing heavy is imported: this is on the way of every prompt.
"""

from __future__ import annotations

import unicodedata

_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
# Letters and signs that look like nothing, beside the selectors of variants.
_BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"


def is_hidden(char: str) -> bool:
    """Say whether a character is one that a terminal obeys, or does not show.

    Controls, changes of direction, format characters, separators of lines and paragraphs, private
    ones, and letters that are blank; save the line end and the tab.
    """
    if char in "\n\t":
        return False
    code = ord(char)
    blank = char in _BLANK or 0xFE00 <= code <= 0xFE0D or 0xE0100 <= code <= 0xE01EF
    return blank or unicodedata.category(char) in _HIDDEN


def safe(text: str) -> str:
    """Replace hidden characters, so that a terminal shows what is there and obeys nothing."""
    if text.isascii() and text.isprintable():
        return text
    shown = text.replace("\r\n", "\n")
    return "".join("\ufffd" if is_hidden(char) else char for char in shown)


def escaped(json_text: str) -> str:
    """Spell the hidden characters of JSON as escapes: the same data, harmless on a terminal."""
    if json_text.isascii() and json_text.isprintable():
        return json_text
    return "".join(_escape(char) if is_hidden(char) else char for char in json_text)


def _escape(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    pairs = (units[at : at + 2] for at in range(0, len(units), 2))
    return "".join(f"\\u{int.from_bytes(pair):04x}" for pair in pairs)
