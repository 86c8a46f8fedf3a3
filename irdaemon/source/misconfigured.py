"""The source of a corpus that its configuration makes unusable: it has nothing, and says why."""

from __future__ import annotations

from typing import ClassVar

from irdaemon.types import Entry, Problem, Reading, Root, Scan


class Misconfigured:
    """Stand for a source that cannot be made; what was indexed of it before is kept."""

    limits: ClassVar[tuple[str, ...]] = ()

    def __init__(self, problem: Problem):
        self._problem = problem

    def roots(self) -> tuple[Root, ...]:
        """Return none."""
        return ()

    def scan(self, under: str | None = None) -> Scan:
        """Find nothing, vouch for nothing, and say what is wrong."""
        return Scan((), (), (self._problem,))

    def read(self, entry: Entry, cursor: bytes | None = None) -> Reading:
        """Raise FileNotFoundError: nothing was found."""
        raise FileNotFoundError(entry.path)
