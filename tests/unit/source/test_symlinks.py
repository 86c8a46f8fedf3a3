"""Links to directories are followed where installers make them, and nowhere dangerous."""

import os

import pytest

from irdaemon.source.files import Files
from irdaemon.source.packages import Packages
from irdaemon.source.skills import Skills
from irdaemon.source.tree import Symlinks
from irdaemon.types import Root
from irdaemon.watch import Settings
from irdaemon.watch.inotify import RecursiveWatches


def skill(directory):
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "SKILL.md").write_text(f"---\ndescription: {directory.name}\n---\n")
    return directory


def names(scan):
    return [os.path.basename(entry.path) for entry in scan.entries]


@pytest.fixture
def root(tmp_path):
    skill(tmp_path / "skills" / "own")
    skill(tmp_path / "elsewhere" / "linked")
    return tmp_path / "skills"


def scanned(root, links="direct"):
    return Skills((Root(str(root), links=links),), {}).scan()


def test_a_link_directly_in_a_root_is_followed(root, tmp_path):
    (root / "here").symlink_to(tmp_path / "elsewhere" / "linked")
    assert names(scanned(root)) == ["linked", "own"]


def test_a_link_inside_a_skill_is_not_followed_and_a_skill_behind_it_is_named(root, tmp_path):
    (root / "own" / "docs").symlink_to(tmp_path / "elsewhere" / "linked")
    (root / "own" / "more").symlink_to(tmp_path / "elsewhere")
    scan = scanned(root)
    assert names(scan) == ["own"]
    assert [problem.path for problem in scan.problems] == [str(root / "own" / "docs")]
    assert "add that directory to the roots" in scan.problems[0].reason


def test_a_link_inside_a_skill_may_lead_back_into_the_roots(root):
    skill(root / ".hidden" / "node_modules" / "deep")
    (root / "own" / "docs").symlink_to(root / ".hidden" / "node_modules" / "deep")
    assert names(scanned(root)) == ["deep", "own"]


@pytest.mark.parametrize("target", ["/proc", "/proc/self/fd", "/sys", "/dev", "/", ".."])
@pytest.mark.parametrize("links", ["direct", "any"])
@pytest.mark.parametrize("place", ["x", "own/docs"])
def test_no_link_leads_into_the_kernel_a_whole_disk_or_above_the_root(root, target, links, place):
    (root / place).symlink_to(root.parent if target == ".." else target)
    scan = scanned(root, links)
    assert names(scan) == ["own"]
    assert [problem.path for problem in scan.problems] == [str(root / place)]


def test_a_link_to_the_whole_home_is_not_followed(root, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "elsewhere"))
    (root / "x").symlink_to(tmp_path / "elsewhere")
    assert names(scanned(root)) == ["own"]


def test_a_corpus_that_follows_any_link_follows_those_inside_as_well(root, tmp_path):
    (root / "own" / "docs").symlink_to(tmp_path / "elsewhere")
    assert names(scanned(root, "any")) == ["linked", "own"]


def test_a_corpus_that_follows_none_says_what_it_did_not_follow(root, tmp_path):
    (root / "x").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "a.md").write_text("a")
    scan = Files((Root(str(root), links="none"),), {}).scan()
    assert "SKILL.md" in names(scan)
    assert "a.md" not in names(scan)
    assert [problem.path for problem in scan.problems] == [str(root / "x")]
    assert "follow_links = true" in scan.problems[0].reason


def test_what_a_package_manager_links_below_a_scope_is_followed(tmp_path):
    modules = tmp_path / "node_modules"
    (modules / "@acme").mkdir(parents=True)
    (tmp_path / "packages" / "tool").mkdir(parents=True)
    (tmp_path / "packages" / "tool" / "package.json").write_text('{"name": "@acme/tool"}')
    (modules / "@acme" / "tool").symlink_to(tmp_path / "packages" / "tool")
    scan = Packages((Root(str(modules)),), {}).scan()
    assert names(scan) == ["tool"]


class Watched:
    """Stands in for the kernel's watches: notes which directories were asked for."""

    def __init__(self):
        self.paths = []

    def add(self, path, root, top):
        self.paths.append(path)
        return True

    def add_name(self, path, root):
        pass


def test_watches_go_where_the_walks_go(root, tmp_path):
    (root / "own" / "docs").symlink_to("/")
    (root / "own" / "more").symlink_to(tmp_path / "elsewhere")
    (root / "here").symlink_to(tmp_path / "elsewhere" / "linked")
    watched = Watched()
    trees = RecursiveWatches(watched, Settings())
    trees.begin({str(root): Symlinks((str(root),))}, frozenset())
    trees.add_root(str(root))
    assert sorted(watched.paths) == sorted(
        [str(root), str(root / "own"), str(tmp_path / "elsewhere" / "linked")]
    )
