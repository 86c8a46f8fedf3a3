"""Names: which artifacts a text calls by name.

A text names an artifact when it is the name, or contains it as an identifier: in backticks or
quotes, or written with `-`, `_`, `.`, `/`, `:`, `@` or inner capitals, as prose seldom is. Letter
case does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from irdaemon.index.rows import Rows

_QUOTED = re.compile(r"[`'\"]([^`'\"\n]{2,100})[`'\"]")
_IDENTIFIER = re.compile(r"@?\w[\w@./:+-]*[\w+]")
_UNLIKE_PROSE = re.compile(r"[-_./:@+]|[a-z][A-Z]|[A-Z]{2}[a-z]")
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Names:
    """The names of a corpus' artifacts, looked up when a query comes."""

    rows: Rows
    _owners: dict[str, list[int]] = field(default_factory=dict)

    def called(self, text: str) -> list[int]:
        """Return the positions of the artifacts that `text` names, ascending."""
        owners = self._table()
        names = {name.casefold() for name in _names_in(text)}
        return sorted({owner for name in names for owner in owners.get(name, ())})

    def _table(self) -> dict[str, list[int]]:
        if not self._owners:
            table: dict[str, list[int]] = {}
            for owner, card in enumerate(self.rows.cards):
                table.setdefault(card.name.casefold(), []).append(owner)
            # All at once: a query on another thread sees the whole table or none.
            self._owners.update(table)
        return self._owners


def _names_in(text: str) -> Iterator[str]:
    if len(text) <= _LONGEST_NAME:
        yield text.strip()
    yield from _QUOTED.findall(text)
    for word in _IDENTIFIER.findall(text):
        if _UNLIKE_PROSE.search(word):
            yield word
