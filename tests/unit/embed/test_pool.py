"""Embedders are made once, stood in for while they cannot be made, and let go when idle."""

import numpy as np
import pytest

from irclient.errors import Unavailable
from irdaemon.embed.pool import Embedders

COUNTING = "tests.support.corpora:Counting"
MISSING = "tests.support.corpora:Missing"


@pytest.fixture
def embedders():
    return Embedders()


@pytest.fixture
def counting(monkeypatch):
    from tests.support.corpora import Counting

    monkeypatch.setattr(Counting, "down", False)
    return Counting


def test_an_embedder_is_made_once_and_found_by_its_id(embedders):
    made = embedders.get_embedder("hashing")
    assert embedders.get_embedder("hashing") is made
    assert embedders.embed_query("fill a form", made.id).vector.shape == (made.dim,)
    assert embedders.embed_query("fill a form", "another-id") is None


def test_one_that_cannot_be_made_is_held_by_a_stand_in_until_it_is_tried_again(embedders):
    absent = embedders.get_embedder(MISSING)
    with pytest.raises(Unavailable, match="needs the package 'missing'"):
        absent.embed(["x"])
    assert embedders.get_embedder(MISSING) is absent
    assert embedders.embed_query("x", absent.id) is None
    embedders.retry_absent()
    assert embedders.get_embedder(MISSING) is not absent


def test_the_old_embedder_answers_while_the_vectors_are_its_own(embedders):
    old, new = embedders.get_embedder("hashing"), embedders.get_embedder(COUNTING)
    assert embedders.choose_embedder(COUNTING, None) is new
    assert embedders.choose_embedder(COUNTING, (COUNTING, new.id)) is new
    assert embedders.choose_embedder(COUNTING, ("hashing", old.id)) is old
    assert embedders.choose_embedder(COUNTING, ("hashing", "hashing-of-another-version")) is new


def test_the_vector_of_a_query_is_remembered(embedders, counting):
    name = embedders.get_embedder(COUNTING).id
    first = embedders.embed_query("fill a form", name)
    counting.down = True
    assert embedders.embed_query("fill a form", name) is first
    assert embedders.embed_query("another", name) is None
    assert embedders.embed_fresh("fill a form", name) is None


def test_what_is_shed_is_made_again_and_gives_the_same(embedders):
    name = embedders.get_embedder("hashing").id
    before = embedders.embed_query("fill a form", name)
    embedders.release_all()
    after = embedders.embed_query("fill a form", name)
    assert after is not before
    assert np.array_equal(after.vector, before.vector)


def test_many_different_queries_are_not_all_remembered(embedders):
    name = embedders.get_embedder("hashing").id
    first = embedders.embed_query("query 0", name)
    for number in range(1, 1_000):
        embedders.embed_query(f"query {number}", name)
    assert embedders.embed_query("query 0", name) is not first
