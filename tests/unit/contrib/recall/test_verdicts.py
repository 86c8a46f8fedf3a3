"""Whether what a turn was about is still so: its files, names and commits."""

import os
from itertools import count

import pytest

from irdaemon.contrib.recall import files
from irdaemon.contrib.recall.dating import date_file, list_named
from irdaemon.contrib.recall.files import Look, Looker, read_file
from irdaemon.contrib.recall.history import hash_blob
from irdaemon.contrib.recall.store import RecallStore, Unlooked
from irdaemon.contrib.recall.verdicts import Judge
from tests.support.recall import NOW, done_turn


class Recalled:
    """A turn that touched files of a project, looked at when it ended."""

    def __init__(self, root):
        self.root = root
        root.mkdir()
        self.path = str(root.parent / "recall.sqlite")
        self.looker = Looker(lambda: [str(root)])

    def write(self, name, text, at=NOW):
        (self.root / name).write_text(text)
        os.utime(self.root / name, (at, at))
        return str(self.root / name)

    def touch(self, *paths, named=(), commits=(), git=lambda touch: ""):
        turn = done_turn("t", files=dict.fromkeys(paths, True), commits=commits)
        store = RecallStore(self.path)
        store.put_turns("sessions", "S", [turn], False)
        look = self.looker.look()
        found = store.list_unlooked(str(self.root), 100)
        store.put_states(
            (each.turn, date_file(read_file(look, each.path), git, each, named)) for each in found
        )
        store.close()

    def judge(self, reads=True, clock=lambda: 0.0):
        judge = Judge(self.path, self.looker, clock)
        (verdict,) = judge.judge([("sessions", "t")], reads=reads)
        return verdict


@pytest.fixture
def recalled(tmp_path):
    return Recalled(tmp_path / "app")


def test_what_is_as_it_was_holds(recalled):
    recalled.touch(recalled.write("p.py", "1"), recalled.write("q.py", "2"))
    verdict = recalled.judge()
    assert (verdict.state, verdict.files, verdict.changed) == ("holds", 2, ())


def test_a_file_with_other_content_changed(recalled):
    path = recalled.write("p.py", "1")
    recalled.touch(path, recalled.write("q.py", "2"))
    recalled.write("p.py", "3", NOW + 60)
    verdict = recalled.judge()
    assert (verdict.state, verdict.files, verdict.changed) == ("changed", 2, (path,))


def test_a_file_that_was_written_anew_with_the_same_content_holds(recalled):
    recalled.touch(recalled.write("p.py", "1"))
    recalled.write("p.py", "1", NOW + 60)
    assert recalled.judge().state == "holds"


def test_a_turn_whose_files_are_all_gone_is_gone(recalled):
    path, other = recalled.write("p.py", "1"), recalled.write("q.py", "2")
    recalled.touch(path, other)
    os.unlink(path)
    assert (recalled.judge().state, recalled.judge().gone) == ("changed", (path,))
    os.unlink(other)
    os.mkdir(other)
    assert (recalled.judge().state, recalled.judge().gone) == ("gone", (path, other))


def test_a_name_that_no_touched_file_has_any_more_is_lost(recalled):
    recalled.touch(
        recalled.write("p.py", "def parse_line(): ...\ndef read_all(): ..."),
        recalled.write("q.py", "read_all()"),
        named=["parse_line", "read_all", "elsewhere_too"],
    )
    recalled.write("p.py", "def parse_lines(): ...", NOW + 60)
    assert recalled.judge().lost_symbols == ("parse_line",)


def test_names_are_those_in_code_marks_that_are_no_plain_words():
    text = "`parse_line` and `Reader.readAll()`, `main()` not `make` or parse_other or `a b_c`"
    assert list_named(text) == ["parse_line", "readAll", "main"]


def test_git_tells_what_a_file_was_that_was_written_since(recalled):
    path = recalled.write("p.py", "now", NOW + 3_600)
    recalled.touch(path, git=lambda touch: hash_blob(b"then"))
    assert recalled.judge().changed == (path,)


def test_without_git_a_file_is_compared_with_what_it_was_when_it_was_first_looked_at(recalled):
    path = recalled.write("p.py", "now", NOW + 3_600)
    recalled.touch(path)
    assert recalled.judge().state == "holds"
    recalled.write("p.py", "later", NOW + 7_200)
    assert recalled.judge().changed == (path,)


