"""A changed path is scanned by the corpora that it concerns; a hint decides nothing more."""

from dataclasses import replace

import pytest

from irclient.errors import NotFound, QueryError
from irdaemon.config.corpus import Corpus
from irdaemon.config.reindex import Reindex
from irdaemon.engine.changes import list_change_jobs, list_hint_jobs
from irdaemon.source.files import Files
from irdaemon.source.skills import Skills
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
    jobs = list_hint_jobs(str(path), corpora)
    assert [(job.corpus, job.scan.under) for job in jobs] == [
        ("outer", (str(path),)),
        ("inner", (str(path),)),
    ]


def test_a_lock_or_a_backup_of_an_editor_makes_nothing_due_but_a_directory_of_that_name_does(
    tmp_path,
):
    (tmp_path / "old~").mkdir()
    corpora = [corpus("c", tmp_path)]
    for name in (".#a.md", "a.md~", ".a.md.swp", "4913"):
        assert list_change_jobs((str(tmp_path / name),), corpora, {}) == []
    (job,) = list_change_jobs((str(tmp_path / "old~"), str(tmp_path / "a.md~")), corpora, {})
    assert job.scan.under == (str(tmp_path / "old~"),)


def test_a_root_that_is_called_like_a_backup_is_one_all_the_same(tmp_path):
    (tmp_path / "notes~").write_text("x")
    (job,) = list_change_jobs((str(tmp_path / "notes~"),), [corpus("c", tmp_path / "notes~")], {})
    assert job.scan.under == (str(tmp_path / "notes~"),)


def test_a_link_is_followed_before_it_is_judged(tmp_path):
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "link").symlink_to(outside)
    (outside / "way-in").symlink_to(root)
    with pytest.raises(NotFound):
        list_hint_jobs(str(root / "link" / "secret.md"), [corpus("c", root)])
    (job,) = list_hint_jobs(str(outside / "way-in" / "note.md"), [corpus("c", root)])
    assert job.scan.under == (str(root / "note.md"),)


@pytest.mark.parametrize("path", ["", "note.md", "../x", "/a\0b"])
def test_what_is_no_absolute_path_is_wrong(path, tmp_path):
    with pytest.raises(QueryError):
        list_hint_jobs(path, [corpus("c", tmp_path)])


def test_a_root_itself_is_scanned_whole(tmp_path):
    (job,) = list_hint_jobs(str(tmp_path), [corpus("c", tmp_path)])
    assert (job.corpus, job.scan.under) == ("c", ())


def test_a_path_elsewhere_is_not_found_nor_is_what_is_above_a_root(tmp_path):
    for path in (tmp_path / "b" / "x", tmp_path, tmp_path / "a" / ".." / "b"):
        with pytest.raises(NotFound, match="nor below one"):
            list_hint_jobs(str(path), [corpus("c", tmp_path / "a")])


def linking(name, *roots, links="direct"):
    source = Skills(tuple(Root(str(root), links=links) for root in roots), {})
    return Corpus(name, "skills", source, strategy_from_spec({"name": "Skill"}), "hashing")


def scans(paths, corpora, links):
    jobs = list_change_jobs(tuple(map(str, paths)), corpora, links)
    return {job.corpus: job.scan.under for job in jobs}


def confined(name, *roots):
    return linking(name, *roots, links="none")


def test_each_corpus_gets_one_scan_of_the_changed_paths_below_its_roots_and_no_others(tmp_path):
    corpora = [confined("a", tmp_path / "a"), confined("b", tmp_path / "b"), confined("c")]
    one, two, three = tmp_path / "a" / "1", tmp_path / "a" / "2", tmp_path / "b" / "3"
    assert scans([one, two, three], corpora, {}) == {"a": (str(one), str(two)), "b": (str(three),)}


def test_a_change_below_nested_roots_concerns_both_corpora(tmp_path):
    corpora = [confined("outer", tmp_path), confined("inner", tmp_path / "in")]
    path = tmp_path / "in" / "SKILL.md"
    assert scans([path], corpora, {}) == {"outer": (str(path),), "inner": (str(path),)}


def test_a_root_that_came_or_went_or_lay_below_what_did_is_scanned_whole(tmp_path):
    corpora = [confined("a", tmp_path / "x" / "a"), confined("b", tmp_path / "b")]
    for path in (tmp_path / "x" / "a", tmp_path / "x"):
        assert scans([path], corpora, {}) == {"a": ()}


def test_a_root_that_is_a_file_has_changed_like_any_other_while_it_is_there(tmp_path):
    root = tmp_path / "tools.json"
    root.write_text("{}")
    assert scans([root], [confined("t", root)], {}) == {"t": (str(root),)}
    log = tmp_path / "tools.json-wal"
    assert scans([log], [confined("t", root)], {}) == {"t": (str(log),)}
    root.unlink()
    assert scans([root], [confined("t", root)], {}) == {"t": ()}


def test_what_a_followed_link_leads_to_concerns_the_corpus_of_the_link_too(tmp_path):
    corpora = [linking("links", tmp_path / "a"), confined("b", tmp_path / "b"), confined("c")]
    links = {str(tmp_path / "a" / "x"): str(tmp_path / "b" / "x")}
    path = tmp_path / "b" / "x" / "SKILL.md"
    assert scans([path], corpora, links) == {"links": (str(path),), "b": (str(path),)}
    gone = tmp_path / "b"  # with the link's target in it
    assert scans([gone], corpora, links) == {"links": (str(gone),), "b": ()}
    assert set(scans([tmp_path / "b" / "y"], corpora, links)) == {"b"}


def test_links_to_links_and_links_in_a_circle_are_followed_to_their_end(tmp_path):
    corpora = [linking("links", tmp_path / "a")]
    links = {
        str(tmp_path / "a" / "x"): str(tmp_path / "far"),
        str(tmp_path / "far" / "y"): str(tmp_path / "farther"),
        str(tmp_path / "farther" / "z"): str(tmp_path / "far"),
    }
    path = tmp_path / "farther" / "SKILL.md"
    assert scans([path], corpora, links) == {"links": (str(path),)}


def test_where_no_root_and_no_link_explains_a_path_all_corpora_that_follow_links_are_scanned(
    tmp_path,
):
    corpora = [linking("links", tmp_path / "a"), confined("b", tmp_path / "b")]
    path = tmp_path / "elsewhere" / "SKILL.md"
    assert scans([path], corpora, {}) == {"links": (str(path),)}
    below = tmp_path / "b" / "SKILL.md"
    assert scans([below], corpora, None) == {"links": (str(below),), "b": (str(below),)}


def with_reindex(reindex, *roots):
    return replace(corpus("c", *roots), reindex=Reindex(reindex))


def test_a_hint_is_taken_by_what_is_scanned_at_intervals_and_not_by_what_is_indexed_by_hand(
    tmp_path,
):
    path = str(tmp_path / "note.md")
    (job,) = list_hint_jobs(path, [with_reindex("interval", tmp_path)])
    assert job.scan.under == (path,)
    with pytest.raises(QueryError, match="'c' is indexed by hand only") as refused:
        list_hint_jobs(path, [with_reindex("manual", tmp_path)])
    assert refused.value.hint == "irc build c"
    both = [with_reindex("manual", tmp_path), corpus("d", tmp_path)]
    assert [job.corpus for job in list_hint_jobs(path, both)] == ["d"]
