"""Watch directory trees recursively: not pruned directories, through links as the walks go.

A directory is watched before it is listed, and hinted after: whatever appears meanwhile raises an
event, is listed, or is seen by the scan that follows the hint.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from irdaemon.source.opening import at_or_under, resolved
from irdaemon.source.symlinks import Symlinks
from irdaemon.source.tree import is_directory, is_link
from irdaemon.watch.settings import Settings
from irdaemon.watch.watches import Watches

# Where SQLite writes first, beside a database; a reader of the database opens it as if to write.
LOG_ENDING = "-wal"


class RecursiveWatches:
    """Walk trees and watch their directories; `links` maps the symlinks found to their targets."""

    def __init__(self, watches: Watches, settings: Settings):
        self.links: dict[str, str] = {}
        self._links_before: dict[str, str] = {}
        self._watches = watches
        self._pruned = settings.pruned
        self._ignored = settings.ignored
        self._symlinks: Mapping[str, Symlinks] = {}
        self._not_entered: frozenset[str] = frozenset()

    def begin(self, symlinks: Mapping[str, Symlinks], unwatched: frozenset[str]) -> None:
        """Start over: which links are followed below each root, and what is not to be entered."""
        self._links_before, self.links = self.known_links(), {}
        self._symlinks = symlinks
        self._not_entered = unwatched

    def finish(self) -> None:
        """Drop the links of the round before that are gone."""
        self._links_before = {}

    def known_links(self) -> dict[str, str]:
        """Return the links that are followed, or were until this round ends, with their targets."""
        return {**self._links_before, **self.links}

    def unlink(self, path: str) -> str:
        """Drop a link that may be gone; return its target, "" where it was none."""
        target = self.links.pop(path, "")
        if target:
            self._links_before[path] = target
        return target

    def give_up(self, root: str) -> None:
        """Give up the watches of a root, and do not enter it again."""
        self._not_entered |= {root}
        self._watches.drop_root(root)

    def excluded(self, path: str) -> bool:
        """Return whether a path is neither watched nor hinted."""
        return path in self._not_entered or any(at_or_under(path, top) for top in self._ignored)

    def add_tree(self, path: str, root: str, top: str) -> None:
        """Watch a directory, or what a symlink points to, and all below. Raises LimitReached.

        Directories that cannot be read are passed over: the scan reports them.
        """
        pending = [(path, top)]
        while pending:
            directory, its_top = pending.pop()
            if os.path.islink(directory):
                directory = its_top = self._follow(directory, root)
            if not directory or self.excluded(directory) or not os.path.isdir(directory):
                continue
            if self._watches.add(directory, root, its_top):
                pending.extend((below, its_top) for below in self._below(directory))

    def add_root(self, root: str) -> None:
        """Watch a root and its entry in its parent, so that it stays watched when made again."""
        self._watches.add_name(root, root)
        if os.path.isfile(root):
            self._watches.add_name(root + LOG_ENDING, root)
        self.add_tree(root, root, root)

    def count(self, root: str) -> int:
        """Return how many directories below a root need a watch, without following symlinks."""
        counted, pending = 0, [root]
        while pending:
            counted += 1
            pending.extend(p for p in self._below(pending.pop()) if not os.path.islink(p))
        return counted

    def _follow(self, link: str, root: str) -> str:
        """Return where a link leads, "" if it is not followed."""
        target = resolved(link)
        rule = self._symlinks.get(root, Symlinks())
        if rule.danger(target) or (os.path.isdir(target) and not rule.follows(link, target)):
            return ""
        self.links[link] = target
        if not self.excluded(target):
            self._watches.add_name(target, root)
        return target

    def _below(self, directory: str) -> Iterator[str]:
        """Yield every symlink, and the sub-directories that are not pruned."""
        try:
            with os.scandir(directory) as entries:
                found = list(entries)
        except OSError:
            return
        for entry in found:
            if entry.name in self._pruned and is_directory(entry):
                continue
            if is_link(entry) or is_directory(entry):
                yield entry.path
