"""Files of managed documents: written whole, and never outside of their directory."""

import errno
import os
import stat

import pytest

from irclient.errors import Conflict, NotFound, QueryError, Unavailable
from irdaemon.contrib.documents.files import Claims, DocumentFiles, hash_content

DAY_S = 24 * 3600.0


@pytest.fixture
def files(tmp_path):
    return DocumentFiles(str(tmp_path / "data" / "documents"))


def listed(files):
    found = []
    for top, _, names in os.walk(files.top):
        found += [os.path.relpath(os.path.join(top, name), files.top) for name in names]
    return sorted(found)


def content(files, place):
    with open(files.make_path(place), "rb") as file:
        return file.read()


def added(files, title="Note", data=b"one", directory=""):
    return files.add(files.split_path(directory), title, data)


def test_a_document_is_for_its_owner_alone_and_nothing_else_is_left(files):
    place = added(files, directory="work/plans")
    assert content(files, place) == b"one"
    assert listed(files) == ["work/plans/note.md"]
    for path, mode in (
        (files.make_path(place), 0o600),
        (files.top, 0o700),
        (files.top + "/work", 0o700),
    ):
        assert stat.S_IMODE(os.stat(path).st_mode) == mode


def test_the_same_title_gets_a_number_and_writes_over_nothing(files):
    added(files)
    os.rename(files.top + "/note.md", files.top + "/NOTE.md")
    assert [added(files).name for _ in range(2)] == ["note-2.md", "note-3.md"]
    assert listed(files) == ["NOTE.md", "note-2.md", "note-3.md"]


@pytest.mark.parametrize(
    "path",
    [
        "../x.md",
        "a/../../x.md",
        "/etc/passwd",
        ".gitignore",
        "a/.b/c.md",
        "a\nb.md",
        "node_modules/x.md",
        "",
        "/",
        "a\0b",
    ],
)
def test_a_path_out_of_the_directory_or_hidden_is_refused(files, path):
    added(files)
    for run in (
        lambda: files.replace(files.place(path), lambda held: b"x", ""),
        lambda: files.move_to_trash(files.place(path), 0),
        lambda: files.leave_out(files.place(path)),
    ):
        with pytest.raises(QueryError):
            run()
    assert listed(files) == ["note.md"]


def test_an_absolute_path_of_a_neighbour_with_the_same_beginning_is_refused(files):
    added(files)
    with pytest.raises(QueryError, match="not in the managed directory"):
        files.place(f"{files.top}-other/x.md")
    assert files.place(f"{files.top}/note.md").name == "note.md"


def test_a_link_on_the_way_and_a_linked_document_are_refused(files, tmp_path):
    added(files)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine.md").write_text("mine")
    os.symlink(outside, files.top + "/away")
    os.symlink(outside / "mine.md", files.top + "/linked.md")
    for run in (
        lambda: added(files, directory="away"),
        lambda: files.replace(files.place("away/mine.md"), lambda held: b"x", ""),
        lambda: files.replace(files.place("linked.md"), lambda held: b"x", ""),
        lambda: files.move_to_trash(files.place("linked.md"), 0),
        lambda: files.leave_out(files.place("linked.md")),
    ):
        with pytest.raises(QueryError, match="link"):
            run()
    assert os.listdir(outside) == ["mine.md"]
    assert (outside / "mine.md").read_text() == "mine"


def test_a_name_in_another_case_is_not_taken_for_the_document(files):
    place = added(files, directory="Work")
    assert place.name == "note.md"
    for path in ("Work/NOTE.md", "work/note.md"):
        with pytest.raises(QueryError, match="use the existing spelling"):
            files.replace(files.place(path), lambda held: b"x", "")
    with pytest.raises(QueryError, match="'Work'"):
        added(files, directory="work")
    assert listed(files) == ["Work/note.md"]


