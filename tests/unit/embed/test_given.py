"""Embedders that a program hands over."""

import numpy as np
import pytest

import irdaemon as ir
from irclient.errors import QueryError, Unavailable
from irdaemon.embed.hashing import Hashing
from irdaemon.embed.models import adopt_embedder


def letters(texts):
    return [[text.count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts]


letters.id = "letters-1"


class Own:
    id = "own-1"
    dim = 26

    def embed(self, texts):
        rows = np.array(letters(texts), np.float32)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def built(embedder, store=":memory:"):
    source = ir.CorpusSource.from_mapping({"a": "zebra", "b": "window"}, name="words")
    return ir.build(source, store=store, embedder=embedder)


@pytest.mark.parametrize(
    "embedder", [letters, Own(), Hashing()], ids=["function", "object", "ours"]
)
def test_an_object_and_a_function_embed_records_and_queries(embedder):
    corpus = built(embedder)
    assert corpus.engine.snapshot.corpora["words"].embedder == embedder.id
    assert corpus.engine.snapshot.corpora["words"].unembedded == 0
    assert ir.search(corpus, "zebra", mode="dense")[0].artifact_id == "a"
    corpus.close()


def test_rows_of_a_function_are_brought_to_unit_length():
    rows = adopt_embedder(letters).embed(["aab", "..."])
    assert np.linalg.norm(rows, axis=1).tolist() == pytest.approx([1, 0])


def test_an_embedder_without_an_id_is_refused_with_how_to_give_one():
    with pytest.raises(QueryError, match="has no id") as refused:
        built(lambda texts: letters(texts))
    assert "embed.id = " in refused.value.hint
    with pytest.raises(QueryError, match="is not an embedder"):
        built(3)


@pytest.mark.parametrize(
    "rows", [lambda texts: [1.0], lambda texts: [[1, 2]] * 7, lambda texts: [[float("nan")]]]
)
def test_a_function_that_gives_no_row_for_each_text_is_refused(rows):
    rows.id = "wrong"
    with pytest.raises(QueryError, match="embedder 'wrong' gave"):
        adopt_embedder(rows)


@pytest.mark.parametrize("name", ["light", "hash", "hashing"])
def test_light_is_another_name_of_hashing(name):
    corpus = built(name)
    assert corpus.engine.snapshot.corpora["words"].embedder == "hashing-512"
    corpus.close()


def test_a_corpus_with_an_embedder_of_its_own_is_opened_with_it_or_answers_by_words(tmp_path):
    store = str(tmp_path / "words.sqlite")
    built(letters, store).close()
    plain = ir.open_corpus("words", store=store)
    assert plain.search("zebra").freshness["legs"] == ["lexical"]
    with pytest.raises(Unavailable, match="'letters-1' was an object"):
        plain.engine.state.embedders.get_embedder("letters-1").embed(["x"])
    plain.close()
    whole = ir.open_corpus("words", store=store, embedder=letters)
    assert whole.search("zebra").freshness["legs"] == ["dense", "lexical"]
    whole.close()
    with pytest.raises(QueryError, match="built with embedder 'letters-1', not with 'own-1'"):
        ir.open_corpus("words", store=store, embedder=Own())
