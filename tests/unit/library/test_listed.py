"""Lists of documents as a corpus."""

import pytest

import irdaemon as ir
from irclient.errors import QueryError
from tests.support.built import build_mapping


def test_a_list_of_texts_is_a_corpus_whose_ids_are_places():
    corpus = build_mapping(["red fish", "blue sea"])
    (first, *_) = ir.search(corpus, "blue sea")
    assert (first.artifact_id, ir.disclose([first])[0].body) == ("1", "blue sea")
    corpus.close()


def test_items_of_text_and_meta_are_filtered_by_their_meta():
    items = [
        {"text": "red fish", "meta": {"place": "sea"}},
        {"id": "pond", "text": "red fish", "meta": {"place": "pond"}, "depth": 2},
    ]
    corpus = build_mapping(items)
    (hit,) = ir.search(corpus, "fish", filter={"place": "pond"})
    assert (hit.artifact_id, hit.fields["depth"]) == ("pond", 2)
    corpus.close()


def test_a_described_item_of_a_list_is_found_by_its_description():
    corpus = build_mapping(
        [{"name": "pdf", "description": "fill in forms"}, {"description": "commit"}]
    )
    assert ir.search(corpus, "fill in forms")[0].name == "pdf"
    corpus.close()


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (["a", 3], "document 2 of 2 is neither a text nor a mapping: it is a int"),
        (["a", {"meta": {}}], "document 2 of 2 has no text"),
        ([{"text": "a", "id": "x"}, {"text": "b", "id": "x"}], "document 2 of 2 has the id 'x'"),
        ([{"text": "a", "id": 7}], "document 1 of 1: its id is not text: 7"),
        ([{"text": "a", "meta": "m"}], "document 1 of 1: its meta is not a mapping but a str"),
        ([{"text": "a", "meta": {"name": "n"}}], "document 1 of 1: its meta has 'name'"),
        ("a text", "documents are a mapping or a list, not a str"),
    ],
)
def test_what_is_no_document_of_a_list_is_named_by_its_place(items, message):
    with pytest.raises(QueryError, match=message):
        ir.CorpusSource.from_mapping(items, name="listed")
