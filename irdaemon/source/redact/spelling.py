"""How texts within texts spell things: what stands for a quote, a line break or an equals sign.

A transcript holds JSON that holds JSON, program text, URLs and what terminals printed. The
innermost text is what counts, so each pattern here takes a character as it is and as it is escaped,
with any number of backslashes, for each level of quoting doubles them.
"""

from __future__ import annotations

import re

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
