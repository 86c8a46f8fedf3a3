"""What counts as a project, and what is never touched to find out."""

import grp
import json
import os
import pwd
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irclient.errors import QueryError
from irdaemon.source import locate_project as program
from irdaemon.source.locate_project import locate, parse_mounts
from irdaemon.source.projects import MAX_PLACE, clean_place, name_project

LOCAL = (("/", "ext4", "/dev/sda"),)


@pytest.fixture
def home(tmp_path):
    made = tmp_path / "home"
    made.mkdir(mode=0o755)
    return made


def make(directory, *marks):
    """Make a directory with marks in it: those that end with a slash are directories."""
    directory.mkdir(parents=True, exist_ok=True)
    directory.chmod(0o755)
    for mark in marks:
        path = directory / mark
        path.mkdir() if mark.endswith("/") else path.write_text("")
    return directory


def ask(place, home, mounts=LOCAL, **more):
    rules = {"uid": os.getuid(), "roots": (), "ignore": (), **more}
    return locate({"place": str(place), "home": str(home), **rules}, mounts)


def find(place, home, **more):
    found = ask(place, home, **more)
    assert "root" in found, found
    return found["root"]


@pytest.mark.parametrize("mark", [".git/", ".git", ".hg/", ".jj/"])
def test_the_nearest_repository_is_the_project(home, mark):
    make(home / "code", ".git/", "package.json")
    root = make(home / "code" / "shop", mark)
    assert find(make(root / "apps" / "web", "package.json"), home) == str(root)
    assert find(root, home) == str(root)


def test_the_real_path_of_a_place_is_told(home):
    root = make(home / "shop", ".git/")
    (home / "current").symlink_to(make(root / "apps"))
    assert ask(home / "current", home)["place"] == str(root / "apps")


def test_a_project_has_all_its_marks(home):
    root = make(home / "shop", ".git/", "package.json", ".claude/", "requirements-dev.txt")
    assert ask(root, home)["marks"] == [".git", "package.json", ".claude", "requirements-dev.txt"]


def test_a_worktree_is_a_project_of_its_own(home):
    root = make(home / "shop", ".git/")
    worktree = make(root / ".worktrees" / "fix", ".git")
    assert find(worktree / "..", home) == str(root)
    assert find(worktree, home) == str(worktree)


def test_inside_the_repository_directory_is_inside_the_project(home):
    root = make(home / "shop", ".git/")
    assert find(make(root / ".git" / "hooks"), home) == str(root)


@pytest.mark.parametrize(
    "mark", ["package.json", "setup.cfg", "go.mod", "requirements.txt", ".claude/", ".agents/"]
)
def test_without_a_repository_the_topmost_manifest_or_agent_directory_below_home_counts(home, mark):
    make(home, "package.json", ".claude/")
    top = make(home / "code" / "shop", mark)
    assert find(make(top / "apps" / "web", "package.json"), home) == str(top)


def test_a_directory_called_like_a_manifest_is_no_mark(home):
    found = ask(make(home / "code", "package.json/", "requirements.txt/"), home)
    assert "no repository, manifest or agent directory" in found["reason"]


def test_a_repository_counts_before_a_manifest_further_up(home):
    make(home / "code", "package.json")
    root = make(home / "code" / "shop", ".git/")
    assert find(root, home) == str(root)


@pytest.mark.parametrize("place", ["/", "/tmp", "/usr", "/etc", ".", ".."])
def test_home_what_is_around_it_and_directories_of_the_system_are_no_projects(home, place):
    make(home, ".git/", "package.json")
    make(home.parent, ".git/")
    found = ask(os.path.realpath(home / place), home, roots=("/",))
    assert found.keys() == {"reason"}


def test_a_place_below_home_does_not_belong_to_a_repository_that_is_home(home):
    make(home, ".git/")
    assert ask(make(home / "notes"), home).keys() == {"reason"}


def test_outside_of_home_only_what_roots_name_is_a_project(home, tmp_path):
    root = make(tmp_path / "srv" / "shop", ".git/")
    assert "nor below [projects] roots" in ask(root, home)["reason"]
    assert find(root, home, roots=(str(tmp_path / "srv"),)) == str(root)
    assert find(root, home, roots=(str(root),)) == str(root)


def test_a_root_may_be_a_link(home, tmp_path):
    root = make(tmp_path / "srv" / "shop", ".git/")
    (home / "work").symlink_to(tmp_path / "srv")
    assert find(root, home, roots=(str(home / "work"),)) == str(root)


def test_a_link_to_a_project_leads_to_its_real_root(home):
    root = make(home / "code" / "shop", ".git/")
    (home / "here").symlink_to("code/../code/shop")
    assert find(home / "here", home) == str(root)


def test_a_link_out_of_home_leads_to_no_project(home, tmp_path):
    make(tmp_path / "other", ".git/")
    (home / "here").symlink_to(tmp_path / "other")
    assert "is not below" in ask(home / "here", home)["reason"]


# Whose it is.


