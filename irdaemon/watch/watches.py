"""The register of kernel watches: one per real directory, each known by path and by descriptor.

watchdog's own recursive watch cannot leave directories out, keeps stale paths after a move and
swallows a reached limit; so the directories are registered one by one with its `InotifyFD`, which
owns the file descriptor and the reading thread. Its module, `inotify_c`, is not documented, but
watchdog's public interface has no watch of a single directory with a mask of its own. So
pyproject.toml requires watchdog 7, and tests/unit/watch cover every call.
"""

from __future__ import annotations

import errno
import os
import threading
from dataclasses import dataclass
from itertools import count

from watchdog.observers.inotify_c import (
    CallbackId,
    InotifyConstants,
    InotifyFD,
    Mask,
    WatchCallback,
    WatchDescriptor,
)

from irdaemon.source.opening import is_within
from irdaemon.watch.limits import LimitReached

# No IN_OPEN and no IN_CLOSE_NOWRITE: reading a changed file must not count as a change. IN_ATTRIB
# reports permissions: an unreadable file may have become readable.
MASK = Mask(
    InotifyConstants.IN_CREATE
    | InotifyConstants.IN_MODIFY
    | InotifyConstants.IN_ATTRIB
    | InotifyConstants.IN_CLOSE_WRITE
    | InotifyConstants.IN_DELETE
    | InotifyConstants.IN_MOVE
    | InotifyConstants.IN_DELETE_SELF
    | InotifyConstants.IN_MOVE_SELF
    | InotifyConstants.IN_ONLYDIR
    | InotifyConstants.IN_DONT_FOLLOW
    | InotifyConstants.IN_EXCL_UNLINK
)


@dataclass(slots=True)
class Watch:
    """One watched directory.

    `root` is the root it is watched for, `top` where the walk that found it began (the root or
    the target of a symlink). With `names` (name -> its root) only these children matter.
    """

    path: str
    root: str
    top: str
    descriptor: WatchDescriptor
    callback: CallbackId
    seen: int
    names: dict[str, str] | None = None


class Watches:
    """Add, find and drop watches; usable from several threads.

    Raises OSError if inotify cannot be started.
    """

    def __init__(self, callback: WatchCallback, budget: int | None):
        self._callback = callback
        self._budget = budget
        self._inotify = InotifyFD()
        self._lock = threading.RLock()
        self._by_path: dict[str, Watch] = {}
        self._by_descriptor: dict[int, Watch] = {}
        self._callbacks = count()
        self._generation = 0
        self._inotify.start()

    def close(self) -> None:
        """Drop every watch and stop the reading thread."""
        self._inotify.stop()
        if self._inotify.is_alive():
            self._inotify.join()

    def alive(self) -> bool:
        """Return whether events are being read."""
        return self._inotify.is_alive()

    def find(self, descriptor: int) -> Watch | None:
        """Return the watch that an event came from, None if it was dropped meanwhile."""
        return self._by_descriptor.get(descriptor)

    def holds(self, path: str) -> bool:
        """Return whether a directory is watched as a whole."""
        watch = self._by_path.get(path)
        return watch is not None and watch.names is None

    def count(self, root: str) -> int:
        """Return how many directories are watched as a whole for `root`."""
        with self._lock:
            return sum(w.root == root and w.names is None for w in self._by_path.values())

    def add(self, path: str, root: str, top: str) -> bool:
        """Watch a whole directory; return whether its content must still be walked.

        Raises LimitReached. A directory that has vanished or cannot be read is skipped.
        """
        with self._lock:
            watch = self._by_path.get(path)
            if watch is None:
                return self._register(path, root, top) is not None
            walked = watch.names is None and watch.seen == self._generation
            if not walked:
                watch.root, watch.top, watch.names = root, top, None
                watch.seen = self._generation
            return not walked

    def add_name(self, path: str, root: str) -> None:
        """Watch the directory above `path` for events of that child only."""
        directory, name = os.path.split(path)
        with self._lock:
            watch = self._by_path.get(directory) or self._register(directory, root, directory, {})
            if watch is None or (watch.names is None and watch.seen == self._generation):
                return
            if watch.names is None or watch.seen < self._generation:
                watch.names, watch.seen = {}, self._generation
            watch.names[name] = root

    def begin_generation(self) -> None:
        """Begin a generation; `sweep` then drops watches that were not added again."""
        with self._lock:
            self._generation += 1

    def sweep(self) -> None:
        """Drop every watch not added in this generation."""
        with self._lock:
            old = [w for w in self._by_path.values() if w.seen < self._generation]
            self._drop(old)

    def drop_one(self, path: str) -> None:
        """Forget the watch of a directory that is gone."""
        with self._lock:
            watch = self._by_path.get(path)
            if watch is not None:
                self._drop([watch])

    def drop_tree(self, top: str) -> None:
        """Drop the watches of a directory and everything below."""
        with self._lock:
            self._drop([w for w in self._by_path.values() if is_within(w.path, top)])

    def drop_root(self, root: str) -> None:
        """Drop the watches on directories held for a root."""
        with self._lock:
            self._drop([w for w in self._by_path.values() if w.root == root and w.names is None])

    def forget_descriptor(self, descriptor: int) -> None:
        """Forget a watch that the kernel removed."""
        with self._lock:
            watch = self._by_descriptor.pop(descriptor, None)
            if watch is not None and self._by_path.get(watch.path) is watch:
                del self._by_path[watch.path]

    def _register(
        self, path: str, root: str, top: str, names: dict[str, str] | None = None
    ) -> Watch | None:
        callback = CallbackId(next(self._callbacks))
        descriptor = self._ask_kernel(path, callback)
        if descriptor is None:
            return None
        # The same inode under another path: a directory found at its new path before the event of
        # its move.
        former = self._by_descriptor.get(descriptor)
        if former is not None:
            self._drop([former])
        watch = Watch(path, root, top, descriptor, callback, self._generation, names)
        self._by_path[path] = self._by_descriptor[descriptor] = watch
        return watch

    def _ask_kernel(self, path: str, callback: CallbackId) -> WatchDescriptor | None:
        if self._budget is not None and len(self._by_path) >= self._budget:
            raise LimitReached
        try:
            found = self._inotify.add_callback(os.fsencode(path), MASK, self._callback, callback)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EMFILE, errno.ENOMEM):
                raise LimitReached from error
            return None
        if found < 0:  # how watchdog reports a directory that may not be read
            self._inotify.remove_callbacks([(found, callback)])
            return None
        return found

    def _drop(self, watches: list[Watch]) -> None:
        for watch in watches:
            if self._by_path.get(watch.path) is watch:
                del self._by_path[watch.path]
            self._by_descriptor.pop(watch.descriptor, None)
        self._inotify.remove_callbacks([(w.descriptor, w.callback) for w in watches])
