"""Invisible and control characters, and how texts and names are shown without them.

Text from indexed files is data. One table says which characters are hidden, for the terminal, JSON,
`hidden` in answers, MCP and the hook alike. Nothing heavy is imported: this runs at every
prompt.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing itself takes 8 ms to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# First and last of each range, in order: Default_Ignorable_Code_Point of Unicode 17.0 (in its file
# DerivedCoreProperties.txt), with what is unassigned of it, as that shows nothing either; the
# general categories Cc, Cf, Cs, Co, Zl and Zp; planes that hold nothing else; and what is blank
# without being a space. FE0E and FE0F, which belong to emoji, are in EMOJI_STYLES.
_RANGES = (
    (0x00, 0x1F),  # controls
    (0x7F, 0x9F),
    (0xAD, 0xAD),  # soft hyphen
    (0x034F, 0x034F),  # combining grapheme joiner
    (0x0600, 0x0605),  # formats of Arabic and Syriac
    (0x061C, 0x061C),  # Arabic letter mark
    (0x06DD, 0x06DD),
    (0x070F, 0x070F),
    (0x0890, 0x0891),
    (0x08E2, 0x08E2),
    (0x115F, 0x1160),  # Hangul fillers
    (0x17B4, 0x17B5),  # Khmer inherent vowels
    (0x180B, 0x180F),  # Mongolian variation selectors
    (0x200B, 0x200F),  # zero width, and marks of direction
    (0x2028, 0x202E),  # separators of lines and paragraphs, changes of direction
    (0x2060, 0x206F),  # word joiner, invisible operators, isolates; 2065 is unassigned
    (0x2800, 0x2800),  # braille blank
    (0x3164, 0x3164),  # Hangul filler
    (0xD800, 0xF8FF),  # surrogates, private use
    (0xFE00, 0xFE0D),  # variation selectors
    (0xFEFF, 0xFEFF),  # zero width no-break space
    (0xFFA0, 0xFFA0),  # half width Hangul filler
    (0xFFF0, 0xFFFB),  # unassigned; interlinear annotation
    (0x110BD, 0x110BD),  # formats of Kaithi
    (0x110CD, 0x110CD),
    (0x13430, 0x1343F),  # formats of hieroglyphs
    (0x13441, 0x13442),  # blank hieroglyphs
    (0x16FE4, 0x16FE4),  # Khitan filler
    (0x1BCA0, 0x1BCA3),  # formats of shorthand
    (0x1D159, 0x1D159),  # musical null note head
    (0x1D173, 0x1D17A),  # formats of music
    (0x40000, 0x10FFFF),  # unassigned planes; tags, variation selectors, private use
)
_FIRSTS = tuple(first for first, _ in _RANGES)
_LASTS = tuple(last for _, last in _RANGES)
EMOJI_STYLES = frozenset("\ufe0e\ufe0f")
# Living languages put up to four on a letter, liturgical texts a few more.
MOST_MARKS = 8
_REPLACEMENT = "\ufffd"


def is_hidden(char: str) -> bool:
    """Return whether a character is one that a terminal executes, or does not show.

    The line end and the tab are not: they belong to texts. In names they are spelt all the same.
    """
    if " " <= char <= "~" or char in "\n\t":
        return False
    return ord(char) <= _LASTS[_find_range(ord(char))]


def _find_range(code: int) -> int:
    """Return the last range that begins at or before a code point: bisect takes longer to load."""
    low, high = 0, len(_FIRSTS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _FIRSTS[middle] <= code else (low, middle)
    return low


def list_hidden(text: str) -> set[str]:
    """Return the hidden characters of a text."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return set()
    return {char for char in set(text) if is_hidden(char)}


def bound_marks(text: str) -> str:
    """Return text with U+FFFD for the combining marks beyond the eighth on one character."""
    if text.isascii() or not (marks := _find_marks(text)):
        return text
    kept, run = [], 0
    for char in text:
        run = run + 1 if char in marks else 0
        if run <= MOST_MARKS:
            kept.append(char)
        elif run == MOST_MARKS + 1:
            kept.append(_REPLACEMENT)
    return "".join(kept)


def _find_marks(text: str) -> set[str]:
    """Return the combining marks of a text; none where it has too few characters for a flood."""
    candidates = {char for char in set(text) if char > "\u02ff" and not char.isalnum()}
    if sum(map(text.count, candidates)) <= MOST_MARKS:
        return set()
    from unicodedata import category  # half a millisecond, for hardly any text

    return {char for char in candidates if category(char) in ("Mn", "Me")}


def replace_hidden(text: str) -> str:
    """Replace hidden characters, so that a terminal shows what is there and executes nothing.

    Line ends and tabs stay: this is for texts of many lines.
    """
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n")
    return bound_marks(text.translate({ord(char): _REPLACEMENT for char in list_hidden(text)}))


def spell_hidden(text: str) -> str:
    r"""Return a name, path or reason on one line, what is hidden in it spelt: `\n`, `\x1b`.

    A byte that is no UTF-8, as the system's functions hand it on, is spelt as such: `\xff`.
    """
    if text.isascii() and text.isprintable():
        return text
    return bound_marks(text.translate({ord(c): _spell(c) for c in {*list_hidden(text), *"\n\t"}}))


def _spell(char: str) -> str:
    if "\udc80" <= char <= "\udcff":
        return f"\\x{ord(char) - 0xDC00:02x}"
    return char.encode("unicode_escape").decode("ascii")


def make_one_line(text: str) -> str:
    """Return a text made safe, on one line, every run of white space as one space."""
    return " ".join(replace_hidden(text).split())


def drop_hidden(text: str) -> str:
    """Return text without what a person would not see, for a model, which would read it.

    Line ends, tabs and spaces stay. Characters that this Python does not know go as well.
    """
    if text.isascii() and text.isprintable():
        return text
    return bound_marks(
        text.translate({ord(char): None for char in set(text) if not _is_seen(char)})
    )


def _is_seen(char: str) -> bool:
    known = char.isprintable() or char.isspace()
    return known and char not in EMOJI_STYLES and not is_hidden(char)


# What is not a name: one line of prose, or a text of many lines.
_PROSE = ("summary",)
_TEXTS = ("body", "passage", "text", "diff")


def make_safe(value: Any) -> Any:
    """Return plain data as a terminal may show it: every name in it on one line.

    Whatever is printed for a person is made of this, so that nothing can stand for a line of ours.
    """
    return _make_safe(value, spell_hidden)


def _make_safe(value: Any, way: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return way(value)
    if isinstance(value, dict):
        return {
            _make_safe(key, spell_hidden): _make_safe(each, _choose_way(key))
            for key, each in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_make_safe(each, way) for each in value]
    return value


def _choose_way(key: object) -> Callable[[str], str]:
    """Return how what lies under a key is shown."""
    return replace_hidden if key in _TEXTS else make_one_line if key in _PROSE else spell_hidden


def escape_json(json_text: str) -> str:
    """Spell the hidden characters of JSON as escapes: the same data, harmless on a terminal."""
    return json_text.translate({ord(char): _escape(char) for char in list_hidden(json_text)})


def _escape(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    pairs = (units[at : at + 2] for at in range(0, len(units), 2))
    return "".join(f"\\u{int.from_bytes(pair):04x}" for pair in pairs)
