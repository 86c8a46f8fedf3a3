"""What is kept of a corpus itself: who serves it, and how its last whole scan ended."""

from irdaemon.ledger import Ledger
from irdaemon.types import Problem, Scan
from tests.support.corpora import ledger


def test_a_corpus_is_served_by_the_embedder_that_was_noted_until_another_is():
    corpora = ledger("c", "d").corpora
    assert corpora.names() == ["c", "d"]
    assert corpora.served("c") is None
    corpora.serve("c", "hashing", "hashing-512")
    assert corpora.served("c") == ("hashing", "hashing-512")
    corpora.declare("c", "files", "r", "another")
    assert corpora.served("c") == ("hashing", "hashing-512")
    assert corpora.served("d") is None


def test_the_end_of_a_whole_scan_is_kept_with_its_problems_and_roots():
    corpora = ledger().corpora
    assert corpora.state_of("c") == (None, ())
    problem = Problem("/a", "permission denied")
    corpora.reconciled("c", [problem], {"/a": "/real/a"}, 5.0)
    assert corpora.state_of("c") == (5.0, (problem,))
    assert corpora.roots_of("c") == {"/a": "/real/a"}
    assert (corpora.state_of("missing"), corpora.roots_of("missing")) == ((None, ()), {})


def test_a_scan_of_a_part_ends_the_problems_that_it_looked_for_and_did_not_find_again():
    corpora = ledger().corpora
    there, back, else_where = (Problem(path, "gone") for path in ("/a/x", "/a/y", "/b"))
    corpora.reconciled("c", [there, back, else_where], {}, 5.0)
    corpora.mended("c", Scan((), ("/a",), (there,)))
    assert corpora.state_of("c") == (5.0, (there, else_where))


def test_a_scan_that_ended_as_the_one_before_is_known_and_stored_when_it_is_asked_for(tmp_path):
    path = str(tmp_path / "ledger.sqlite")
    made = Ledger(path)
    made.corpora.declare("c", "files", "r", "e")
    assert made.corpora.reconciled("c", [], {"/a": "/a"}, 5.0)
    assert not made.corpora.reconciled("c", [], {"/a": "/a"}, 6.0)
    with made.reading() as view:
        assert (made.corpora.state_of("c")[0], view.corpora.state_of("c")[0]) == (6.0, 5.0)
    made.close()
    again = Ledger(path)
    assert again.corpora.state_of("c") == (6.0, ())
    assert again.corpora.reconciled("c", [Problem("/a", "gone")], {"/a": "/a"}, 7.0)
    again.close()


def test_a_corpus_that_was_forgotten_has_no_scan_left_to_store():
    made = ledger()
    made.corpora.reconciled("c", [], {}, 5.0)
    made.corpora.reconciled("c", [], {}, 6.0)
    made.corpora.forget("c")
    made.corpora.declare("c", "files", "r", "e")
    made.corpora.save_scans()
    assert made.corpora.state_of("c") == (None, ())
