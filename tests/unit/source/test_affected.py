"""How far a change at one path can reach."""

import pytest

from irdaemon.source.tree import EVERYTHING, confine_change


@pytest.fixture
def root(tmp_path):
    made = tmp_path / "root"
    (made / "a").mkdir(parents=True)
    return made


def test_a_change_below_a_root_stays_where_it_is(root):
    inside = str(root / "a")
    assert confine_change(inside, (str(root),)) == inside
    assert confine_change(str(root / "gone"), (str(root),)) == str(root / "gone")


def test_a_change_of_a_root_or_above_it_is_about_everything(root, tmp_path):
    assert confine_change(str(root), (str(root),)) == EVERYTHING
    assert confine_change(str(tmp_path), ("/elsewhere", str(root))) == EVERYTHING


def test_a_link_below_a_root_may_lead_anywhere_and_one_elsewhere_does_not_matter(root, tmp_path):
    for link in (root / "link", tmp_path / "link"):
        link.symlink_to("/")
    assert confine_change(str(root / "link"), (str(root),)) == EVERYTHING
    assert confine_change(str(tmp_path / "link"), (str(root),)) == str(tmp_path / "link")


def test_a_name_that_only_begins_like_a_root_is_not_below_it(root):
    beside = str(root) + "-old"
    assert confine_change(beside, (str(root),)) == beside
