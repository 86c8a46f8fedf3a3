"""Another embedder: the old vectors serve until all the new ones are there."""

from dataclasses import replace

import pytest

from irclient.errors import Unavailable
from irdaemon.engine.queue import Job
from irdaemon.types import Query
from tests.support.corpora import Counting, engine, mapped

ITEMS = {f"t{n}": f"words about thing number {n}" for n in range(30)}
COUNTING = "tests.support.corpora:Counting"
MISSING = "tests.support.corpora:Missing"


def corpus(embedder, items=ITEMS):
    return replace(mapped(items), embedder=embedder)


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "ledger.sqlite")


@pytest.fixture(autouse=True)
def up():
    Counting.down = False
    yield
    Counting.down = False


def served(made):
    return made.snapshot.corpora["m"].embedder


def look(made):
    made.request(Job("reconcile", "m"))


def first(path, embedder="hashing"):
    made = engine(corpus(embedder), path=path)
    look(made)
    made.drain()
    return made


def test_a_changed_embedder_serves_only_once_every_record_has_its_vector(path):
    first(path).ledger.close()
    made = engine(corpus(COUNTING), path=path)
    assert served(made) == "hashing-512"
    assert made.search(Query("thing number 3", mode="dense")).results
    assert made.status()["corpora"][0]["state"] == "re-embedding"
    look(made)
    made.step()
    assert served(made) == "hashing-512"
    made.drain()
    assert served(made) == "counting-64"
    assert made.status()["corpora"][0]["state"] == "ready"
    assert made.search(Query("thing number 3", mode="dense")).results


def test_compaction_meanwhile_keeps_the_vectors_that_serve_and_later_drops_them(path):
    first(path).ledger.close()
    made = engine(corpus(COUNTING), path=path)
    made.request(Job("compact"))
    made.step()
    assert made.snapshot.corpora["m"].unembedded == 0
    look(made)
    made.drain()
    made.request(Job("compact"))
    made.drain()
    digests = [shown.digest for shown in made.snapshot.corpora["m"].rows.shown]
    assert made.ledger.vectors.get("hashing-512", digests) == {}
    assert len(made.ledger.vectors.get("counting-64", digests)) == len(ITEMS)


def test_one_interrupted_goes_on_where_it_was(path):
    first(path).ledger.close()
    Counting.down = True
    made = engine(corpus(COUNTING), path=path)
    look(made)
    made.drain()
    assert served(made) == "hashing-512"
    made.ledger.close()
    Counting.down = False
    again = engine(corpus(COUNTING), path=path)
    look(again)
    again.drain()
    assert served(again) == "counting-64"


def test_a_new_record_meanwhile_is_found_by_its_meaning_in_the_old_space(path):
    first(path).ledger.close()
    Counting.down = True
    made = engine(corpus(COUNTING, {**ITEMS, "new": "zebra crossing"}), path=path)
    look(made)
    made.drain()
    found = made.search(Query("zebra crossing", mode="dense", k=1))
    assert found.results[0].artifact_id == "new"


def test_a_missing_package_leaves_the_words_and_says_so_and_touches_no_other_corpus(path):
    other = replace(mapped(ITEMS, "other"), embedder="hashing")
    made = engine(corpus(MISSING), other, path=path)
    for name in ("m", "other"):
        made.request(Job("reconcile", name))
    made.drain()
    assert made.search(Query("thing number 3", ("m",))).freshness["legs"] == ["lexical"]
    with pytest.raises(Unavailable):
        made.search(Query("thing", ("m",), mode="dense"))
    assert made.search(Query("thing number 3", ("other",), mode="dense")).results
    states = {each["name"]: each for each in made.status()["corpora"]}
    assert states["m"]["problems"][0]["reason"] == "Missing needs the package 'missing'"
    assert states["other"]["problems"] == []


def test_the_old_vectors_serve_on_while_the_new_embedder_is_missing(path):
    first(path).ledger.close()
    made = engine(corpus(MISSING), path=path)
    assert made.search(Query("thing number 3", mode="dense")).results


def test_an_endpoint_that_is_down_leaves_queries_their_words(path):
    made = first(path, COUNTING)
    Counting.down = True
    found = made.search(Query("thing number 5"))
    assert found.results
    assert found.freshness["legs"] == ["lexical"]
