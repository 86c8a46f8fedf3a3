"""A watcher at work, and what it hands over."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from irdaemon.source.opening import is_within
from irdaemon.types import Root
from irdaemon.watch import RootWatch, Settings, Watcher
from irdaemon.watch.backend import make_native


def wait_until(predicate: Callable[[], object], seconds: float = 5.0) -> None:
    deadline = time.monotonic() + seconds
    while not predicate():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.002)


class Watching:
    """A started watcher and what it handed over."""

    def __init__(self, settings: Settings | None = None, backend=make_native):
        self.hints: list[str] = []
        self.watcher = Watcher(self.hints.extend, settings, backend)
        self.now = time.monotonic()
        self.watcher.start()

    def roots(self, *paths: Path) -> Watching:
        """Watch these, and wait for the rescan each is due."""
        self.watcher.set_roots(Root(str(path)) for path in paths)
        real = [os.path.realpath(path) for path in paths]
        wait_until(lambda: all(any(is_within(r, hint) for hint in self.hints) for r in real))
        self.calm()
        return self

    def heard(self, *paths: Path) -> None:
        """Wait until each of these paths was hinted and no more comes, then forget all hints."""
        wait_until(lambda: {os.path.realpath(path) for path in paths} <= set(self.hints))
        self.calm()

    def calm(self) -> None:
        """Forget all hints once none is left that could absorb what comes next."""
        seen = -1
        while seen != len(self.hints):
            seen = len(self.hints)
            time.sleep(0.05)
        self.hints.clear()

    def later(self, seconds: float) -> None:
        self.now += seconds
        self.watcher.tick(self.now)

    def silent_about(self, silent: Path, elsewhere: Path) -> None:
        """Show that nothing at or under `silent` was hinted by the time `elsewhere` is."""
        elsewhere.write_text("heard")
        wait_until(lambda: str(elsewhere) in self.hints)
        assert [hint for hint in self.hints if hint.startswith(str(silent))] == []

    def status(self) -> dict[str, RootWatch]:
        return {root.path: root for root in self.watcher.report_roots()}
