"""The source of a corpus whose configuration is not valid: it has no entries and one problem."""

from __future__ import annotations

from typing import ClassVar

from irdaemon.types import Entry, Problem, Reading, Root, Scan


class InvalidSource:
    """Stand for a source that cannot be made; its indexed entries are kept."""

    limits: ClassVar[tuple[str, ...]] = ()

    def __init__(self, problem: Problem):
        self._problem = problem

    def roots(self) -> tuple[Root, ...]:
        """Return none."""
        return ()

    def scan(self, under: str | None = None) -> Scan:
        """Return the problem, no entries, and nothing covered."""
        return Scan((), (), (self._problem,))

    def read(self, entry: Entry, cursor: bytes | None = None) -> Reading:
        """Raise FileNotFoundError: nothing was found."""
        raise FileNotFoundError(entry.path)
