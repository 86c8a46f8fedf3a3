"""Watching as on macOS: watchdog's own FSEvents observer, with the system's stream replaced.

The stream is what macOS calls back with paths, inodes and flags; all that watchdog and the watcher
make of these is their own. Files are changed for real, and the flags are those that macOS sends.
"""

import importlib
import os
import sys
import threading
import time
from types import ModuleType

import pytest

from irdaemon.watch import portable
from irdaemon.watch.portable import ObserverBackend
from tests.support.watching import Watching, wait_until

CREATED, REMOVED, META, RENAMED, MODIFIED = 0x100, 0x200, 0x400, 0x800, 0x1000
ROOT_CHANGED, XATTR, FILE, DIRECTORY = 0x20, 0x8000, 0x10000, 0x20000


class NativeEvent:
    """An event as watchdog's module of C gives it."""

    def __init__(self, path, inode, flags, event_id):
        self.path, self.inode, self.flags, self.event_id = path, inode, flags, event_id
        self.is_created = bool(flags & CREATED)
        self.is_removed = bool(flags & REMOVED)
        self.is_renamed = bool(flags & RENAMED)
        self.is_modified = bool(flags & MODIFIED)
        self.is_inode_meta_mod = bool(flags & META)
        self.is_xattr_mod = bool(flags & XATTR)
        self.is_owner_change = False
        self.is_root_changed = bool(flags & ROOT_CHANGED)
        self.is_directory = bool(flags & DIRECTORY)


class Stream:
    """An FSEventStream: it runs in the emitter's thread until it is stopped."""

    def __init__(self, streams, paths):
        self.path = paths[0]
        self._ended = threading.Event()
        self._callback = None
        streams.append(self)

    def run(self, callback, started):
        self._callback = callback
        started()
        self._ended.wait()

    def stop(self):
        self._ended.set()

    def send(self, *events):
        """Call back with (path, inode, flags) of each."""
        paths, inodes, flags = zip(*events, strict=True)
        self._callback(list(map(str, paths)), inodes, flags, range(len(paths)))


@pytest.fixture
def streams(monkeypatch):
    """Have the backend's observer be that of macOS; return the streams that it opens."""
    opened = []
    module = ModuleType("_watchdog_fsevents")
    module.NativeEvent = NativeEvent
    module.Stream = lambda paths, latency=0.0: Stream(opened, paths)
    monkeypatch.setitem(sys.modules, "_watchdog_fsevents", module)
    fsevents = importlib.import_module("watchdog.observers.fsevents")
    monkeypatch.setattr(fsevents, "_fsevents", module)
    monkeypatch.setattr(portable, "Observer", fsevents.FSEventsObserver)
    yield opened
    sys.modules.pop("watchdog.observers.fsevents", None)


@pytest.fixture
def root(tmp_path):
    path = tmp_path.resolve() / "root"
    path.mkdir()
    return path


@pytest.fixture
def watched(streams, root):
    """Give a watcher of the root, and the one stream that it opened."""
    watching = Watching(backend=ObserverBackend).roots(root)
    (stream,) = streams
    assert stream.path == str(root)
    yield watching, stream
    watching.watcher.stop()


def inode(path):
    return os.stat(path).st_ino


