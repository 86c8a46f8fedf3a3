"""Which symbolic links to directories a walk follows: those that installers make.

An installer links a directory into a root. A link further down came with what was installed, and
may lead anywhere: to follow it would let a downloaded skill decide what is read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace

from irdaemon.source.opening import KERNEL, is_within, resolve_path
from irdaemon.types import LinkPolicy, Root


@dataclass(frozen=True, slots=True)
class Symlinks:
    """Which links below a corpus' roots, given by their real paths, are followed.

    `within` are further directories into which a link may lead. What a policy allows is written at
    `LinkPolicy`.
    """

    roots: tuple[str, ...] = ()
    policy: LinkPolicy = "direct"
    within: tuple[str, ...] = ()

    @classmethod
    def of(cls, roots: Iterable[Root]) -> Symlinks:
        """Return the rule of a corpus' roots, which all have one policy."""
        given = tuple(roots)
        tops = dict.fromkeys(resolve_path(root.path) for root in given)
        return cls(tuple(tops), given[0].links if given else "direct")

    def with_top(self, path: str) -> Symlinks:
        """Return the rule that also lets links lead to what lies below `path`."""
        return replace(self, within=(*self.within, path))

    def danger(self, target: str) -> str:
        """Return why no link may lead to a directory, whatever the policy; "" where one may."""
        if self._is_inside(target):
            return ""
        if any(is_within(target, top) for top in KERNEL):
            return f"a link leads to {target}: that holds no documents"
        if any(is_within(top, target) for top in (*self.roots, _find_home())):
            return f"a link leads to {target}, which is above the corpus' roots or a whole home"
        if os.path.ismount(target):
            return f"a link leads to {target}, which is a whole file system"
        return ""

    def follows(self, link: str, target: str) -> bool:
        """Return whether a link that is not dangerous is followed."""
        if self._is_inside(target) or self.policy == "any":
            return True
        return self.policy == "direct" and self.is_direct(link)

    def _is_inside(self, target: str) -> bool:
        return any(is_within(target, top) for top in (*self.roots, *self.within))

    def is_direct(self, link: str) -> bool:
        """Return whether a link lies directly in a root, or in a scope (`@name`) of npm's there."""
        directory = os.path.dirname(link)
        if os.path.basename(directory).startswith("@"):
            return directory in self.roots or os.path.dirname(directory) in self.roots
        return directory in self.roots


def _find_home() -> str:
    return resolve_path(os.path.expanduser("~"))
