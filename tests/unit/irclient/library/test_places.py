"""Directories of documents, as they are suggested and counted."""

from irclient.library import count_documents, suggest_directories
from irclient.results import CorpusStatus
from irclient.types import Hit

NOTES = CorpusStatus("notes", "files", ("/n",), writable=True)
SKILLS = CorpusStatus("skills", "skills", ("/s",))


def hit(path, score, corpus="notes"):
    return Hit(corpus, path, path[-4:], "chunk", score, {}, "", path, {})


def test_the_directory_with_the_most_evidence_comes_first_and_says_near_what():
    hits = [hit("/n/a/x.md", 0.4), hit("/n/b/y.md", 0.3), hit("/n/b/z.md", 0.5)]
    first, second = suggest_directories(hits, [NOTES])
    assert (first.path, first.source, first.confidence) == ("/n/b", "notes", 1.0)
    assert first.reason == "near y.md, z.md"
    assert (second.path, second.confidence) == ("/n/a", 0.5)
    assert first.writable
    assert not suggest_directories(hits, [CorpusStatus("notes", "files")])[0].writable


def test_where_nothing_is_similar_the_roots_of_documents_are_suggested():
    (only,) = suggest_directories([], [NOTES, SKILLS])
    assert (only.path, only.confidence, only.reason) == ("/n", 0.0, "nothing is similar")


def test_no_more_than_five_directories_are_suggested():
    assert len(suggest_directories([hit(f"/n/{at}/x.md", 0.5) for at in range(9)], [NOTES])) == 5


def test_documents_are_counted_in_each_directory_down_to_a_depth():
    pointers = ["/n/a/x.md", "/n/a/b/c/y.md", "/n/z.md", "/other/z.md"]
    assert count_documents(pointers, ["/n"], 1) == {"/n": 3, "/n/a": 2}
    assert count_documents(pointers, ["/n"], 2) == {"/n": 3, "/n/a": 2, "/n/a/b": 1}


def test_a_directory_without_evidence_is_not_suggested():
    found = suggest_directories([hit("/n/a/x.md", 0.5), hit("/n/b/y.md", 0.001)], [NOTES])
    assert [each.path for each in found] == ["/n/a"]
