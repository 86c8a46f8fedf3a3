"""A hint names a path; where that may lead to a look is not its to say."""

import pytest

from irclient.errors import NotFound, QueryError
from irdaemon.config.corpus import Corpus
from irdaemon.engine.changes import jobs_for_hint
from irdaemon.source.files import Files
from irdaemon.strategy import strategy_from_spec
from irdaemon.types import Root


def corpus(name, *roots):
    source = Files(tuple(Root(str(root)) for root in roots), {})
    return Corpus(name, "files", source, strategy_from_spec({"name": "WholeText"}), "hashing")


def test_every_corpus_with_a_root_above_the_path_looks_there_and_no_other(tmp_path):
    corpora = [
        corpus("outer", tmp_path),
        corpus("inner", tmp_path / "a"),
        corpus("apart", tmp_path / "b"),
    ]
    path = tmp_path / "a" / "note.md"
    jobs = jobs_for_hint(str(path), corpora)
    assert [(job.corpus, job.scan.under) for job in jobs] == [
        ("outer", (str(path),)),
        ("inner", (str(path),)),
    ]


def test_a_link_is_followed_before_it_is_judged(tmp_path):
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "link").symlink_to(outside)
    (outside / "way-in").symlink_to(root)
    with pytest.raises(NotFound):
        jobs_for_hint(str(root / "link" / "secret.md"), [corpus("c", root)])
    (job,) = jobs_for_hint(str(outside / "way-in" / "note.md"), [corpus("c", root)])
    assert job.scan.under == (str(root / "note.md"),)


@pytest.mark.parametrize("path", ["", "note.md", "../x", "/a\0b"])
def test_what_is_no_absolute_path_is_wrong(path, tmp_path):
    with pytest.raises(QueryError):
        jobs_for_hint(path, [corpus("c", tmp_path)])


def test_a_path_elsewhere_is_not_found_nor_is_the_root_itself_or_what_is_above(tmp_path):
    for path in (tmp_path / "b" / "x", tmp_path / "a", tmp_path, tmp_path / "a" / ".." / "b"):
        with pytest.raises(NotFound, match="below no root"):
            jobs_for_hint(str(path), [corpus("c", tmp_path / "a")])