def write(path, text="one"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_file_that_is_written_is_hinted_whatever_flags_were_coalesced(watched, root):
    watching, stream = watched
    note = write(root / "a.md")
    for flags in (CREATED, MODIFIED, CREATED | MODIFIED | XATTR):
        stream.send((note, inode(note), flags | FILE))
        watching.heard(note)


def test_an_atomic_save_hints_the_file_that_it_replaces(watched, root):
    watching, stream = watched
    note, saved = write(root / "a.md"), write(root / "a.tmp", "two")
    number = inode(saved)
    os.replace(saved, note)
    stream.send((saved, number, RENAMED | FILE), (note, number, RENAMED | FILE))
    watching.heard(saved, note)


def test_a_deleted_file_is_hinted_also_where_its_whole_life_is_one_event(watched, root):
    watching, stream = watched
    note = write(root / "a.md")
    number = inode(note)
    note.unlink()
    stream.send((note, number, REMOVED | FILE))
    watching.heard(note)
    stream.send((root / "b.md", 7, CREATED | MODIFIED | REMOVED | FILE))
    watching.heard(root / "b.md")


def test_what_is_moved_in_from_elsewhere_is_hinted_with_all_below_and_moved_out_too(
    watched, root, tmp_path
):
    watching, stream = watched
    write(tmp_path / "outside" / "deep" / "a.md")
    os.rename(tmp_path / "outside", root / "in")
    number = inode(root / "in")
    stream.send((root / "in", number, RENAMED | DIRECTORY))
    watching.heard(root / "in")
    os.rename(root / "in", tmp_path / "out")
    stream.send((root / "in", number, RENAMED | DIRECTORY))
    watching.heard(root / "in")


def test_a_changed_permission_is_a_change(watched, root):
    watching, stream = watched
    note = write(root / "a.md")
    note.chmod(0o600)
    stream.send((note, inode(note), META | FILE))
    watching.heard(note)


def test_pruned_directories_are_silent(watched, root):
    watching, stream = watched
    silent, note = write(root / "node_modules" / "x" / "a.js"), write(root / "b.md")
    stream.send((silent, inode(silent), MODIFIED | FILE), (note, inode(note), MODIFIED | FILE))
    watching.heard(note)
    assert not [hint for hint in watching.hints if "node_modules" in hint]


def test_a_root_is_heard_by_the_name_that_it_has_on_disk(streams, root, monkeypatch):
    on_disk = str(root.with_name("ROOT"))
    monkeypatch.setattr(portable, "find_spelling", lambda path: path.replace(str(root), on_disk))
    watching = Watching(backend=ObserverBackend).roots(root)
    note = write(root / "a.md")
    streams[0].send((f"{on_disk}/a.md", inode(note), MODIFIED | FILE))
    watching.heard(note)
    watching.watcher.stop()


def test_the_name_on_disk_is_asked_of_the_system(root, monkeypatch):
    assert portable.find_spelling(str(root)) == str(root)  # Linux has no such question
    monkeypatch.setattr(portable.fcntl, "F_GETPATH", 50, raising=False)
    answer = b"/Users/Ann/Notes".ljust(1_024, b"\0")
    monkeypatch.setattr(portable.fcntl, "fcntl", lambda descriptor, command, room: answer)
    assert portable.find_spelling(str(root)) == "/Users/Ann/Notes"
    assert portable.find_spelling("/no/such/place") == "/no/such/place"


def test_a_root_that_is_moved_away_ends_the_stream_and_one_that_is_back_is_watched_again(
    watched, streams, root
):
    watching, stream = watched
    root.rename(root.with_name("gone"))
    stream.send((root, 1, ROOT_CHANGED))
    root.mkdir()

    def is_watched_again():
        watching.watcher.tick(time.monotonic())
        return len(streams) > 1 and streams[-1].path == str(root)

    wait_until(is_watched_again)
    wait_until(lambda: streams[-1]._callback)
    watching.calm()
    note = write(root / "a.md")
    streams[-1].send((note, inode(note), CREATED | FILE))
    watching.heard(note)


def test_a_root_that_the_system_does_not_watch_is_polled(streams, root, monkeypatch):
    def refuse(stream, callback, started):
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(Stream, "run", refuse)
    watching = Watching(backend=ObserverBackend)
    watching.roots(root)
    (status,) = watching.status().values()
    assert (status.mode, "Cannot allocate memory" in status.reason) == ("polling", True)
    watching.watcher.stop()


def test_a_stream_that_ends_by_itself_is_replaced_and_what_was_missed_is_scanned(
    watched, streams, root
):
    watching, stream = watched
    stream.stop()

    def is_watched_again():
        watching.watcher.tick(time.monotonic())
        return len(streams) > 1 and str(root) in watching.hints

    wait_until(is_watched_again)
