"""The watcher against real files; silence is shown by a later change that is reported."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from irdaemon.source.tree import Symlinks
from irdaemon.types import Root
from irdaemon.watch import Settings, Watcher, watcher
from irdaemon.watch.backend import make_native
from irdaemon.watch.limits import (
    Mount,
    Unwatchable,
    explain_too_many,
    find_network_kind,
    list_mounts,
    read_watch_budget,
)
from irdaemon.watch.portable import ObserverBackend
from irdaemon.watch.watcher import MountTable, RootLocation, find_unwatchable
from tests.support.watching import Watching, wait_until

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="inotify")


@pytest.fixture
def watching() -> Iterator[Callable[..., Watching]]:
    started: list[Watching] = []

    def start(settings: Settings | None = None, backend=make_native) -> Watching:
        started.append(Watching(settings, backend))
        return started[-1]

    yield start
    for one in started:
        one.watcher.stop()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path.resolve() / "root"
    path.mkdir()
    return path


both = pytest.mark.parametrize("backend", [make_native, ObserverBackend])


@both
def test_a_file_written_in_a_root_is_hinted(watching, root, backend):
    (root / "a.md").write_text("one")
    w = watching(backend=backend).roots(root)
    (root / "a.md").write_text("two")
    w.heard(root / "a.md")


@both
def test_an_atomic_save_hints_the_file_it_replaces(watching, root, backend):
    (root / "a.md").write_text("one")
    w = watching(backend=backend).roots(root)
    (root / "a.tmp").write_text("two")
    os.replace(root / "a.tmp", root / "a.md")
    w.heard(root / "a.md")


@both
def test_a_deleted_file_is_hinted(watching, root, backend):
    (root / "a.md").write_text("one")
    w = watching(backend=backend).roots(root)
    (root / "a.md").unlink()
    w.heard(root / "a.md")


@both
def test_reading_a_file_is_no_change(watching, root, backend):
    (root / "a.md").write_text("one")
    w = watching(backend=backend).roots(root)
    (root / "a.md").read_text()
    w.silent_about(root / "a.md", elsewhere=root / "b.md")


@linux_only
def test_a_changed_permission_is_a_change_of_a_file_and_of_a_directory(watching, root):
    (root / "below").mkdir()
    (root / "below" / "a.md").write_text("one")
    w = watching().roots(root)
    (root / "below" / "a.md").chmod(0o600)
    w.heard(root / "below" / "a.md")
    (root / "below").chmod(0o700)
    w.heard(root / "below")


@both
def test_files_in_directories_made_later_are_hinted(watching, root, backend):
    w = watching(backend=backend).roots(root)
    (root / "new" / "deep").mkdir(parents=True)
    w.heard(root / "new")
    (root / "new" / "deep" / "a.md").write_text("one")
    wait_until(lambda: any(hint.startswith(str(root / "new" / "deep")) for hint in w.hints))


@both
def test_pruned_directories_are_silent_whether_old_or_new(watching, root, backend):
    (root / "node_modules" / "x").mkdir(parents=True)
    w = watching(backend=backend).roots(root)
    (root / "node_modules" / "x" / "a.js").write_text("one")
    (root / ".git").mkdir()
    (root / ".git" / "index").write_text("one")
    w.silent_about(root / "node_modules", elsewhere=root / "b.md")
    w.silent_about(root / ".git", elsewhere=root / "c.md")


@both
def test_our_own_files_are_silent(watching, root, backend):
    (root / "state").mkdir()
    w = watching(Settings(ignored=(str(root / "state"),)), backend).roots(root)
    (root / "state" / "ledger.db").write_text("one")
    w.silent_about(root / "state", elsewhere=root / "b.md")


@both
def test_an_edit_behind_a_symlinked_directory_is_hinted_at_its_real_path(watching, root, backend):
    outside = root.parent / "outside"
    outside.mkdir()
    (root / "link").symlink_to(outside)
    w = watching(backend=backend).roots(root)
    (outside / "a.md").write_text("one")
    w.heard(outside / "a.md")


@both
def test_a_root_remade_is_rescanned_and_watched_again(watching, root, backend):
    (root / "a.md").write_text("one")
    w = watching(backend=backend).roots(root)
    shutil.rmtree(root)
    w.heard(root)
    w.later(1)
    assert w.status()[str(root)].mode == "missing"
    root.mkdir()
    w.later(1)
    w.heard(root)
    (root / "a.md").write_text("two")
    w.heard(root / "a.md")


@both
def test_a_root_missing_at_the_start_is_watched_once_it_appears(watching, root, backend):
    late = root / "not" / "yet"
    w = watching(backend=backend).roots(late)
    assert w.status()[str(late)].mode == "missing"
    late.mkdir(parents=True)
    w.later(1)
    w.heard(late)
    (late / "a.md").write_text("one")
    w.heard(late / "a.md")
    assert w.status()[str(late)].last_event is not None


@both
def test_a_root_no_longer_set_is_silent(watching, root, backend):
    kept, gone = root / "kept", root / "gone"
    kept.mkdir()
    gone.mkdir()
    w = watching(backend=backend).roots(kept, gone)
    w.watcher.set_roots([Root(str(kept))])
    (gone / "a.md").write_text("one")
    w.silent_about(gone, elsewhere=kept / "b.md")
    assert set(w.status()) == {str(kept)}


@linux_only
def test_a_root_remade_between_two_ticks_is_watched_without_waiting(watching, root):
    w = watching().roots(root)
    root.rmdir()
    root.mkdir()
    w.heard(root)
    wait_until(lambda: w.status()[str(root)].directories == 1)
    (root / "a.md").write_text("one")
    w.heard(root / "a.md")


@linux_only
def test_a_renamed_directory_is_hinted_at_both_names_and_watched_at_the_new_one(watching, root):
    (root / "old" / "deep").mkdir(parents=True)
    w = watching().roots(root)
    (root / "old").rename(root / "new")
    w.heard(root / "old", root / "new")
    (root / "new" / "deep" / "a.md").write_text("one")
    w.heard(root / "new" / "deep" / "a.md")
    assert w.status()[str(root)].directories == 3


@linux_only
def test_a_directory_moved_out_is_no_longer_watched(watching, root):
    (root / "sub" / "deep").mkdir(parents=True)
    w = watching().roots(root)
    (root / "sub").rename(root.parent / "out")
    w.heard(root / "sub")
    (root.parent / "out" / "deep" / "a.md").write_text("one")
    w.silent_about(root / "sub", elsewhere=root / "b.md")
    assert w.status()[str(root)].directories == 1


@linux_only
def test_a_directory_moved_in_is_hinted_and_watched(watching, root):
    (root.parent / "out" / "deep").mkdir(parents=True)
    w = watching().roots(root)
    (root.parent / "out").rename(root / "sub")
    w.heard(root / "sub")
    (root / "sub" / "deep" / "a.md").write_text("one")
    w.heard(root / "sub" / "deep" / "a.md")


@linux_only
def test_pruned_directories_take_no_watches_unless_one_is_itself_a_root(watching, root):
    (root / ".venv" / "lib").mkdir(parents=True)
    w = watching().roots(root)
    assert w.status()[str(root)].directories == 1
    w.roots(root / ".venv" / "lib", root / ".venv")
    assert w.status()[str(root / ".venv")].directories == 1


@linux_only
def test_each_directory_of_nested_roots_is_watched_once_for_the_innermost(watching, root):
    (root / "inner" / "deep").mkdir(parents=True)
    w = watching().roots(root, root / "inner")
    counts = {path: watch.directories for path, watch in w.status().items()}
    assert counts == {str(root): 1, str(root / "inner"): 2}


@linux_only
def test_setting_the_same_roots_again_rescans_nothing(watching, root):
    w = watching().roots(root)
    w.watcher.set_roots([Root(str(root)), Root(str(root) + "/")])
    (root / "a.md").write_text("one")
    wait_until(lambda: w.hints)
    assert str(root) not in w.hints


@linux_only
def test_a_root_that_is_a_symlink_is_followed_when_it_is_turned_elsewhere(watching, root):
    first, second, link = root / "first", root / "second", root.parent / "link"
    first.mkdir()
    second.mkdir()
    link.symlink_to(first)
    w = watching().roots(link)
    link.unlink()
    link.symlink_to(second)
    w.later(1)
    w.heard(second)
    (second / "a.md").write_text("one")
    w.heard(second / "a.md")


@linux_only
def test_a_root_may_be_a_single_file(watching, root):
    (root / "a.md").write_text("one")
    w = watching().roots(root / "a.md")
    (root / "tmp").write_text("two")
    os.replace(root / "tmp", root / "a.md")
    w.heard(root / "a.md")
    assert str(root / "tmp") not in w.hints


@linux_only
def test_a_database_that_is_a_root_is_heard_through_its_log(watching, root):
    (root / "a.db").write_text("one")
    w = watching().roots(root / "a.db")
    (root / "a.db-wal").write_text("two")
    w.heard(root / "a.db-wal")
    with open(root / "a.db-wal", "r+"):
        pass
    w.silent_about(root / "a.db-wal", elsewhere=root / "a.db")
    assert list(w.status()) == [str(root / "a.db")]


@linux_only
def test_the_links_that_are_followed_are_known_until_the_watches_are_set_without_them(
    watching, root
):
    outside, link = root.parent / "outside", root / "link"
    outside.mkdir()
    link.symlink_to(outside)
    w = watching().roots(root)
    assert w.watcher.list_links() == {str(link): str(outside)}
    link.unlink()
    w.heard(outside)
    assert w.watcher.list_links() == {str(link): str(outside)}
    w.later(1)
    assert w.watcher.list_links() == {}


def test_a_backend_that_keeps_no_links_says_so(watching, root):
    assert watching(backend=ObserverBackend).roots(root).watcher.list_links() is None


@linux_only
def test_a_ring_of_symlinks_is_walked_once(watching, root):
    (root / "sub").mkdir()
    (root / "sub" / "up").symlink_to(root)
    w = watching().roots(root)
    assert w.status()[str(root)].directories == 2


@linux_only
def test_replacing_the_target_of_a_symlinked_file_hints_the_target_but_not_its_neighbours(
    watching, root
):
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "target.md").write_text("one")
    (root / "link.md").symlink_to(outside / "target.md")
    w = watching().roots(root)
    (outside / "neighbour.md").write_text("one")
    (outside / "tmp").write_text("two")
    os.replace(outside / "tmp", outside / "target.md")
    w.silent_about(outside / "neighbour.md", elsewhere=root / "b.md")
    wait_until(lambda: str(outside / "target.md") in w.hints)


@linux_only
def test_a_symlink_made_later_is_followed_and_one_removed_is_let_go(watching, root):
    outside = root.parent / "outside"
    outside.mkdir()
    w = watching().roots(root)
    (root / "link").symlink_to(outside)
    w.heard(root / "link", outside)
    (outside / "a.md").write_text("one")
    w.heard(outside / "a.md")
    (root / "link").unlink()
    w.heard(root / "link", outside)
    w.later(1)
    w.heard(root)
    (outside / "a.md").write_text("two")
    w.silent_about(outside, elsewhere=root / "b.md")


@linux_only
def test_the_target_directory_of_a_symlink_may_be_deleted_and_made_again(watching, root):
    outside = root.parent / "outside"
    outside.mkdir()
    (root / "link").symlink_to(outside)
    w = watching().roots(root)
    outside.rmdir()
    w.heard(outside)
    outside.mkdir()
    w.heard(outside)
    (outside / "a.md").write_text("one")
    w.heard(outside / "a.md")


@linux_only
def test_an_editors_dangling_lock_link_asks_for_no_rescan(watching, root):
    w = watching().roots(root)
    (root / ".#a.md").symlink_to("user@host.1234")
    (root / ".#a.md").unlink()
    (root / "a.md").write_text("one")
    wait_until(lambda: str(root / "a.md") in w.hints)
    w.later(1)
    (root / "b.md").write_text("one")
    wait_until(lambda: str(root / "b.md") in w.hints)
    assert str(root) not in w.hints


@linux_only
def test_a_root_with_more_directories_than_watches_is_polled_and_says_what_to_raise(watching, root):
    for number in range(5):
        (root / "large" / str(number)).mkdir(parents=True)
    (root / "small").mkdir()
    w = watching(Settings(max_watches=4, poll_interval=5)).roots(root / "large", root / "small")
    large, small = w.status()[str(root / "large")], w.status()[str(root / "small")]
    assert (large.mode, large.directories, small.mode) == ("polling", 6, "inotify")
    assert "sysctl fs.inotify.max_user_watches=" in large.reason
    w.later(6)
    w.heard(root / "large")


@linux_only
def test_a_root_that_outgrows_the_watches_is_polled_and_watched_again_once_it_fits(watching, root):
    w = watching(Settings(max_watches=4, retry_interval=60)).roots(root)
    for number in range(5):
        (root / str(number)).mkdir()
    w.heard(root / "4")
    w.later(1)
    assert w.status()[str(root)].mode == "polling"
    w.heard(root)
    for number in range(5):
        (root / str(number)).rmdir()
    w.later(61)
    assert w.status()[str(root)].mode == "inotify"
    w.heard(root)
    (root / "a.md").write_text("one")
    w.heard(root / "a.md")


@linux_only
def test_an_overflow_of_the_kernels_queue_asks_for_a_rescan_of_every_root(root):
    from irdaemon.watch.inotify import InotifyBackend

    capacity = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if capacity > 100_000:
        pytest.skip("the queue is too long to fill")
    reported: list[str] = []
    hold, held = threading.Event(), threading.Event()

    def report(path: str, top: str, its_root: str) -> None:
        reported.append(path)
        held.set()
        hold.wait(30)

    trees = InotifyBackend(report, Settings())
    trees.start()
    trees.sync({str(root): Symlinks((str(root),))}, frozenset())
    with open(root / "a", "wb", buffering=0) as a, open(root / "b", "wb", buffering=0) as b:
        held.wait(5)
        for _ in range(capacity):  # two files in turn: equal neighbours would be merged
            a.write(b".")
            b.write(b".")
    hold.set()
    wait_until(lambda: str(root) in reported, 20)
    assert trees.stale
    trees.stop()


def test_forced_polling_hints_the_root_again_and_again(watching, root):
    w = watching(Settings(polling=True, poll_interval=5)).roots(root)
    assert w.status()[str(root)].mode == "polling"
    w.later(6)
    w.heard(root)
    w.later(6)
    w.heard(root)


def test_nothing_is_handed_over_after_the_stop(watching, root):
    w = watching().roots(root)
    w.watcher.stop()
    (root / "a.md").write_text("one")
    w.later(60)
    assert w.hints == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_receiver_that_raises_costs_a_rescan_not_the_watching(root):
    calls: list[tuple[str, ...]] = []

    def receive(paths: tuple[str, ...]) -> None:
        calls.append(paths)
        if len(calls) == 1:
            raise RuntimeError("once")

    watcher = Watcher(receive)
    watcher.start()
    watcher.set_roots([Root(str(root))])
    wait_until(lambda: len(calls) == 1)

    def ticked() -> bool:
        watcher.tick(time.monotonic())
        return len(calls) > 1

    wait_until(ticked)
    assert calls[1] == (str(root),)
    watcher.stop()


class Staged:
    """A backend whose troubles are set by the test."""

    mode = "observer"

    def __init__(self, trouble: dict[str, object]):
        self.trouble = trouble
        self.stale = False
        self.living = True
        self.synced: list[tuple[str, ...]] = []

    def start(self) -> None:
        if "start" in self.trouble:
            raise OSError(self.trouble["start"], "too many")

    def stop(self) -> None:
        self.living = False

    def alive(self) -> bool:
        return self.living

    def sync(
        self, roots: Mapping[str, Symlinks], excluded: frozenset[str]
    ) -> dict[str, Unwatchable]:
        self.stale = False
        self.synced.append(tuple(roots))
        return {path: Unwatchable("full") for path in roots if path in self.trouble}

    def forget(self, root: str) -> None:
        pass

    def count_directories(self, root: str) -> int:
        return 7

    def receives_events(self, timeout: float) -> bool:
        return "deaf" not in self.trouble


def staged(made: list[Staged], trouble: dict[str, object]) -> Callable[..., Staged]:
    def make(report: object, settings: Settings) -> Staged:
        made.append(Staged(trouble))
        return made[-1]

    return make


def test_a_backend_that_died_is_replaced_and_every_root_rescanned(watching, root):
    made: list[Staged] = []
    w = watching(backend=staged(made, {})).roots(root)
    made[0].living = False
    w.later(1)
    w.heard(root)
    assert made[1].synced == [(str(root),)]


def test_stale_watches_are_set_anew_and_every_root_rescanned(watching, root):
    made: list[Staged] = []
    w = watching(backend=staged(made, {})).roots(root)
    before = len(made[0].synced)
    made[0].stale = True
    w.later(1)
    w.heard(root)
    assert len(made[0].synced) == before + 1


def test_without_an_inotify_instance_roots_are_polled_until_there_is_one(watching, root):
    made: list[Staged] = []
    trouble: dict[str, object] = {"start": errno.EMFILE}
    settings = Settings(retry_interval=60, poll_interval=5)
    w = watching(settings, staged(made, trouble)).roots(root)
    assert w.status()[str(root)].mode == "polling"
    assert "max_user_instances" in w.status()[str(root)].reason
    w.later(6)
    w.heard(root)
    del trouble["start"]
    w.later(61)
    w.heard(root)
    assert (w.status()[str(root)].mode, w.status()[str(root)].directories) == ("observer", 7)


def test_a_backend_that_reads_no_events_is_replaced_and_every_root_rescanned(watching, root):
    made: list[Staged] = []
    trouble: dict[str, object] = {}
    settings = Settings(probe_interval=10, failed_probes=3)
    w = watching(settings, staged(made, trouble)).roots(root)
    trouble["deaf"] = True
    w.later(11)
    w.later(11)
    assert len(made) == 1
    w.later(11)
    w.heard(root)
    assert made[1].synced == [(str(root),)]
    assert w.status()[str(root)].mode == "observer"


def test_one_try_that_is_heard_ends_the_doubt(watching, root):
    made: list[Staged] = []
    trouble: dict[str, object] = {}
    w = watching(Settings(probe_interval=10, failed_probes=2), staged(made, trouble)).roots(root)
    for deaf in (True, False, True, False):
        trouble.pop("deaf", None)
        trouble.update({"deaf": True} if deaf else {})
        w.later(11)
    assert len(made) == 1


@linux_only
def test_inotify_reads_its_own_cookies_and_an_unwritable_place_for_them_proves_nothing(
    watching, root, tmp_path
):
    from irdaemon.watch.inotify import InotifyBackend

    place = tmp_path / "cookies"
    trees = InotifyBackend(lambda path, top, its_root: None, Settings(cookies=str(place)))
    trees.start()
    trees.sync({str(root): Symlinks((str(root),))}, frozenset())
    assert trees.receives_events(5)
    trees._cookies.directory = "/dev/null"
    assert trees.receives_events(0)
    trees.stop()


def test_rewatch_requested_watches_are_set_anew_by_a_new_backend(watching, root):
    made: list[Staged] = []
    w = watching(backend=staged(made, {})).roots(root)
    w.watcher.rewatch()
    w.later(1)
    w.heard(root)
    w.later(1)
    assert [backend.living for backend in made] == [False, True]


def test_the_status_is_told_while_a_tree_is_being_planted(watching, root):
    made: list[Staged] = []
    w = watching(backend=staged(made, {})).roots(root)
    told = []
    with w.watcher._lock:
        asking = threading.Thread(target=lambda: told.append(w.watcher.report_roots()))
        asking.start()
        asking.join(5)
    assert told[0][0].path == str(root)


def test_what_is_mounted_below_a_root_is_noticed_and_elsewhere_is_not(tmp_path):
    table = tmp_path / "mounts"
    table.write_text("a / ext4 rw 0 0\nb /notes ext4 rw 0 0\n")
    mounts = MountTable(str(table))
    assert mounts.find_changed(["/notes"]) == ()
    table.write_text(
        "a / ext4 rw 0 0\nb /notes ext4 rw 0 0\nc /notes/x tmpfs rw 0 0\nd /y tmpfs 0\n"
    )
    assert mounts.find_changed(["/notes"]) == ("/notes/x",)
    assert mounts.find_changed(["/notes"]) == ()
    table.write_text("a / ext4 rw 0 0\n")
    assert mounts.find_changed(["/notes"]) == ("/notes/x",)
    mounts.close()


def test_a_network_file_system_within_a_root_is_polled_separately(monkeypatch, root):
    inside = Mount(str(root / "far"), "nfs4")
    monkeypatch.setattr(watcher, "list_mounts", lambda: (Mount("/", "ext4"), inside))
    found = find_unwatchable((RootLocation(str(root), (1, 2)),), Settings())
    assert list(found) == [str(root / "far")]
    assert "nfs4" in found[str(root / "far")].reason


def test_where_other_programs_hold_the_watches_the_reason_says_so():
    assert "other programs" in explain_too_many(80, 1000).reason
    assert "than the 1,000" in explain_too_many(2000, 1000).reason


def test_a_refused_root_is_not_tried_again_before_its_time(watching, root):
    made: list[Staged] = []
    other = root / "other"
    w = watching(Settings(retry_interval=60), staged(made, {str(root): True})).roots(root)
    other.mkdir()
    w.watcher.set_roots([Root(str(root)), Root(str(other))])
    assert made[0].synced[-1] == (str(other),)


def test_a_network_file_system_is_told_by_its_nearest_mount():
    mounts = (Mount("/", "ext4"), Mount("/home", "nfs4"), Mount("/home/me/ram", "tmpfs"))
    assert find_network_kind("/home/me/notes", mounts) == "nfs4"
    assert find_network_kind("/home/me/ram/x", mounts) == ""
    assert find_network_kind("/homes", mounts) == ""


def test_of_two_mounts_at_one_place_the_later_counts():
    assert find_network_kind("/m/x", (Mount("/m", "nfs"), Mount("/m", "ext4"))) == ""


def test_mounts_with_spaces_in_their_paths_are_read(tmp_path):
    (tmp_path / "mounts").write_text("host:/a /mnt/my\\040notes fuse.sshfs rw 0 0\nbroken\n")
    assert list_mounts(str(tmp_path / "mounts")) == (Mount("/mnt/my notes", "fuse.sshfs"),)


def test_a_quarter_of_the_users_watches_is_left_to_other_programs(tmp_path):
    (tmp_path / "limit").write_text("8192\n")
    assert read_watch_budget(str(tmp_path / "limit")) == 6144


def test_a_system_without_a_watch_limit_has_no_budget(tmp_path):
    assert read_watch_budget(str(tmp_path / "none")) is None
    assert list_mounts(str(tmp_path / "none")) == ()
