"""Where a secret stands in a text, and how its end is found."""

from __future__ import annotations

import re
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
