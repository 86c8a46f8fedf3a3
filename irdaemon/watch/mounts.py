"""Detect mounts and unmounts below the roots, for which inotify has no event."""

from __future__ import annotations

import contextlib
import select
from collections.abc import Iterable

from irdaemon.source.opening import at_or_under
from irdaemon.watch.limits import MOUNTS, Mount, mounted


class MountTable:
    """Keep the mounts below some roots, and report where they change."""

    def __init__(self, mounts_file: str = MOUNTS):
        self._path = mounts_file
        self._below: frozenset[Mount] = frozenset()
        self._poller: select.poll | None = None
        with contextlib.suppress(OSError, AttributeError):
            self._file = open(mounts_file, "rb")  # noqa: SIM115 (open as long as we watch)
            self._poller = select.poll()
            # The kernel marks the table as exceptional whenever it has changed.
            self._poller.register(self._file, select.POLLPRI)

    def close(self) -> None:
        """Stop watching the table."""
        if self._poller is not None:
            self._poller = None
            self._file.close()

    def may_have_changed(self) -> bool:
        """Return whether anything was mounted or unmounted anywhere since the last call."""
        return self._poller is not None and bool(self._poller.poll(0))

    def changed(self, roots: Iterable[str]) -> tuple[str, ...]:
        """Return where below the roots something was mounted or unmounted since the last call."""
        before, tops = self._below, tuple(roots)
        self._below = frozenset(
            mount
            for mount in mounted(self._path)
            if any(mount.path != top and at_or_under(mount.path, top) for top in tops)
        )
        return tuple(sorted({mount.path for mount in before ^ self._below}))
