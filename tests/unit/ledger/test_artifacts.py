"""Artifacts as they are stored: by id, by name, page by page, and counted."""

import pytest

from irdaemon.ledger import ArtifactPage, Counts
from tests.support.corpora import ledger, upsert


@pytest.fixture
def store():
    made = ledger("c", "d")
    made.entries.put("c", upsert("e", {"x/a": "one", "y/a": "two", "b": "three"}), 1.0)
    made.entries.put("d", upsert("f", {"a": "one"}), 1.0)
    return made


def test_an_artifact_is_found_by_its_exact_id_and_its_ids_by_the_end_of_a_path(store):
    assert store.artifacts.get("c", "x/a").artifact_id == "x/a"
    assert store.artifacts.get("c", "a") is None
    named = store.artifacts.find_named("c", "a")
    assert [each.artifact_id for each in named] == ["x/a", "y/a"]
    assert named[0].content != named[1].content
    assert store.artifacts.find_named("c", "a", limit=1) == named[:1]


def test_artifacts_are_found_by_how_long_their_name_is(store):
    assert store.artifacts.find_by_length("c", (2, 5)) == [("x/a", "x/a"), ("y/a", "y/a")]


def test_pages_follow_each_other_in_the_order_of_references(store):
    every = [row[:2] for row in store.artifacts.list_page(ArtifactPage())]
    assert every == [("c", "b"), ("c", "x/a"), ("c", "y/a"), ("d", "a")]
    paged, after = [], ("", "")
    while rows := store.artifacts.list_page(ArtifactPage(after=after, limit=3)):
        paged += [row[:2] for row in rows]
        after = paged[-1]
    assert paged == every
    assert [row[1] for row in store.artifacts.list_page(ArtifactPage(corpus="d"))] == ["a"]
    assert {row[5] for row in store.artifacts.list_page(ArtifactPage())} == {"text"}


def test_what_is_held_is_counted_for_each_corpus(store):
    assert (store.artifacts.count("c"), store.artifacts.count("missing")) == (3, 0)
    assert store.artifacts.count_all("c", "e") == Counts(3, 3, 0, 0)
    assert store.artifacts.find_last_row() == 4


def test_the_texts_of_a_kind_are_given_at_once_and_those_of_another_are_not(store):
    first = {id: store.artifacts.list_records("c", id)[0] for id in ("x/a", "y/a", "b")}
    (kind,) = {record["kind"] for record in first.values()}
    wanted = {id: record["text"] for id, record in first.items()}
    assert store.artifacts.list_texts("c", kind) == wanted
    assert store.artifacts.list_texts("c", "another") == {}
