r"""How texts within texts spell things: what stands for a quote, a line break or an equals sign.

A transcript holds JSON that holds JSON, program text, URLs and what terminals printed. The
innermost text is what counts, so each pattern here takes a character as it is and as it is escaped,
with any number of backslashes, for each level of quoting doubles them.

To a pattern what an escape splits is no word: a token in the colours of grep, one with Markdown's
`\_` or a soft hyphen in it. `decode` makes the text that is spelt, and says where its parts stood.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from string import ascii_letters, digits
from typing import NamedTuple

from irdaemon.types import Refused

# Characters that may be read more than once in one text: a second's work, and more than any
# text needs that was not made to take it.
EFFORT = 100_000_000
_REST_OF_TOKEN = re.compile(r"[A-Za-z0-9_\-]*")


class Span(NamedTuple):
    """A secret in a text: from `start` up to `end`."""

    start: int
    end: int
    kind: str


def find_token_end(text: str, end: int) -> int:
    """Return where a token that reaches at least to `end` really ends."""
    match = _REST_OF_TOKEN.match(text, end)
    return match.end() if match else end


class Effort:
    """Add up the work on one text; more than any honest text needs is refused, not waited for."""

    def __init__(self) -> None:
        self._left = EFFORT

    def spend(self, characters: int) -> None:
        """Count an attempt by how far it may read. Raises Refused when the sum is too much."""
        self._left -= characters
        if self._left < 0:
            raise Refused(
                "one text has too many possible secrets to check",
                "it is not indexed; split it, or leave it out of the corpus",
            )


BACKSLASHES = r"\\{0,63}"
QUOTE = rf"{BACKSLASHES}[\"'`]"
EQUALS = r"(?:=|\\{1,63}(?:u003[dD]|x3[dD])|%3[dD])"
LESS = r"(?:<|\\{1,63}u003[cC]|&lt;)"
GREATER = r"(?:>|\\{1,63}u003[eE]|&gt;)"
NEWLINE = r"(?:\r?\n|\r|\\{1,63}r\\{1,63}n|\\{1,63}[nr]|(?:%0[dD])?%0[aA])"
LINE_ENDS = re.compile(
    rf"[ \t]{{0,9}}(?:(?:#|//)[^\r\n]{{0,200}})?(?:\Z|{NEWLINE}|{QUOTE}|\x1b|{LESS}/)"
)

# What stands before a token without being a part of the word that it begins: the escapes of
# programs and of JSON, %XX of URLs, and colours, whose ESC may be spelt in any way or lost.
_ESCAPE = re.compile(
    r"(?:\\(?:[abefnrtv]|[0-7]{1,3}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2})"
    r"|%[0-9a-fA-F]{2}|\[[0-9;?]{0,24}[A-Za-z])\Z"
)
_LONGEST_ESCAPE = 28
_WORD = re.compile(r"[A-Za-z0-9_]")


def begins_word(text: str, at: int) -> bool:
    """Return whether a word begins at a place, seen through the escape that may stand before it."""
    if at == 0 or not _WORD.match(text[at - 1]):
        return True
    return _ESCAPE.search(text, max(0, at - _LONGEST_ESCAPE), at) is not None


# What shows nothing, and so splits a word for a program alone.
_INVISIBLE = "\xad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"
_UNSEEN = re.compile(f"[{_INVISIBLE}]")
_ESC = "\x1b"
# In each pattern what must stand before the first character is looked for behind it: a search for
# one fixed character is quick. A run of backslashes is looked at once.
_BY_BACKSLASH = re.compile(
    r"\\(?<!\\\\)\\*+(?:(?P<plain>[-_.~+=:/@#&<>|!*])|(?P<esc>[eE](?=\[))|(?P<octal>[01][0-7]{2}|33)"
    r"|(?:u|U0{4}|u\{0{0,4})(?P<hex>[0-9a-fA-F]{4}|(?<=\{)[0-9a-fA-F]{2})\}?|x(?P<byte>[0-9a-fA-F]{2}))"
)
_BY_ENTITY = re.compile(
    r"&(?:amp;){0,9}(?:#(?P<number>\d{2,5})|#[xX]0{0,4}(?P<hex>[0-9a-fA-F]{2,4})|(?P<name>[A-Za-z]{2,15}));"
)
_BY_PERCENT = re.compile(
    r"%(?:25){0,9}(?:(?P<hex>1[bB]|[2-7][0-9a-fA-F])"
    r"|(?P<unseen>[cC]2%(?:25)*[aA][dD]|[eE]2%(?:25)*80%(?:25)*8[b-fB-F]|[eE][fF]%(?:25)*[bB]{2}%(?:25)*[bB][fF]))"
)
_COLOUR = re.compile(
    rf"{_ESC}(?:\[[0-?]{{0,32}}[@-~]|\][^\x07{_ESC}]{{0,2000}}(?:\x07|{_ESC}\\*+))"
)
# One without its ESC, which many a program takes away, or puts another character in its place.
_BARE = r"\[(?:\d[\d;:]{0,31}m|[mK])"
_BARE_COLOUR = re.compile(r"\[(?:\d[\d;:]{0,31}m(?!\])(?:\[K)?|m\[K|m(?<=[_-]\[m))")
_BARE_COLOURS = re.compile(
    rf"(?:(?<=[_-]) |[\ufffd\u25a0\u241b])?{_BARE}(?:[ \ufffd\u25a0\u241b]?{_BARE})*+(?!\])"
)
_HIGHLIGHT = re.compile(
    r"<(?<=[\w\"'=:>.~/-]<)/?(?:em|mark|strong|span|font|code|kbd|samp|tt|wbr|hl|ins|del|small|big|[bisu])"
    r"(?:\s[^<>]{0,200})?/?>(?=[\w\"'=:<.~/-])"
)
_ENTITIES = {
    "lowbar": "_", "UnderBar": "_", "hyphen": "-", "dash": "-", "period": ".", "sol": "/",
    "plus": "+", "equals": "=", "colon": ":", "commat": "@", "amp": "&", "lt": "<", "gt": ">",
    "quot": '"', "apos": "'", "num": "#", "percnt": "%", "excl": "!", "ast": "*", "dollar": "$",
    "quest": "?", "shy": "", "zwj": "", "zwnj": "", "ZeroWidthSpace": "", "NoBreak": "",
    "lrm": "", "rlm": "",
}  # fmt: skip


def _spell_character(code: int) -> str | None:
    """Return what a code spells, where that may be a part of a secret or stand in one unseen."""
    character = chr(code)
    if 0x20 < code < 0x7F or character == _ESC:
        return None if character == "\\" else character
    return "" if _UNSEEN.match(character) else None


def _spell_backslash(match: re.Match[str]) -> str | None:
    if plain := match["plain"]:
        return plain
    if match["esc"]:
        return _ESC
    octal = match["octal"]
    return _spell_character(int(octal, 8) if octal else int(match["hex"] or match["byte"], 16))


def _spell_entity(match: re.Match[str]) -> str | None:
    if name := match["name"]:
        return _ENTITIES.get(name)
    return _spell_character(int(match["number"]) if match["number"] else int(match["hex"], 16))


def _spell_percent(match: re.Match[str]) -> str | None:
    return _spell_character(int(match["hex"], 16)) if match["hex"] else ""


def _spell_nothing(match: re.Match[str]) -> str:
    return ""


# What a text with such bare colours, or with an invisible character, holds: quick to look for.
_BARE_CUE = re.compile(r"\[(?:0m|K)")
_UNSEEN_CUES = "\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\xad"
# From the outermost spelling to the innermost: what a text holds with it, where it stands, what it
# spells. What is itself spelt with an escape of another kind has a second round.
_ESCAPES: tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str]], str | None]], ...] = (
    (_ESC, _COLOUR, _spell_nothing),
    ("\\", _BY_BACKSLASH, _spell_backslash),
    ("&", _BY_ENTITY, _spell_entity),
    ("%", _BY_PERCENT, _spell_percent),
    (_ESC, _COLOUR, _spell_nothing),
    ("[", _BARE_COLOURS, _spell_nothing),
    ("[", _BARE_COLOUR, _spell_nothing),
    ("<", _HIGHLIGHT, _spell_nothing),
    *((cue, _UNSEEN, _spell_nothing) for cue in _UNSEEN_CUES),
)
_ROUNDS = 2
_OPENING = frozenset(f"%&<[{_ESC}")
# What an escape must spell to be worth a look: most spell what separates words, which the patterns
# of secrets know by themselves. A dot or a slash counts before a long word.
_JOINING = frozenset(ascii_letters + digits + "_-\"'")
_JOINING_LONG = frozenset(".~+/=:@")
_LONG = re.compile(r"[\w.~+/=-]{12}")


class _Step(NamedTuple):
    """Where the parts of a decoded text stood: the same place in each list is one part.

    A part is a run of characters as they stood, or one that was spelt with several. `starts` also
    has the end of the text.
    """

    starts: list[int]
    source_starts: list[int]
    source_ends: list[int]

    def locate_source(self, span: Span) -> Span:
        """Return where a part of the decoded text stood."""
        first = bisect_right(self.starts, span.start) - 1
        last = bisect_left(self.starts, span.end) - 1
        start = self.source_starts[first] + span.start - self.starts[first]
        end = self.source_starts[last] + span.end - self.starts[last]
        whole = span.end == self.starts[last + 1]
        return Span(start, self.source_ends[last] if whole else end, span.kind)


class Decoded(NamedTuple):
    """A text as it is spelt."""

    text: str
    steps: list[_Step]

    def locate_source(self, span: Span) -> Span:
        """Return where a secret that was found in it stood in what was decoded."""
        for step in reversed(self.steps):
            span = step.locate_source(span)
        return span


def decode(text: str) -> Decoded | None:
    """Return what a text spells, None where no escape joins a word: linear in its length."""
    steps, joins = list[_Step](), False
    for _ in range(_ROUNDS):
        nested = False
        for cue, pattern, character in _ESCAPES:
            if cue not in text or (pattern is _BARE_COLOURS and not _BARE_CUE.search(text)):
                continue
            escapes = [
                (*match.span(), spelt)
                for match in pattern.finditer(text)
                if (spelt := character(match)) is not None
            ]
            if escapes:
                joins = joins or any(_joins(text, end, spelt) for _, end, spelt in escapes)
                text, step = _replace_escapes(text, escapes)
                steps.append(step)
                nested = nested or any(spelt in _OPENING for _, _, spelt in escapes)
        if not nested:
            break
    return Decoded(text, steps) if joins else None


def _joins(text: str, end: int, spelt: str) -> bool:
    if spelt in _JOINING_LONG:
        return _LONG.match(text, end) is not None
    return not spelt or spelt in _JOINING


def _replace_escapes(text: str, escapes: list[tuple[int, int, str]]) -> tuple[str, _Step]:
    """Return a text with each escape replaced by what it spells, and where its parts stood."""
    parts, step, at = list[str](), _Step([0], [], []), 0
    for start, end, spelt in [*escapes, (len(text), len(text), "")]:
        for part, first, last in ((text[at:start], at, start), (spelt, start, end)):
            if part:
                parts.append(part)
                step.starts.append(step.starts[-1] + len(part))
                step.source_starts.append(first)
                step.source_ends.append(last)
        at = end
    return "".join(parts), step
