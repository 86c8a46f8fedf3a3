"""Which paths a marker keeps out of every corpus."""

import pytest

from irdaemon.ingest.scan import MARKER, OptOuts, find_marked_directory


def test_a_marker_covers_its_directory_and_all_below_but_nothing_beside(tmp_path):
    for name in ("out/deep/er", "in"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "out" / MARKER).touch()
    optouts = OptOuts()
    assert optouts.covers(str(tmp_path / "out"))
    assert optouts.covers(str(tmp_path / "out" / "deep" / "er" / "SKILL.md"))
    assert optouts.covers(str(tmp_path / "out" / "gone" / "SKILL.md"))
    assert not optouts.covers(str(tmp_path / "in" / "SKILL.md"))
    assert not optouts.covers(str(tmp_path))


def test_a_marker_that_is_a_dangling_link_counts(tmp_path):
    (tmp_path / MARKER).symlink_to(tmp_path / "gone")
    assert OptOuts().covers(str(tmp_path / "a.md"))


def test_no_path_and_the_top_of_the_file_system_are_covered_by_nothing():
    assert not OptOuts().covers("")
    assert not OptOuts().covers("/")
    assert not OptOuts().covers("a.md")


def test_each_directory_is_looked_at_once(tmp_path):
    optouts = OptOuts()
    assert not optouts.covers(str(tmp_path / "a.md"))
    (tmp_path / MARKER).touch()
    assert not optouts.covers(str(tmp_path / "b.md"))
    assert OptOuts().covers(str(tmp_path / "b.md"))


def test_what_is_known_of_one_path_answers_for_those_below_it(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / MARKER).touch()
    optouts = OptOuts()
    assert optouts.covers(str(tmp_path / "a" / "b" / "c"))
    (tmp_path / "a" / MARKER).unlink()
    assert optouts.covers(str(tmp_path / "a" / "b" / "d"))


@pytest.mark.parametrize(
    ("changed", "about"),
    [
        (f"/notes/{MARKER}", "/notes"),
        ("/notes/a.md", "/notes/a.md"),
        (f"/notes/{MARKER}.md", f"/notes/{MARKER}.md"),
    ],
)
def test_a_change_of_a_marker_is_a_change_of_its_directory(changed, about):
    assert find_marked_directory(changed) == about
