"""The BM25 contract over documents in memory, compared with the formula written out."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import irdaemon as ir
from irclient.errors import QueryError
from irdaemon.library.inmemory import STOP_WORDS, build_index, search, tokenize

WORDS = "red fish blue sea the and tide éclair x 東京 snake_case a-b"
texts = st.lists(st.sampled_from(WORDS.split()), max_size=12).map(" ".join)


def counted(text):
    words = re.split(r"\W+", text.lower())
    return [word for word in words if len(word) > 1 and word not in STOP_WORDS]


def plain_bm25(docs, query):
    """Return (position, score) of what scores above 0, best first, by the formula."""
    held = [counted(doc) for doc in docs]
    mean = sum(map(len, held)) / len(held) if held else 0
    found = []
    for at, words in enumerate(held):
        score = 0.0
        for word in counted(query):
            df, tf = sum(word in each for each in held), words.count(word)
            idf = math.log(1 + (len(held) - df + 0.5) / (df + 0.5))
            score += idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * len(words) / mean)) if tf else 0
        found.append((at, score))
    return sorted((pair for pair in found if pair[1] > 0), key=lambda p: (-round(p[1], 9), p[0]))


@given(st.lists(texts, max_size=12), texts, st.integers(1, 15))
def test_scores_and_order_are_those_of_the_formula(docs, query, k):
    found = search(
        build_index([{"text": doc, "meta": {"at": at}} for at, doc in enumerate(docs)]), query, k
    )
    expected = plain_bm25(docs, query)[:k]
    assert [each["meta"]["at"] for each in found] == [at for at, _ in expected]
    assert [each["score"] for each in found] == pytest.approx([score for _, score in expected])
    assert [each["text"] for each in found] == [docs[at] for at, _ in expected]


def test_words_are_lower_cased_cut_at_what_is_no_word_character_and_at_least_two_long():
    assert tokenize("The Fetch-With-Retry: x, snake_case ÉCLAIR 東京 42!") == [
        "fetch", "retry", "snake_case", "éclair", "東京", "42",
    ]  # fmt: skip


def test_stop_words_are_published_and_count_neither_in_documents_nor_in_queries():
    assert "the" in ir.inmemory.STOP_WORDS
    index = build_index(["the sea", "a fish"])
    assert search(index, "the a of", 4) == []
    assert index.vocabulary.keys() == {"sea", "fish"}


@pytest.mark.parametrize("docs", [[], [""], ["  ", "\n"], ["the of", "a"]])
def test_documents_without_a_word_that_counts_give_nothing_for_any_query(docs):
    assert search(build_index(docs), "the sea", 4) == []


def test_a_tie_is_in_the_order_of_the_documents():
    found = search(
        build_index([{"text": "red fish", "meta": {"at": at}} for at in range(5)]), "fish", 3
    )
    assert [each["meta"]["at"] for each in found] == [0, 1, 2]


def test_what_scores_zero_is_left_out_and_no_more_come_than_there_are():
    index = build_index(["red fish", "blue sea", "red sea"])
    assert [each["text"] for each in search(index, "red", 10)] == ["red fish", "red sea"]
    assert search(index, "quantum", 10) == []
    assert search(index, "", 10) == []


def test_the_text_comes_back_whole_with_its_meta():
    text = "Fish  live\n\nin the Sea. " * 500
    (found,) = search(build_index([{"text": text, "meta": {"page": 3}}, "other"]), "fish", 1)
    assert (found["text"], found["meta"]) == (text, {"page": 3})
    assert set(found) == {"text", "meta", "score"}


def test_an_index_does_not_change_with_what_it_was_made_of_nor_with_what_it_gave():
    given = [{"text": "red fish", "meta": {"tags": ["a"]}}]
    index = build_index(given)
    given[0]["meta"]["tags"].append("b")
    given.append("more fish")
    search(index, "fish", 4)[0]["meta"]["tags"].append("c")
    assert search(index, "fish", 4)[0]["meta"] == {"tags": ["a"]}
    with pytest.raises(AttributeError):
        index.documents = ()


def test_a_word_that_the_query_has_twice_counts_twice():
    index = build_index(["red", "fish"])
    (once,), (twice,) = search(index, "red", 1), search(index, "red red", 1)
    assert twice["score"] == pytest.approx(2 * once["score"])


@pytest.mark.parametrize(
    ("docs", "message"),
    [
        (["a", 3], "document 2 of 2 is neither a text nor a mapping: it is a int"),
        (["a", None], "document 2 of 2 is neither"),
        ([{"meta": {}}], "document 1 of 1 has no text"),
        ([{"text": None}], "document 1 of 1 has no text"),
        ([{"text": "a", "meta": ["x"]}], "document 1 of 1: its meta is not a mapping but a list"),
        (
            [{"text": "a", "metadata": {}}],
            "document 1 of 1 has an unknown key 'metadata'; .*'meta'",
        ),
        ("a text", "documents are a list, not a str"),
        ({"a": "text"}, "documents are a list, not a dict"),
        (None, "documents are a list, not a NoneType"),
    ],
)
def test_what_is_no_document_is_named_by_its_place(docs, message):
    with pytest.raises(QueryError, match=message):
        build_index(docs)


@pytest.mark.parametrize("k", [0, -1, True, 1.5, "4", None])
def test_a_k_below_one_is_refused(k):
    with pytest.raises(QueryError, match="k must be a whole number from 1 up"):
        search(build_index(["a fish"]), "fish", k)


def test_a_query_that_is_no_text_is_refused():
    with pytest.raises(QueryError, match="a query is a text, not 3"):
        search(build_index(["a fish"]), 3, 4)
