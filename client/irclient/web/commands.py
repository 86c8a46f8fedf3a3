r"""Commands for a person to copy, with the names of what they are about.

A name may come from a file of another author. It is quoted for the shell; one that holds a
character that is not seen, or that ends a line, is in no command.
"""

from __future__ import annotations

import shlex

from irclient.invisible import hidden_of

_LONGEST = 300


def command(*words: str, otherwise: str) -> str:
    """Return words as a line for a shell, or `otherwise` where one of them cannot stand in it."""
    for word in words:
        if hidden_of(word) or "\n" in word or "\t" in word or len(word) > _LONGEST:
            return otherwise
    return shlex.join(words)
