"""Directory trees are walked in one order, each directory once, whatever goes wrong in one."""

import os

import pytest

from irdaemon.source.tree import (
    Symlinks,
    Walk,
    check_root,
    is_directory,
    is_editor_file,
    is_link,
    is_regular,
    is_searched,
    make_stamp,
    resolve_entry,
    shorten_path,
)
from irdaemon.types import Root


@pytest.fixture
def root(tmp_path):
    made = tmp_path / "root"
    made.mkdir()
    return made


def walked(root, walk=None, **how):
    """Return the directories below a root in the order of a walk, relative to it."""
    walk = walk or Walk(Symlinks((str(root),)))
    found = walk.walk_directories(str(root), is_searched, **how)
    return [os.path.relpath(directory, root) for directory, _ in found]


def make(root, *paths):
    for path in paths:
        (root / path).mkdir(parents=True)


def test_parents_come_before_children_and_neighbours_by_name(root):
    make(root, "b/x", "a/z", "a/y")
    assert walked(root) == [".", "a", "a/y", "a/z", "b", "b/x"]


def test_directories_that_hold_no_artifacts_are_not_entered(root):
    make(root, "src", "node_modules/left-pad", ".git/objects", "src/__pycache__")
    assert walked(root) == [".", "src"]


def test_a_walk_goes_so_deep_and_no_deeper(root):
    make(root, "a/b/c/d")
    assert walked(root, max_depth=2) == [".", "a", "a/b"]


def test_a_directory_that_two_links_lead_to_is_visited_once_by_its_real_name(root, tmp_path):
    make(tmp_path, "real")
    for name in ("one", "two"):
        (root / name).symlink_to(tmp_path / "real")
    walk = Walk(Symlinks((str(root),)))
    assert walked(root, walk) == [".", "../real"]
    assert walk.reached[str(tmp_path / "real")] == str(root / "one")


def test_links_that_lead_in_circles_end(root):
    make(root, "a")
    (root / "a" / "up").symlink_to(root)
    (root / "a" / "self").symlink_to(root / "a")
    assert walked(root) == [".", "a"]


def test_a_link_out_of_the_roots_further_down_is_passed_over(root, tmp_path):
    make(root, "a")
    make(tmp_path, "elsewhere")
    (root / "a" / "link").symlink_to(tmp_path / "elsewhere")
    walk = Walk(Symlinks((str(root),)))
    assert walked(root, walk) == [".", "a"]
    assert (walk.passed, walk.problems) == ([str(root / "a" / "link")], [])


def test_where_no_link_is_followed_each_is_a_problem_with_the_way_out(root, tmp_path):
    make(tmp_path, "elsewhere")
    (root / "link").symlink_to(tmp_path / "elsewhere")
    walk = Walk(Symlinks((str(root),), "none"))
    assert walked(root, walk) == ["."]
    (problem,) = walk.problems
    assert problem.path == str(root / "link")
    assert "set follow_links = true" in problem.reason


def test_a_link_to_the_whole_file_system_is_followed_by_no_policy(root):
    (root / "all").symlink_to("/")
    walk = Walk(Symlinks((str(root),), "any"))
    assert walked(root, walk) == ["."]
    assert "it is not followed" in walk.problems[0].reason


def test_a_directory_that_goes_while_it_is_walked_is_a_problem_and_no_end(root):
    make(root, "a", "b")
    walk, seen = Walk(Symlinks((str(root),))), []
    for directory, _ in walk.walk_directories(str(root), is_searched):
        seen.append(os.path.basename(directory))
        if seen == ["root"]:
            (root / "a").rmdir()
    assert seen == ["root", "a", "b"]
    assert [(p.path, p.reason) for p in walk.problems] == [
        (str(root / "a"), "No such file or directory")
    ]


def test_a_name_that_is_not_text_is_a_problem_and_its_neighbours_are_seen(root):
    make(root, "fine")
    os.mkdir(os.fsencode(root) + b"/bad\xff")
    walk = Walk(Symlinks((str(root),)))
    assert walked(root, walk) == [".", "fine"]
    assert [problem.reason for problem in walk.problems] == ["the file name is not valid UTF-8"]
    assert walk.problems[0].path.endswith(r"bad\xff")


EDITORS = (
    ".#a.md", "#a.md#", "a.md~", ".a.md.swp", ".a.md.swo", "4913", ".goutputstream-X1Y2Z3",
    ".~lock.a.odt#", "~$a.docx", ".a.md.kate-swp", "a.md___jb_tmp___", ".nfs0000000a1",
)  # fmt: skip
NOT_EDITORS = ("a.md", "#1 plan.md", ".hidden.md", "4913.md", "~a.md", "C#", "a.swp.md", ".swpx")


@pytest.mark.parametrize("name", EDITORS)
def test_locks_backups_and_drafts_of_editors_are_passed_over_as_if_they_were_not_there(root, name):
    (root / "fine.md").write_text("x")
    (root / name).symlink_to("person@host.1234:1700000000")
    walk = Walk(Symlinks((str(root),)))
    ((_, found),) = walk.walk_directories(str(root), is_searched)
    assert [entry.name for entry in found] == ["fine.md"]
    assert walk.problems == []


@pytest.mark.parametrize("name", NOT_EDITORS)
def test_what_only_resembles_an_editors_file_counts(name):
    assert not is_editor_file(name)


def test_a_directory_of_such_a_name_is_walked(root):
    make(root, "old~", "4913")
    assert walked(root) == [".", "4913", "old~"]


def test_an_entry_is_what_it_leads_to_and_a_dangling_link_is_nothing(root):
    make(root, "directory")
    (root / "file").write_text("x")
    (root / "to-file").symlink_to("file")
    (root / "dangling").symlink_to("gone")
    entries = {entry.name: entry for entry in os.scandir(root)}
    kinds = {n: (is_directory(e), is_regular(e), is_link(e)) for n, e in entries.items()}
    assert kinds == {
        "directory": (True, False, False),
        "file": (False, True, False),
        "to-file": (False, True, True),
        "dangling": (False, False, True),
    }
    assert resolve_entry(entries["to-file"]) == str(root / "file")


def test_any_change_of_a_file_changes_its_stamp(root):
    path = root / "a"
    path.write_text("one")
    before = make_stamp(path.stat())
    assert make_stamp(path.stat()) == before
    os.utime(path, ns=(1, path.stat().st_mtime_ns + 1))
    assert make_stamp(path.stat()) != before
    other = root / "b"
    other.write_text("one")
    assert make_stamp(other.stat()) != before
    assert make_stamp(path.stat(), other.stat()).count(";") == 1


def test_paths_at_home_are_shown_short(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert shorten_path(str(tmp_path / "notes")) == "~/notes"
    assert shorten_path(str(tmp_path) + "-old/notes") == str(tmp_path) + "-old/notes"
    assert shorten_path("/etc") == "/etc"


def test_a_root_that_is_not_there_or_is_no_directory_is_a_problem(root):
    (root / "file").write_text("x")
    assert check_root(Root(str(root))) is None
    assert check_root(Root(str(root / "gone"))).reason == "nothing is at this path"
    assert check_root(Root(str(root / "file"))).reason == "a file, where a directory is expected"
    assert check_root(Root("/nul\0byte")) is not None
