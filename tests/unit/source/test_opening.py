"""What was checked is what is opened, whoever swaps a link in between."""

import errno
import os
from contextlib import closing
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irdaemon.discovery import disclose as disclosing
from irdaemon.discovery.disclose import Bounds, collect_bundle, disclose
from irdaemon.ledger import StoredArtifact
from irdaemon.source import opening
from irdaemon.source.files import Files
from irdaemon.source.opening import (
    follow_link,
    open_directory,
    open_regular,
    read_regular,
    resolve_path,
)
from irdaemon.source.redact import Redactor
from irdaemon.source.sessions import Sessions
from irdaemon.source.sessions import stores as databases
from irdaemon.source.skills import Skills
from irdaemon.types import Refused, Root, SourceError
from tests.support.corpora import mapped

OUTSIDE = "quicksilverparagraph"
WAYS = ("openat2", "step by step", "without O_PATH", "as macOS")
# That of macOS, which Linux uses for nothing.
O_NOFOLLOW_ANY = 0x20000000
ANSWERS = 300


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    """Open by the system call, and as on systems that do not have it."""
    if request.param != WAYS[0]:
        monkeypatch.setattr(opening, "_has_openat2", lambda: False)
    if request.param in WAYS[2:]:
        monkeypatch.delattr(os, "O_PATH")
        monkeypatch.setattr(opening, "_TO_LOOK", opening._FLAGS)
    if request.param == WAYS[3]:
        open_as_macos(monkeypatch)


def open_as_macos(monkeypatch):
    """Have os.open refuse a link in any part of a path by the flag that macOS has for it."""
    really = os.open

    def open_it(path, flags, *more, **named):
        if flags & O_NOFOLLOW_ANY:
            if os.path.realpath(path) != os.path.abspath(path):
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            flags = (flags & ~O_NOFOLLOW_ANY) | os.O_NOFOLLOW
        return really(path, flags, *more, **named)

    monkeypatch.setattr(os, "open", open_it)
    monkeypatch.setattr(os, "O_NOFOLLOW_ANY", O_NOFOLLOW_ANY, raising=False)
    monkeypatch.setattr(opening.sys, "platform", "darwin")


@pytest.fixture
def outside(tmp_path):
    made = tmp_path / "outside"
    made.mkdir()
    (made / "secret.txt").write_text(OUTSIDE)
    (made / "a.txt").write_text(OUTSIDE)
    (made / "SKILL.md").write_text(OUTSIDE)
    return made


def swapped_after_the_check(monkeypatch, path, target):
    """Put a link in the place of `path` as soon as anybody has found out where it leads."""

    def with_swap(check):
        def then_swap(asked, *rest, **how):
            found = check(asked, *rest, **how)
            if os.fspath(asked) == str(path) and not path.is_symlink():
                path.rename(path.with_name(".before"))
                path.symlink_to(target)
            return found

        return then_swap

    monkeypatch.setattr(os.path, "realpath", with_swap(os.path.realpath))
    monkeypatch.setattr(opening, "find_target", with_swap(opening.find_target))
    monkeypatch.setattr(disclosing, "find_inside", with_swap(disclosing.find_inside))


def test_a_file_is_read_by_its_real_path(tmp_path, way):
    (tmp_path / "a.md").write_text("inside")
    assert read_regular(str(tmp_path / "a.md"), 100) == b"inside"


def test_a_link_is_not_opened_wherever_in_the_path_it_stands(tmp_path, outside, way):
    (tmp_path / "link.md").symlink_to(outside / "secret.txt")
    (tmp_path / "directory").symlink_to(outside)
    for path in (tmp_path / "link.md", tmp_path / "directory" / "secret.txt"):
        with pytest.raises(FileNotFoundError):
            open_regular(str(path))
    with pytest.raises(FileNotFoundError), open_directory(str(tmp_path / "directory")):
        pass


def test_a_sandbox_that_forbids_the_system_call_is_worked_around(tmp_path, monkeypatch):
    (tmp_path / "a.md").write_text("inside")

    def forbidden(path, flags):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(opening, "_openat2", forbidden)
    assert read_regular(str(tmp_path / "a.md"), 100) == b"inside"


