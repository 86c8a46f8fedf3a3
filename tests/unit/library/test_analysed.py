"""Documents in memory, searched as a corpus is."""

import pytest

from irclient.errors import Unavailable
from irdaemon.discovery.discover import Models
from irdaemon.embed.pool import Absent, Embedders
from irdaemon.library.analysed import index_documents, rank_documents
from irdaemon.library.inmemory import as_documents
from irdaemon.runtime.deadline import set_deadline

DOCS = ["Branches are merged after a review.", "Forms can be filled and flattened.", "12 sheep"]


def embedded():
    embedders = Embedders()
    return embedders.get_embedder("hashing"), Models(embedders.embed_query)


@pytest.fixture(scope="module")
def made():
    embedder, models = embedded()
    return index_documents(as_documents(DOCS), embedder), models


def test_words_are_stemmed_and_parted_as_those_of_a_corpus_are(made):
    snapshot, models = made
    assert rank_documents(snapshot, "merging branch", 1, models)[0][0] == 0
    assert rank_documents(snapshot, "fill a form", 1, models)[0][0] == 1


def test_no_floor_is_applied_and_at_most_k_documents_come(made):
    snapshot, models = made
    assert len(rank_documents(snapshot, "fill a form", 2, models)) == 2
    scores = [score for _, score in rank_documents(snapshot, "quantum zebra form", 3, models)]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert rank_documents(snapshot, "form", 50_000, models)


def test_an_empty_query_and_no_documents_give_nothing(made):
    snapshot, models = made
    embedder, models = embedded()
    assert rank_documents(snapshot, " ", 4, models) == []
    assert rank_documents(index_documents((), embedder), "form", 4, models) == []


def test_a_documents_place_is_no_name_that_it_is_found_by(made):
    snapshot, _ = made
    lexical = Models(lambda text, embedder: None)
    assert (
        rank_documents(snapshot, "1", 4, lexical) == rank_documents(snapshot, "2", 4, lexical) == []
    )


def test_documents_of_the_same_text_are_joined_to_the_first():
    embedder, models = embedded()
    found = rank_documents(
        index_documents(as_documents(["a form", "a form", "a sea"]), embedder), "form", 4, models
    )
    assert [at for at, _ in found if at < 2] == [0]


def test_a_long_document_is_found_by_a_passage_far_inside():
    embedder, models = embedded()
    paragraph = "The weather of the northern plains was fine that year. " * 20
    long = "\n\n".join([*[paragraph] * 20, "A narwhal came to the harbour.", *[paragraph] * 20])
    snapshot = index_documents(as_documents(["plains", long, "a harbour"]), embedder)
    assert rank_documents(snapshot, "narwhal", 1, models)[0][0] == 1


def test_without_an_embedder_words_alone_rank():
    absent = Absent("x", Unavailable("not here"))
    snapshot = index_documents(as_documents(DOCS), absent)
    assert [
        at for at, _ in rank_documents(snapshot, "merge", 4, Models(Embedders().embed_query))
    ] == [0]


def test_the_deadline_of_a_request_ends_the_indexing():
    embedder, _ = embedded()
    with set_deadline(0.0), pytest.raises(Unavailable, match="gave this request up"):
        index_documents(as_documents(DOCS), embedder)
