"""Captions: which files belong to an image, and what a change of one means for it."""

import os

import pytest

from irdaemon.source.files import Files
from irdaemon.source.files.asset import is_caption, read_captions
from irdaemon.types import Root

READABLE = "irdaemon.source.files.list_unreadable_suffixes"


@pytest.fixture
def image(tmp_path):
    path = tmp_path / "beans.jpg"
    path.write_bytes(b"an image")
    return path


def test_the_files_called_like_an_image_are_its_captions(image):
    assert read_captions(str(image)) == ""
    image.with_suffix(".txt").write_text("beans in flower\n")
    image.with_suffix(".md").write_bytes(b"\xef\xbb\xbfby the *wall*\r\n")
    image.with_suffix(".json").write_text('{"title": "Broad", "tags": ["may", 3, {"by": "Ann"}]}')
    (image.parent / "peas.txt").write_text("peas")
    assert read_captions(str(image)) == "beans in flower\nby the *wall*\nBroad\nmay\nAnn"


def test_a_caption_that_is_long_huge_garbled_or_a_link_does_no_harm(image, tmp_path):
    image.with_suffix(".txt").write_text("x" * 50_000)
    assert len(read_captions(str(image))) == 2_000
    image.with_suffix(".txt").write_text("x" * 200_000)
    image.with_suffix(".json").write_text("[" * 90_000)
    (tmp_path / "elsewhere").write_text("a secret")
    image.with_suffix(".md").symlink_to(tmp_path / "elsewhere")
    assert read_captions(str(image)) == ""


def test_a_path_is_that_of_a_caption_where_an_image_lies_beside_it(image):
    assert is_caption(str(image.with_suffix(".txt")))
    assert not is_caption(str(image.with_suffix(".rst")))
    assert not is_caption(str(image.parent / "peas.txt"))


def test_a_caption_that_comes_changes_or_goes_makes_its_image_stale(image, monkeypatch):
    monkeypatch.setattr(READABLE, dict)
    source = Files((Root(str(image.parent)),), {})
    text = image.with_suffix(".txt")

    def stamp():
        (entry,) = (e for e in source.scan(str(text)).entries if e.path == str(image))
        return entry.stamp

    bare = stamp()
    text.write_text("beans")
    described = stamp()
    os.utime(text, ns=(1, 1))
    touched = stamp()
    assert len({bare, described, touched}) == 3
    text.unlink()
    assert stamp() == bare