@pytest.mark.parametrize("path", ["/nul\0byte", "/half\ud800pair", "/" + "x" * 300, "/a/" * 3000])
def test_a_path_that_no_file_can_have_is_a_value_to_readers(path, way):
    with pytest.raises((FileNotFoundError, SourceError)):
        open_regular(path)
    assert isinstance(resolve_path(path), str)


@given(st.text(max_size=80))
def test_no_path_makes_resolving_raise(path):
    assert isinstance(resolve_path(path), str)


@pytest.mark.parametrize("fault", [FileNotFoundError(2, "x"), OSError(22, "x"), OSError(5, "x")])
def test_a_link_that_goes_while_it_is_resolved_is_resolved_again_or_left_as_it_is(
    monkeypatch, fault
):
    resolve, left = os.path.realpath, [fault, fault]

    def raising(path, **how):
        if left:
            raise left.pop()
        return resolve(path, **how)

    monkeypatch.setattr(os.path, "realpath", raising)
    assert resolve_path("/a/../b") == "/b"
    left.extend([fault] * 100)
    assert resolve_path("/a/../b") == "/b"


def test_a_linked_file_is_followed_to_its_own_name_or_back_into_the_roots(tmp_path, outside):
    (tmp_path / "skill").mkdir()
    link = tmp_path / "skill" / "SKILL.md"
    link.symlink_to(outside / "SKILL.md")
    assert follow_link(str(link), by_name=True) == str(outside / "SKILL.md")
    with pytest.raises(Refused):
        follow_link(str(link))
    link.unlink()
    link.symlink_to(outside / "secret.txt")
    with pytest.raises(Refused, match=r"leads to .*secret\.txt"):
        follow_link(str(link), by_name=True)
    assert follow_link(str(link), [str(outside)]) == str(outside / "secret.txt")


def test_where_a_directory_on_the_way_became_a_link_no_name_makes_it_good(tmp_path, outside):
    (tmp_path / "skill").symlink_to(outside)
    with pytest.raises(Refused):
        follow_link(str(tmp_path / "skill" / "SKILL.md"), by_name=True)


def test_what_the_kernel_shows_as_files_is_followed_by_no_name(tmp_path):
    (tmp_path / "environ").symlink_to("/proc/self/environ")
    with pytest.raises(Refused):
        follow_link(str(tmp_path / "environ"), by_name=True)


def exchanged_at_every_step(monkeypatch, path, spare, first):
    """Exchange two names whenever a path is looked at, from the look numbered `first` on."""
    looks = [0]

    def with_exchange(look):
        def then_exchange(*args, **how):
            try:
                return look(*args, **how)
            finally:
                looks[0] += 1
                if looks[0] > first:
                    path.rename(path.with_name(".between"))
                    spare.rename(path)
                    path.with_name(".between").rename(spare)

        return then_exchange

    monkeypatch.setattr(os.path, "realpath", with_exchange(os.path.realpath))
    monkeypatch.setattr(os, "readlink", with_exchange(os.readlink))
    monkeypatch.setattr(opening, "_open_without_links", with_exchange(opening._open_without_links))


def stored(pointer):
    return StoredArtifact("c", "id", "name", str(pointer), None, "", 0.0, {})


def test_a_payload_swapped_for_a_link_after_the_check_is_not_read(monkeypatch, tmp_path, outside):
    path = tmp_path / "skill" / "SKILL.md"
    path.parent.mkdir()
    path.write_text("how to")
    swapped_after_the_check(monkeypatch, path, outside / "secret.txt")
    found = disclose(stored(path), "body", Bounds((str(tmp_path / "skill"),)))
    assert (found.body, found.note) == (None, "pointer_unreadable")


@pytest.mark.parametrize("exchanged", ["the file", "its directory"])
@pytest.mark.parametrize("first", range(8))
@pytest.mark.parametrize("is_link", [True, False], ids=["a link at first", "no link at first"])
def test_a_document_exchanged_with_a_link_at_any_step_gives_nothing_of_the_same_name_outside(
    monkeypatch, tmp_path, outside, exchanged, first, is_link
):
    roots = tmp_path / "docs"
    path = roots / "a" / "a.txt"
    path.parent.mkdir(parents=True)
    path.write_text("inside")
    swapped, spare = (path, "a.txt") if exchanged == "the file" else (path.parent, "")
    link = roots / ".spare"
    link.symlink_to(outside / spare)
    if is_link:
        swapped.rename(roots / ".real")
        link.rename(swapped)
        link = roots / ".real"
    exchanged_at_every_step(monkeypatch, swapped, link, first)
    found = disclose(stored(path), "body", Bounds((str(roots),)))
    assert found.body in (None, "inside")


