"""Which of the entries that a scan found are read: none opted out, none outside the roots."""

from irdaemon.config.corpus import Corpus
from irdaemon.ingest.scan import MARKER
from irdaemon.source.files import Files
from irdaemon.strategy import WholeText
from irdaemon.types import Root
from tests.support.corpora import mapped
from tests.support.watched import Watched


def notes(root, **more):
    source = Files((Root(str(root)),), {"pattern": ["**/*.md"]})
    return Watched(Corpus("notes", "files", source, WholeText(), "hashing", **more))


def names(corpus):
    return {artifact.rpartition("/")[2] for artifact in corpus.held}


def linked(tmp_path):
    """Return a root with a file of its own and a link to one that lies elsewhere."""
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    root.mkdir()
    elsewhere.mkdir()
    (root / "own.md").write_text("own")
    (elsewhere / "other.md").write_text("other")
    (root / "link.md").symlink_to(elsewhere / "other.md")
    return root


def test_what_a_link_leads_to_outside_of_the_roots_is_refused_with_the_way_out(tmp_path):
    corpus = notes(linked(tmp_path))
    assert corpus.look().failed == 1
    assert names(corpus) == {"own.md"}
    (reason,) = corpus.failures.values()
    assert "other.md: a link leads here, out of the corpus' roots" in reason


def test_a_corpus_that_follows_links_reads_what_they_lead_to(tmp_path):
    corpus = notes(linked(tmp_path), follow_links=True)
    assert (corpus.look().failed, corpus.failures) == (0, {})
    assert len(corpus.held) == 2


def test_what_lay_outside_and_is_a_root_now_is_read(tmp_path):
    root = linked(tmp_path)
    corpus = notes(root)
    corpus.look()
    roots = (Root(str(root)), Root(str(tmp_path / "elsewhere")))
    source = Files(roots, {"pattern": ["**/*.md"]})
    corpus.corpus = Corpus("notes", "files", source, WholeText(), "hashing")
    assert corpus.look().failed == 0
    assert corpus.failures == {}
    assert names(corpus) == {"own.md", "other.md"}


def test_what_is_opted_out_is_neither_read_nor_a_failure_and_comes_back_with_the_marker(tmp_path):
    for name in ("kept", "out"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.md").write_text(name)
    corpus = notes(tmp_path)
    corpus.look()
    (tmp_path / "out" / MARKER).touch()
    assert corpus.look(tmp_path / "out" / MARKER).removed == 1
    assert (names(corpus), corpus.failures) == ({"kept.md"}, {})
    (tmp_path / "out" / MARKER).unlink()
    assert corpus.look(tmp_path / "out" / MARKER).written == 1


def test_a_source_without_roots_has_nothing_outside_of_them():
    assert Watched(mapped({"a": "x"})).look().written == 1