def test_what_is_no_regular_file_or_is_not_there_is_refused(files):
    added(files, directory="work")
    os.mkfifo(files.top + "/pipe.md")
    for path, error in (("pipe.md", QueryError), ("work", QueryError), ("gone.md", NotFound)):
        with pytest.raises(error):
            files.replace(files.place(path), lambda held: b"x", "")
    with pytest.raises(NotFound):
        files.replace(files.place("nowhere/gone.md"), lambda held: b"x", "")


def test_a_document_written_anew_keeps_its_mode(files):
    place = added(files)
    os.chmod(files.make_path(place), 0o640)
    files.replace(place, lambda held: b"two", "")
    assert content(files, place) == b"two"
    assert stat.S_IMODE(os.stat(files.make_path(place)).st_mode) == 0o640
    assert listed(files) == ["note.md"]


def test_a_document_that_changed_since_it_was_read_stays_as_it_is(files):
    place = added(files)
    files.replace(place, lambda held: b"two", hash_content(b"one"))
    with pytest.raises(Conflict, match="has changed"):
        files.replace(place, lambda held: b"three", hash_content(b"one"))
    assert content(files, place) == b"two"
    assert listed(files) == ["note.md"]


def test_where_nothing_can_be_written_the_document_is_as_it_was(files, monkeypatch):
    place = added(files)

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    for run in (
        lambda: files.replace(place, lambda held: b"two", ""),
        lambda: added(files, "Other"),
    ):
        with pytest.raises(Unavailable, match="No space left"):
            run()
    assert content(files, place) == b"one"
    assert listed(files) == ["note.md"]


def test_a_document_left_out_is_named_in_the_ignore_file_until_it_is_written_anew(files):
    place = added(files, directory="a b")
    files.leave_out(place)
    files.leave_out(place)
    with open(files.ignore_file) as file:
        assert file.read() == "/a b/note.md\n"
    files.replace(place, lambda held: b"two", "")
    with open(files.ignore_file) as file:
        assert file.read() == ""


def test_other_lines_of_the_ignore_file_stay_as_they_are(files):
    place = added(files)
    with open(files.ignore_file, "wb") as file:
        file.write(b"*.tmp\n/b\xff\n")
    files.leave_out(place)
    files.replace(place, lambda held: b"two", "")
    with open(files.ignore_file, "rb") as file:
        assert file.read() == b"*.tmp\n/b\xff\n"


def test_a_deleted_document_lies_in_the_trash_for_thirty_days(files):
    first, second = added(files), added(files)
    thrown = files.move_to_trash(first, now=0)
    with open(thrown, "rb") as file:
        assert file.read() == b"one"
    assert listed(files) == ["note-2.md"]
    files.move_to_trash(second, now=20 * DAY_S)
    files.empty_trash(now=31 * DAY_S)
    assert not os.path.exists(thrown)
    assert len(os.listdir(files.trash)) == 1


def test_a_path_is_held_by_one_request_at_a_time():
    claims = Claims()
    with (
        claims.hold_path("/a"),
        claims.hold_path("/b"),
        pytest.raises(Conflict),
        claims.hold_path("/a"),
    ):
        pass
    with claims.hold_path("/a"):
        pass


def test_a_file_on_another_file_system_than_the_trash_is_copied_there(tmp_path, monkeypatch):
    def rename(source, target, *, src_dir_fd=None, dst_dir_fd=None):
        if dst_dir_fd is None:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        real(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    real = os.rename
    (tmp_path / "notes").mkdir()
    files = DocumentFiles(str(tmp_path / "notes"), str(tmp_path / "trash"))
    place = added(files)
    monkeypatch.setattr(os, "rename", rename)
    thrown = files.move_to_trash(place, 0)
    assert os.path.dirname(os.path.dirname(thrown)) == files.trash
    with open(thrown, "rb") as file:
        assert file.read() == b"one"
    assert listed(files) == []
    assert os.listdir(os.path.dirname(thrown)) == ["note.md"]
