"""Wordings of a query: from a function or a model, and the union of what they find."""

import pytest

from irclient.errors import QueryError, Unavailable
from irdaemon.library.wordings import (
    ModelFormulator,
    formulate_wordings,
    make_rewriter,
    unite_rankings,
)
from irdaemon.types import Hit


def hit(artifact_id, score, corpus="tools"):
    return Hit(corpus, artifact_id, artifact_id, "document", score, {}, "", "", {})


def failing(query):
    raise RuntimeError("no model")


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("one wording", ("one wording",)),
        (["a b", "c d", "a b", " "], ("a b", "c d")),
        ([], ("the query",)),
        ("", ("the query",)),
    ],
)
def test_wordings_are_a_text_or_a_list_each_once_and_the_query_where_there_is_none(given, found):
    assert formulate_wordings(lambda query: given, "the query") == found


@pytest.mark.parametrize("given", [None, 3, ["a", 3], {"a": "b"}, [f"w{n}" for n in range(17)]])
def test_what_is_no_wording_or_too_many_is_refused(given):
    with pytest.raises(QueryError, match="formulate"):
        formulate_wordings(lambda query: given, "the query")


def test_a_union_has_each_artifact_once_at_its_best_evidence_best_first():
    found = unite_rankings(
        [[hit("a", 0.5), hit("b", 0.4)], [hit("b", 0.9), hit("a", 0.1), hit("c", 0.5)]]
    )
    assert [(each.artifact_id, each.score) for each in found] == [
        ("b", 0.9),
        ("a", 0.5),
        ("c", 0.5),
    ]


def test_one_id_of_two_corpora_is_two_artifacts():
    assert len(unite_rankings([[hit("a", 0.5)], [hit("a", 0.4, "notes")]])) == 2


def test_a_rewriter_gives_the_wordings():
    formulate = ModelFormulator(lambda query: [query, f"{query} server"])
    assert formulate("deploy") == ["deploy", "deploy server"]
    assert ModelFormulator(lambda query: query)("deploy") == ["deploy"]


@pytest.mark.parametrize(
    "rewriter", [failing, lambda query: [], lambda query: None, lambda query: 3]
)
def test_a_rewriter_that_fails_or_gives_nothing_leaves_the_query_as_it_is(rewriter):
    assert ModelFormulator(rewriter)("deploy") == "deploy"
    assert ModelFormulator(rewriter, lambda query: ["other"])("deploy") == ["other"]


def test_a_model_is_asked_for_lines_and_sent_no_secret():
    sent = []

    def complete(prompt, timeout_s):
        sent.append((prompt, timeout_s))
        return "- first one\n\n* second one\nthird\nfourth"

    token = "ghp_" + "a1B2c3D4e5F6" * 3
    assert make_rewriter(complete, 3, 7.0)(f"use {token}") == ["first one", "second one", "third"]
    ((prompt, timeout_s),) = sent
    assert (token in prompt, timeout_s) == (False, 7.0)


def test_a_model_without_a_reply_is_an_error_of_the_rewriter():
    def complete(prompt, timeout_s):
        raise Unavailable("it is down", "")

    with pytest.raises(Unavailable):
        make_rewriter(complete, 3, 7.0)("deploy")


@pytest.mark.parametrize("n", [0, 17, True, "3"])
def test_a_number_of_wordings_that_is_none_is_refused(n):
    with pytest.raises(QueryError, match="n must be"):
        make_rewriter(lambda prompt, timeout_s: "", n, 7.0)
