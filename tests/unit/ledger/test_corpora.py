"""What is kept of a corpus itself: who serves it, and how its last whole scan ended."""

from irdaemon.ledger import Ledger
from irdaemon.types import Problem, Scan
from tests.support.corpora import ledger


def test_a_corpus_is_served_by_the_embedder_that_was_noted_until_another_is():
    corpora = ledger("c", "d").corpora
    assert corpora.list_names() == ["c", "d"]
    assert corpora.find_served("c") is None
    corpora.put_served("c", "hashing", "hashing-512")
    assert corpora.find_served("c") == ("hashing", "hashing-512")
    corpora.declare("c", "files", "r", "another")
    assert corpora.find_served("c") == ("hashing", "hashing-512")
    assert corpora.find_served("d") is None


def test_the_end_of_a_whole_scan_is_kept_with_its_problems_and_roots():
    corpora = ledger().corpora
    assert corpora.read_state("c") == (None, ())
    problem = Problem("/a", "permission denied")
    corpora.record_scan("c", [problem], {"/a": "/real/a"}, 5.0)
    assert corpora.read_state("c") == (5.0, (problem,))
    assert corpora.read_roots("c") == {"/a": "/real/a"}
    assert (corpora.read_state("missing"), corpora.read_roots("missing")) == ((None, ()), {})


def test_a_scan_of_a_part_ends_the_problems_that_it_looked_for_and_did_not_find_again():
    corpora = ledger().corpora
    there, back, else_where = (Problem(path, "gone") for path in ("/a/x", "/a/y", "/b"))
    corpora.record_scan("c", [there, back, else_where], {}, 5.0)
    corpora.drop_mended("c", Scan((), ("/a",), (there,)))
    assert corpora.read_state("c") == (5.0, (there, else_where))


def test_a_scan_that_ended_as_the_one_before_is_known_and_stored_when_it_is_asked_for(tmp_path):
    path = str(tmp_path / "ledger.sqlite")
    made = Ledger(path)
    made.corpora.declare("c", "files", "r", "e")
    assert made.corpora.record_scan("c", [], {"/a": "/a"}, 5.0)
    assert not made.corpora.record_scan("c", [], {"/a": "/a"}, 6.0)
    with made.open_view() as view:
        assert (made.corpora.read_state("c")[0], view.corpora.read_state("c")[0]) == (6.0, 5.0)
    made.close()
    again = Ledger(path)
    assert again.corpora.read_state("c") == (6.0, ())
    assert again.corpora.record_scan("c", [Problem("/a", "gone")], {"/a": "/a"}, 7.0)
    again.close()


def test_a_corpus_that_was_forgotten_has_no_scan_left_to_store():
    made = ledger()
    made.corpora.record_scan("c", [], {}, 5.0)
    made.corpora.record_scan("c", [], {}, 6.0)
    made.corpora.forget("c")
    made.corpora.declare("c", "files", "r", "e")
    made.corpora.save_scans()
    assert made.corpora.read_state("c") == (None, ())
