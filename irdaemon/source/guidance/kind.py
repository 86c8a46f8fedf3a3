"""Tell by its path whether a file is guidance of some kind, and in whose format."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

MANIFEST_FOLDER = ".claude-plugin"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of guidance, and where each product keeps it.

    `places` are (product, pattern) pairs, patterns in gitignore's syntax on absolute paths.
    `endings` are (product, ending of a name) pairs, for files in a directory of this kind's own:
    a root called like one of `folders`, or such a directory of a plugin.
    """

    name: str
    folders: tuple[str, ...]
    places: tuple[tuple[str, str], ...]
    endings: tuple[tuple[str, str], ...]

    def product(self, path: str, own: bool) -> str:
        """Return in whose format the file at an absolute path is, "" when it is none of ours.

        `own` is true where it lies in a directory of this kind's own.
        """
        if not self.may_be(path):
            return ""
        for product, pattern in self.places:
            if _compiled(pattern).match_file(path):
                return product
        if not (own or self._in_plugin(path)):
            return ""
        return next((product for product, ending in self.endings if path.endswith(ending)), "")

    def may_be(self, path: str) -> bool:
        """Return whether a file's name allows that it is of this kind."""
        return os.path.basename(path).endswith(_endings(self))

    def _in_plugin(self, path: str) -> bool:
        parts = path.split("/")
        above = ("/".join(parts[:i]) for i, part in enumerate(parts[:-1]) if part in self.folders)
        return any(os.path.isdir(os.path.join(each, MANIFEST_FOLDER)) for each in above)


@cache
def _endings(kind: Kind) -> tuple[str, ...]:
    of_places = (pattern.rpartition("/")[2].lstrip("*") for _, pattern in kind.places)
    return (*of_places, *(ending for _, ending in kind.endings))


@cache
def _compiled(pattern: str) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines([pattern])
