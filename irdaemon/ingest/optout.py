"""Opting out: a file called `.noirdaemon` keeps a directory, and all below it, out of every corpus.

What lies there is not indexed. A session that was about a project so marked is left out as well,
wherever its transcript lies.
"""

from __future__ import annotations

import os

MARKER = ".noirdaemon"


class OptOuts:
    """Check for markers, each directory once; good for one scan of a corpus."""

    def __init__(self) -> None:
        self._known: dict[str, bool] = {}

    def covers(self, path: str) -> bool:
        """Return whether a marker lies in a directory or in one above it; "" has none."""
        above: list[str] = []
        while path and path not in self._known:
            above.append(path)
            self._known[path] = os.path.lexists(os.path.join(path, MARKER))
            if self._known[path]:
                break
            path = os.path.dirname(path) if os.path.dirname(path) != path else ""
        covered = self._known.get(path, False)
        self._known.update(dict.fromkeys(above, covered))
        return covered


def about_directory(path: str) -> str:
    """Return the directory that a marker's path is about; any other path as it is."""
    return os.path.dirname(path) if os.path.basename(path) == MARKER else path