def test_git_is_not_asked_of_a_file_that_was_not_written_since(recalled):
    def refuse(touch: Unlooked) -> str:
        raise AssertionError(touch.path)

    recalled.touch(recalled.write("p.py", "1", NOW + 9), git=refuse)
    assert recalled.judge().state == "holds"


def test_a_file_that_was_never_seen_is_not_counted(recalled):
    recalled.touch(recalled.write("p.py", "1"), str(recalled.root / "never.py"))
    assert recalled.judge().files == 1


def test_nothing_out_of_a_project_or_behind_a_link_is_looked_at(recalled, tmp_path):
    outside = tmp_path / "outside.py"
    outside.write_text("1")
    os.symlink(outside, recalled.root / "link.py")
    os.symlink(tmp_path, recalled.root / "up")
    look = recalled.looker.look()
    for path in (outside, recalled.root / "link.py", recalled.root / "up" / "outside.py"):
        assert look.check_presence(str(path)).presence == "unknown", path
    assert look.check_presence(f"{recalled.root}/../outside.py").presence == "unknown"


def test_a_file_on_a_network_mount_is_not_looked_at(recalled, monkeypatch):
    path = recalled.write("p.py", "1")
    mounts = [("/", "ext4", "/dev/sda"), (str(recalled.root), "nfs4", "host:/export")]
    monkeypatch.setattr(files, "read_mounts", lambda: mounts)
    assert recalled.looker.look().check_presence(path).presence == "unknown"


@pytest.mark.parametrize("name", [".env", ".env.local", "id_rsa", "server.pem", "secrets.yaml"])
def test_a_file_that_holds_secrets_by_its_name_is_not_read(recalled, name):
    path, look = recalled.write(name, "A=1"), recalled.looker.look()
    now = look.read(path, look.check_presence(path))
    assert (now.presence, now.blob, now.content) == ("there", "", b"")


def test_a_large_file_is_not_read_while_a_client_waits(recalled):
    path = recalled.write("p.bin", "1" * 300_000)
    recalled.touch(path)
    assert recalled.judge().state == "holds"
    recalled.write("p.bin", "2" * 300_000, NOW + 60)
    assert recalled.judge() is None


def test_what_there_is_no_time_for_is_not_counted(recalled):
    recalled.touch(*(recalled.write(f"{n}.py", "1") for n in range(9)))
    clock = count()
    assert recalled.judge(clock=lambda: next(clock) * 0.001).files < 9


def test_a_turn_of_which_nothing_is_known_has_no_verdict(recalled):
    assert recalled.judge() is None
    recalled.touch()
    assert recalled.judge() is None


def test_a_damaged_file_gives_no_verdict(recalled, tmp_path):
    (tmp_path / "recall.sqlite").write_bytes(b"SQLite format 3\0" + b"x" * 4_096)
    assert recalled.judge() is None


def test_where_no_file_is_to_be_read_a_changed_one_counts_once_it_was_read_elsewhere(
    recalled, monkeypatch
):
    path = recalled.write("p.py", "def parse_line(): ...")
    recalled.touch(path, recalled.write("q.py", "2"), named=["parse_line"])
    with monkeypatch.context() as patched:
        patched.setattr(Look, "read", lambda *given: pytest.fail(f"read {given[1]}"))
        assert recalled.judge(reads=False).files == 2
        recalled.write("p.py", "def parse_rows(): ...", NOW + 60)
        verdict = recalled.judge(reads=False)
        assert (verdict.state, verdict.files) == ("holds", 1)
    recalled.looker.read_queued()
    monkeypatch.setattr(Look, "read", lambda *given: pytest.fail(f"read {given[1]}"))
    verdict = recalled.judge(reads=False)
    assert (verdict.state, verdict.files, verdict.changed) == ("changed", 2, (path,))


def test_a_file_of_another_size_has_changed_without_being_read(recalled, monkeypatch):
    path = recalled.write("p.py", "1")
    recalled.touch(path)
    recalled.write("p.py", "1, 2", NOW + 60)
    monkeypatch.setattr(Look, "read", lambda *given: pytest.fail(f"read {given[1]}"))
    assert recalled.judge(reads=False).changed == (path,)
