"""Images: a start that maps one answers as if it had read the ledger, or does read it."""

import os
import stat
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irdaemon.engine.queue import Job
from irdaemon.index import Images, Origin, rows
from irdaemon.ingest.scan import ScanRequest
from irdaemon.ledger import Ledger
from irdaemon.types import Query
from tests.support.corpora import engine, mapped
from tests.support.graphs import needs_graph

WORDS = "pdf form invoice cloud python deploy test note".split()
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join)
RESTART = "restart"
steps = st.lists(
    st.just(RESTART) | st.tuples(st.sampled_from("abcdef"), texts | st.none()), max_size=12
)
QUERIES = ("pdf form", "cloud", "a", "`b` test note", "deploy python")


class Kept:
    """An engine in a directory, which can be closed and opened again."""

    def __init__(self, directory, hnsw_above=0):
        self.directory = Path(directory)
        self.images = Images(str(self.directory / "index"), above=1)
        self.hnsw_above = hnsw_above
        self.engine = None
        self.open({})

    def open(self, items):
        if self.engine is not None:
            self.engine.ledger.close()
        path = str(self.directory / "ledger.sqlite")
        self.engine = engine(
            mapped(items), path=path, images=self.images, hnsw_above=self.hnsw_above
        )

    def hold(self, items):
        self.engine.reconfigure([mapped(items)])
        self.engine.request(Job("reconcile", "m", ScanRequest(prune=True)))
        self.engine.drain()

    def files(self):
        return sorted((self.directory / "index").iterdir())


def answers(engine):
    """Return all that queries find and show, unfiltered and filtered."""
    filters = ({}, {"id": {"$in": ["a", "b", "c"]}})
    found = [engine.search(Query(text, where=where)) for text in QUERIES for where in filters]
    return [answer.results for answer in found]


@pytest.fixture
def kept(tmp_path):
    made = Kept(tmp_path)
    made.hold({"a": "pdf form", "b": "cloud deploy", "c": "note"})
    yield made
    made.engine.ledger.close()


@settings(max_examples=10, deadline=None)
@given(steps, st.sampled_from([0, 2]), st.sampled_from([(0, 0.0), (256, 0.2)]))
def test_answers_after_any_changes_and_restarts_are_those_of_a_fresh_build(
    steps, hnsw_above, thresholds
):
    before = rows._MOST_GONE, rows._GONE_SHARE
    rows._MOST_GONE, rows._GONE_SHARE = thresholds
    try:
        with tempfile.TemporaryDirectory() as directory:
            items, made = {"a": "pdf form"}, Kept(directory, hnsw_above)
            made.hold(items)
            for step in steps:
                if step == RESTART:
                    made.open(items)
                else:
                    id, text = step
                    items = {k: v for k, v in items.items() if k != id} | (
                        {id: text} if text else {}
                    )
                    made.hold(items)
                fresh = engine(mapped(items))
                fresh.request(Job("reconcile", "m"))
                fresh.drain()
                assert answers(made.engine) == answers(fresh)
            made.engine.ledger.close()
    finally:
        rows._MOST_GONE, rows._GONE_SHARE = before


def test_a_start_maps_the_image_there_is(kept):
    kept.open({"a": "pdf form", "b": "cloud deploy", "c": "note"})
    assert kept.engine.snapshot.corpora["m"].rows.laid_out == 3


def test_what_is_gone_since_the_image_is_not_found(kept):
    kept.images = None
    kept.open({})
    kept.hold({"a": "pdf form"})
    kept.images = Images(str(kept.directory / "index"), above=1)
    kept.open({"a": "pdf form"})
    assert kept.engine.snapshot.corpora["m"].rows.n_records == 1


def cut_short(path):
    os.truncate(path, path.stat().st_size - 1)


def scribbled_on(path):
    path.write_bytes(b"not an image" + path.read_bytes()[12:])


def emptied(path):
    path.write_bytes(b"")


def of_a_broken_header(path):
    data = bytearray(path.read_bytes())
    data[26:40] = bytes(14)
    path.write_bytes(data)


@pytest.mark.parametrize("spoil", [cut_short, scribbled_on, emptied, of_a_broken_header])
def test_a_spoiled_image_is_not_used_and_nothing_is_lost(kept, spoil):
    wanted = answers(kept.engine)
    (path,) = kept.files()
    spoil(path)
    kept.open({"a": "pdf form", "b": "cloud deploy", "c": "note"})
    assert kept.engine.snapshot.corpora["m"].rows.laid_out == 0
    assert answers(kept.engine) == wanted
    assert kept.files() == []


def test_an_image_of_another_ledger_is_not_used(kept):
    kept.engine.ledger.close()
    for path in kept.directory.glob("ledger.sqlite*"):
        path.unlink()
    kept.open({})
    assert kept.engine.snapshot.corpora["m"].rows.n_records == 0


def test_an_image_ahead_of_its_ledger_is_not_used_and_cannot_be_caught_up_with(kept):
    ledger = kept.engine.ledger
    origin = Origin(ledger.read_identity(), "m", "hashing-512", 512)
    assert kept.images.load(origin, ledger.read_generation()) is not None
    assert kept.images.load(origin, 0) is None
    assert kept.images.load(origin, ledger.read_generation()) is None


@needs_graph
def test_an_image_whose_graph_is_missing_serves_without(tmp_path):
    made, items = Kept(tmp_path, hnsw_above=2), {"a": "pdf form", "b": "cloud", "c": "note"}
    made.hold(items)
    graph, _ = made.files()
    graph.unlink()
    made.open(items)
    index = made.engine.snapshot.corpora["m"]
    assert (index.rows.laid_out, index.dense.graph) == (3, None)
    made.engine.ledger.close()


@needs_graph
def test_a_kept_graph_is_not_built_again(tmp_path):
    made, items = Kept(tmp_path, hnsw_above=2), {"a": "pdf form", "b": "cloud", "c": "note"}
    made.hold(items)
    files = made.files()
    made.open(items)
    made.hold(items)
    assert made.engine.snapshot.corpora["m"].dense.graph.kept
    assert made.files() == files


def test_images_are_private(kept):
    (path,) = kept.files()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_where_no_image_can_be_written_answers_go_on(tmp_path):
    (tmp_path / "index").write_text("in the way")
    made = Kept(tmp_path)
    made.hold({"a": "pdf form"})
    assert [hit.name for hit in made.engine.search(Query("pdf")).results] == ["a"]
    made.engine.ledger.close()


def test_a_corpus_that_is_removed_takes_its_image_with_it(kept):
    kept.engine.reconfigure([])
    kept.engine.drain()
    assert kept.files() == []


def test_two_ledgers_never_have_the_same_identity(tmp_path):
    one, other = Ledger(":memory:"), Ledger(":memory:")
    assert one.read_identity() == one.read_identity() != other.read_identity()
