"""Watching: file-system events under the roots become dirty hints.

A hint is a real path where something may have changed. The receiver always reconciles it against a
scan, so a false one is cheap; where events may have been lost the hint is the root itself, which
requests a rescan. On Linux every directory has its own inotify watch, so that pruned directories
cost none and symlinked ones are followed; elsewhere watchdog's observer is used; where neither sees
changes (network file systems, exhausted limits) the root is polled, and status has the reason.
"""

from __future__ import annotations

from irdaemon.types import RootWatch
from irdaemon.watch.debounce import Debouncer
from irdaemon.watch.limits import Settings
from irdaemon.watch.watcher import Watcher

__all__ = ["Debouncer", "RootWatch", "Settings", "Watcher"]
