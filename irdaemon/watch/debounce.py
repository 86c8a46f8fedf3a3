"""Decide when waiting paths are handed over. Pure: the time is an argument.

An editor's atomic save touches a temporary file and then, perhaps after a slow fsync, renames it
over the real one. So not only the first path of a burst is due at once but the first few distinct
ones; otherwise every atomic save would pay the settling time.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from math import inf
from os.path import dirname


@dataclass(slots=True)
class Debouncer:
    """Combine paths into few hand-overs.

    The first `eager` distinct paths after `settle` seconds of quiet are due at once. Everything
    else waits until nothing was added for `settle` seconds, but at most `max_wait` after the first
    waiting path. More than `limit` waiting paths of one top are replaced by that top.
    """

    settle: float = 0.02
    max_wait: float = 2.0
    eager: int = 4
    limit: int = 512
    _waiting: dict[str, str] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)
    _burst: set[str] = field(default_factory=set)
    _first: float = 0.0
    _last: float = -inf
    _urgent: float = inf

    def add(self, path: str, now: float, top: str = "") -> None:
        """Add a path that changed; `top` is the ancestor that may replace it ("": none)."""
        self._note_time(path, now)
        if path in self._waiting or _is_covered(path, self._waiting):
            return
        self._waiting[path] = top
        self._counts[top] = self._counts.get(top, 0) + 1
        if top and self._counts[top] > self.limit:
            self._collapse(top)

    def take_due(self, now: float) -> tuple[str, ...]:
        """Return the paths to hand over now, sorted, without paths below others."""
        deadline = self.find_next_due()
        if deadline is None or now < deadline:
            return ()
        paths = sorted(path for path in self._waiting if not _is_covered(path, self._waiting))
        self._waiting.clear()
        self._counts.clear()
        self._urgent = inf
        return tuple(paths)

    def make_due(self, now: float) -> None:
        """Make all waiting paths due now."""
        self._urgent = min(self._urgent, now)

    def find_next_due(self) -> float | None:
        """Return when `take_due` will next return paths, None if nothing waits."""
        if not self._waiting:
            return None
        return min(self._urgent, self._last + self.settle, self._first + self.max_wait)

    def _note_time(self, path: str, now: float) -> None:
        if not self._waiting:
            self._first = now
            if now - self._last >= self.settle:
                self._burst.clear()
        if path not in self._burst and len(self._burst) < self.eager:
            self._burst.add(path)
            self._urgent = min(self._urgent, now)
        self._last = now

    def _collapse(self, top: str) -> None:
        for path in [path for path, its_top in self._waiting.items() if its_top == top]:
            del self._waiting[path]
        self._waiting[top] = top
        self._counts[top] = 1


def _is_covered(path: str, waiting: Container[str]) -> bool:
    return any(ancestor in waiting for ancestor in _list_ancestors(path))


def _list_ancestors(path: str) -> Iterator[str]:
    above = dirname(path)
    while above != path:
        yield above
        path, above = above, dirname(above)
