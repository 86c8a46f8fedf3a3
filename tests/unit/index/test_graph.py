"""Graphs are an extra: without their library all is found, and the status says what would help."""

import pytest

from irclient.installation import make_extra_command
from irclient.types import Query
from irdaemon.engine.queue import Job
from irdaemon.index import graph
from irdaemon.index.image import Images
from tests.support.corpora import engine, mapped
from tests.support.graphs import hide_library, needs_graph

ITEMS = {str(n): f"word{n} shared" for n in range(40)}
ABOVE = 10


@pytest.fixture
def hidden(monkeypatch):
    hide_library(monkeypatch)


def built(**options):
    made = engine(mapped(ITEMS), **options)
    made.request(Job("reconcile", "m"))
    made.drain()
    return made


def answers(made):
    found = [made.search(Query(f"word{n} shared", mode="dense")) for n in range(0, 40, 7)]
    return [[(hit.artifact_id, hit.score) for hit in answer.results] for answer in found]


def test_without_the_library_no_graph_is_built_and_answers_are_those_of_exact_search(hidden):
    made, exact = built(hnsw_above=ABOVE), built(hnsw_above=0)
    assert not graph.is_available()
    assert made.snapshot.corpora["m"].dense.graph is None
    assert answers(made) == answers(exact)
    assert not made.state.work.queued, "nor is one asked for again and again"


def test_the_status_names_the_corpora_that_a_graph_would_help_and_the_command(hidden):
    advice = built(hnsw_above=ABOVE).status()["advice"]
    assert "m (40 vectors)" in advice["message"]
    assert "the extra graph" in advice["message"]
    assert advice["hint"] == make_extra_command("graph")


@pytest.mark.parametrize("above", [0, 41])
def test_the_status_says_nothing_where_no_graph_would_help(hidden, above):
    assert "advice" not in built(hnsw_above=above).status()


@needs_graph
def test_the_status_says_nothing_where_graphs_are_built():
    made = built(hnsw_above=ABOVE)
    assert made.snapshot.corpora["m"].dense.graph is not None
    assert "advice" not in made.status()


@needs_graph
def test_an_image_with_a_graph_serves_without_the_library(tmp_path, monkeypatch):
    place = {"path": str(tmp_path / "ledger.sqlite"), "hnsw_above": ABOVE}
    made = built(**place, images=Images(str(tmp_path / "index"), above=1))
    expected = answers(made)
    assert made.snapshot.corpora["m"].dense.graph is not None
    made.ledger.close()
    hide_library(monkeypatch)
    again = engine(mapped(ITEMS), **place, images=Images(str(tmp_path / "index"), above=1))
    index = again.snapshot.corpora["m"]
    assert (index.rows.laid_out, index.dense.graph) == (40, None)
    assert [[name for name, _ in each] for each in answers(again)] == [
        [name for name, _ in each] for each in expected
    ]
    again.ledger.close()
