"""Where a secret stands in a text, and how its end is found."""

from __future__ import annotations

import re
from typing import NamedTuple

from irdaemon.types import SourceError

# A text of ordinary size that has more beginnings of secrets than this was made to.
MOST_ATTEMPTS = 10_000
_REST_OF_TOKEN = re.compile(r"[A-Za-z0-9_\-]*")


class Span(NamedTuple):
    """A secret in a text: from `start` up to `end`."""

    start: int
    end: int
    kind: str


def to_the_end(text: str, end: int) -> int:
    """Return where a token that reaches at least to `end` really ends."""
    match = _REST_OF_TOKEN.match(text, end)
    return match.end() if match else end


class Attempts:
    """Count attempts on one text; more than any honest text needs are refused, not waited for."""

    def __init__(self) -> None:
        self._left = MOST_ATTEMPTS

    def one_more(self) -> None:
        """Count one. Raises SourceError when there were too many."""
        self._left -= 1
        if self._left < 0:
            raise SourceError(
                f"more than {MOST_ATTEMPTS:,} beginnings of secrets in one text",
                "it is not indexed; split it, or leave it out of the corpus",
            )