def test_a_directory_of_another_user_is_no_project(home):
    root = make(home / "shop", ".git/")
    found = ask(root, home, uid=os.getuid() + 1)
    assert found == {"reason": f"{root} belongs to another user"}


def test_a_directory_that_everybody_may_write_is_no_project(home):
    root = make(home / "shop", ".git/")
    root.chmod(0o757)
    assert "may be written by everybody" in ask(root, home)["reason"]


@pytest.mark.parametrize(
    ("group", "members", "kept_out"),
    [("ann", [], False), ("ann", ["ann"], False), ("ann", ["bob"], True), ("staff", [], True)],
)
def test_a_group_may_write_only_where_it_is_the_users_own(
    home, monkeypatch, group, members, kept_out
):
    root = make(home / "shop", ".git/")
    root.chmod(0o775)
    gid = root.stat().st_gid
    user = SimpleNamespace(pw_name="ann", pw_gid=gid)
    group = SimpleNamespace(gr_name=group, gr_gid=gid, gr_mem=members)
    monkeypatch.setattr(pwd, "getpwuid", lambda _: user)
    monkeypatch.setattr(grp, "getgrgid", lambda _: group)
    found = ask(root, home)
    assert ("may be written by its group" in found.get("reason", "")) is kept_out


def test_a_group_that_nobody_knows_may_not_write(home, monkeypatch):
    root = make(home / "shop", ".git/")
    root.chmod(0o775)

    def unknown(_):
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert "may be written by its group" in ask(root, home)["reason"]


# Mounts.


@pytest.fixture
def touched(monkeypatch):
    """Collect every path that the system is asked about."""
    seen = []

    def note(name):
        asked = getattr(os, name)

        def noting(path, *args, **options):
            seen.append(os.fspath(path))
            return asked(path, *args, **options)

        monkeypatch.setattr(os, name, noting)

    for name in ("readlink", "stat", "lstat", "scandir", "access", "listdir", "listxattr"):
        note(name)
    return seen


REMOTE = [
    ("nfs4", "server:/export"),
    ("cifs", "//server/share"),
    ("autofs", "/etc/auto.misc"),
    ("fuse.sshfs", "me@server:"),
    ("fuseblk", "/dev/sdb1"),
    ("fuse", "gvfsd-fuse"),
    ("9p", "hostshare"),
    ("unheardof", "server:/export"),
    ("unheardof", "//server/share"),
]


@pytest.mark.parametrize(("kind", "source"), REMOTE)
def test_nothing_on_a_network_fuse_or_autofs_mount_is_touched(home, touched, kind, source):
    far = make(home / "far", ".git/")
    (home / "link").symlink_to(far / "deep")
    (home / "round").symlink_to("link")
    mounts = (*LOCAL, (str(far), kind, source))
    touched.clear()
    for place in (far, far / "deep", home / "link" / "x", home / "round"):
        assert f"{far} is a mount of type {kind}" in ask(place, home, mounts)["reason"]
    assert not [path for path in touched if path.startswith(str(far))]
    assert find(far, home, mounts=mounts, roots=(str(far),)) == str(far)


def test_a_mount_is_touched_only_on_the_way_to_what_roots_name(home, touched):
    mine = make(home / "far" / "mine", ".git/")
    make(home / "far" / "other", ".git/")
    rules = {"mounts": (*LOCAL, (str(home / "far"), "nfs", "x:/")), "roots": (str(mine),)}
    touched.clear()
    assert "is a mount of type nfs" in ask(home / "far" / "other", home, **rules)["reason"]
    assert not [path for path in touched if "far" in path]
    assert find(mine, home, **rules) == str(mine)
    assert not [path for path in touched if "other" in path]
    assert f"{home}/far/{program.MARKER}" not in touched


def test_of_mounts_the_longest_counts_and_of_two_at_one_place_the_later():
    mounts = (("/a", "nfs", "x"), ("/a/b", "ext4", "x"), ("/", "ext4", "x"), ("/a/b", "nfs4", "x"))
    assert program.find_remote("/a/c", mounts) == "nfs"
    assert program.find_remote("/a/b/c", mounts) == "nfs4"
    assert program.find_remote("/a/b/c", mounts[:3]) == ""
    assert program.find_remote("/ab", mounts) == ""


def test_a_project_on_another_file_system_is_one_only_below_roots(home, monkeypatch):
    root = make(home / "disk" / "shop", ".git/")
    real = os.stat

    def stat(path, *args, **options):
        status = real(path, *args, **options)
        if not str(path).startswith(str(home / "disk")):
            return status
        return os.stat_result((*status[:2], status.st_dev + 1, *status[3:]))

    monkeypatch.setattr(os, "stat", stat)
    mounts = (*LOCAL, (str(home / "disk"), "ext4", "/dev/sdb"))
    assert "is on another file system" in ask(root, home, mounts)["reason"]
    assert find(root, home, mounts=mounts, roots=(str(home / "disk"),)) == str(root)
    # A subvolume has a device number of its own.
    assert find(root, home) == str(root)