@pytest.mark.parametrize("kind", ["files", "code", "reports", "records", "sessions", "skills"])
def test_only_where_installers_link_single_files_a_payload_may_lie_outside_by_its_name(kind):
    assert Bounds.for_corpus(replace(mapped({}), kind=kind)).by_name is (kind == "skills")


def test_a_bundled_file_swapped_for_a_link_after_the_check_is_not_read(
    monkeypatch, tmp_path, outside
):
    path = tmp_path / "skill" / "scripts" / "a.txt"
    path.parent.mkdir(parents=True)
    path.write_text("harmless")
    swapped_after_the_check(monkeypatch, path, outside / "secret.txt")
    bundle = collect_bundle(str(tmp_path / "skill" / "SKILL.md"), Bounds(), Redactor("tokens"))
    assert [(file.path, file.text) for file in bundle.files] == [("scripts/a.txt", None)]


def test_a_skill_that_became_a_link_out_of_the_roots_brings_no_bundle(tmp_path, outside):
    (outside / "scripts").mkdir()
    (outside / "scripts" / "private.txt").write_text(OUTSIDE)
    (tmp_path / "roots").mkdir()
    (tmp_path / "roots" / "skill").symlink_to(outside)
    bounds = Bounds((str(tmp_path / "roots"),))
    pointer = str(tmp_path / "roots" / "skill" / "SKILL.md")
    assert collect_bundle(pointer, bounds, Redactor("tokens")).files == ()


def test_a_document_swapped_for_a_link_after_the_scan_is_gone(tmp_path, outside):
    path = tmp_path / "notes" / "a.md"
    path.parent.mkdir()
    path.write_text("inside")
    source = Files((Root(str(path.parent)),), {})
    (entry,) = source.scan().entries
    path.unlink()
    path.symlink_to(outside / "secret.txt")
    with pytest.raises(FileNotFoundError):
        source.read(entry)


def test_a_skill_whose_directory_is_swapped_after_the_scan_is_gone(tmp_path, outside):
    path = tmp_path / "skills" / "a" / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text("inside")
    source = Skills((Root(str(tmp_path / "skills")),), {})
    (entry,) = source.scan().entries
    path.parent.rename(tmp_path / "elsewhere")
    path.parent.symlink_to(outside)
    with pytest.raises(FileNotFoundError):
        source.read(entry)


def test_a_transcript_that_is_a_link_to_another_name_is_a_problem(tmp_path, outside):
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "s.jsonl").symlink_to(outside / "secret.txt")
    scan = Sessions((Root(str(tmp_path / "p")),), {}).scan()
    assert scan.entries == ()
    assert "leads to" in scan.problems[0].reason


def test_a_database_exchanged_while_sqlite_opens_it_is_gone(monkeypatch, tmp_path):
    path, other = tmp_path / "sessions.db", tmp_path / "other.db"
    for each in (path, other):
        with closing(databases.sqlite3.connect(each)) as made:
            made.execute("CREATE TABLE t (x)")
    connect = databases.sqlite3.connect

    def swapped(address, **how):
        path.unlink()
        path.symlink_to(other)
        return connect(address, **how)

    with databases.open_database(str(path)) as connection:
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (0,)
    monkeypatch.setattr(databases.sqlite3, "connect", swapped)
    with pytest.raises(FileNotFoundError), databases.open_database(str(path)):
        pass


def test_nothing_of_a_project_travels_with_its_own_package(tmp_path):
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / ".env").write_text("PASSWORD=hunter22")
    bounds = Bounds.for_corpus(replace(mapped({}), kind="dependencies"))

    bundle = collect_bundle(str(tmp_path), bounds, Redactor("all"))

    assert (bundle.files, bundle.omitted) == ((), 0)
