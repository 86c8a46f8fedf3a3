"""Text from indexed files as one quotable line: nothing invisible, nothing that reads as markup.

The author of a description may try to give the agent orders in the user's place. So it stays inside
its quotation marks: no line ends, no quotes, brackets or backticks of its own, nor what looks like
them or is folded into them, and no characters that a person reviewing the file could not have seen.
"""

from __future__ import annotations

# Straight and typographic quotes, primes and graves, and those of other widths and scripts.
_QUOTES = (
    '"`\u00ab\u00bb\u02ba\u02cb\u02dd\u02ee\u02f6\u05f4\u1fef\u2018\u2019\u201a\u201b\u201c'
    "\u201d\u201e\u201f\u2033\u2034\u2035\u2036\u2037\u2057\u275b\u275c\u275d\u275e\u2760\u2e42"
    "\u3003\u301d\u301e\u301f\uff02\uff07\uff40\U0001f676\U0001f677\U0001f678"
)
_OPENING = (
    "<\u02c2\u1438\u16b2\u2039\u226a\u226e\u22d6\u2329\u276c\u276e\u2770\u27e8\u27ea\u2991\u2993"
    "\u29fc\u3008\u300a\ufe3d\ufe3f\ufe64\uff1c\U0001d236"
)
_CLOSING = (
    ">\u02c3\u1433\u203a\u226b\u226f\u22d7\u232a\u276d\u276f\u2771\u27e9\u27eb\u2992\u2994\u29fd"
    "\u3009\u300b\ufe3e\ufe40\ufe65\uff1e\U0001d237"
)
_TAME = str.maketrans(
    dict.fromkeys(_QUOTES, "'") | dict.fromkeys(_OPENING, "(") | dict.fromkeys(_CLOSING, ")")
)


def plain(text: str, width: int) -> str:
    """Return a text as one plain line of at most `width` characters."""
    # What will be cut off need not be looked at; what is dropped may make room for some of it.
    line = " ".join(text[: 4 * width].split())
    if not (line.isascii() and line.isprintable()):
        from irclient.invisible import legible

        line = " ".join(legible(line).split())
    line = line.translate(_TAME)
    return line if len(line) <= width else line[: max(0, width - 3)].rstrip() + "..."