def test_where_mounts_cannot_be_listed_nothing_is_touched(home, touched, monkeypatch):
    monkeypatch.setattr(program.sys, "platform", "linux")
    assert "/proc/self/mounts cannot be read" in ask(home, home, None)["reason"]
    assert touched == []
    assert program.read_mounts("/nothing/here") is None


def escape(name):
    return b"".join(b"\\%03o" % c if c in b" \t\n\\#" else bytes([c]) for c in name)


NAMES = st.binary(min_size=1).filter(lambda name: b"\0" not in name)


@given(st.lists(st.tuples(NAMES, NAMES, NAMES)))
def test_mounts_are_parsed_whatever_their_names_are(mounts):
    lines = (b" ".join([*map(escape, mount), b"rw 0 0\n"]) for mount in mounts)
    expected = [(p, kind, source) for source, p, kind in (map(os.fsdecode, m) for m in mounts)]
    assert parse_mounts(b"".join(lines)) == expected


@given(st.binary())
def test_no_list_of_mounts_is_too_strange_to_be_parsed(data):
    for path, kind, source in parse_mounts(data):
        assert program.find_remote("/x", [(path, kind, source)]) in ("", kind)


# Opting out.


@pytest.mark.parametrize("marked", [".", "shop", "shop/apps", "shop/apps/web"])
def test_a_marker_at_or_above_the_place_keeps_the_project_out(home, marked):
    place = make(make(home / "shop", ".git/") / "apps" / "web")
    make(home / marked, program.MARKER)
    where = os.path.realpath(home / marked / program.MARKER)
    assert ask(place, home) == {"reason": f"{where} keeps it out"}


def test_a_marker_beside_the_place_leaves_the_project_in(home):
    root = make(home / "shop", ".git/")
    make(root / "private", program.MARKER)
    assert find(make(root / "apps"), home) == str(root)


def test_what_is_ignored_is_no_project_nor_what_is_below_it(home):
    root = make(home / "code" / "shop", ".git/")
    (home / "link").symlink_to("code")
    for ignored in (home / "code", root, home / "link"):
        assert "is in [projects] ignore" in ask(root, home, ignore=(str(ignored),))["reason"]
    assert find(root, home, ignore=(str(home / "co"), str(root / "apps"))) == str(root)


# Bad places.


def test_a_place_that_is_no_readable_directory_is_a_problem(home):
    make(home / "shop", ".git/", "file")
    (home / "loop").symlink_to("loop")
    (home / "nowhere").symlink_to("gone")
    missing = {"problem": "there is no such directory"}
    assert ask(home / "shop" / "gone", home) == missing
    assert ask(home / "nowhere", home) == missing
    assert ask(home / "shop" / "file", home) == {"problem": "it is not a directory"}
    assert "it cannot be read" in ask(home / "shop" / "file" / "below", home)["problem"]
    assert "it cannot be read" in ask(home / "loop", home)["problem"]
    assert "it cannot be read" in ask(home / ("x" * 300), home)["problem"]


def test_a_place_that_may_not_be_read_is_a_problem(home, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert ask(make(home / "shop", ".git/"), home) == {
        "problem": "it cannot be read: Permission denied"
    }


def test_names_of_any_bytes_break_nothing(home):
    strange = make(home / "a\nb\x1b[31m\u202ec", ".git/")
    assert find(strange, home) == str(strange)
    assert name_project(str(strange)) == "a b[31mc"
    assert name_project("/x/\u200b\x07") == "project"
    unreadable = os.fsencode(home) + b"/bad\xff"
    os.makedirs(unreadable + b"/.git")
    found = ask(os.fsdecode(unreadable), home)
    assert found == {"reason": "its path is not valid UTF-8"}
    assert json.loads(json.dumps(found)) == found


# The place as it comes from a client.


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        ("", "not an absolute path"),
        ("code/shop", "not an absolute path"),
        ("~/code", "not an absolute path"),
        ("/a\0b", "NUL"),
        ("/a\udcff", "not valid UTF-8"),
        ("/" + "x" * MAX_PLACE, "4,097 bytes"),
        ("/" + "ä" * 2_048, "4,097 bytes"),
        (b"/a", "not a text"),
        (None, "not a text"),
    ],
)
def test_a_place_that_is_no_absolute_path_is_refused(place, wrong):
    with pytest.raises(QueryError, match=wrong) as refused:
        clean_place(place)
    assert refused.value.hint


@pytest.mark.parametrize(
    ("place", "clean"),
    [("//a//b/", "/a/b"), ("/a/./b/../c", "/a/c"), ("/../..", "/"), ("/", "/"), ("///x", "/x")],
)
def test_a_place_is_cleaned_by_its_text_alone(place, clean):
    assert clean_place(place) == clean


@given(st.text(st.sampled_from("/.a \n\0é\udcff")) | st.text())
def test_what_is_cleaned_is_an_absolute_path_and_stays_as_it_is(place):
    try:
        clean = clean_place(place)
    except QueryError:
        return
    assert clean == clean_place(clean) == os.path.abspath(clean)
    assert not {"", ".", ".."} & set(clean[1:].split("/") if clean != "/" else ())
