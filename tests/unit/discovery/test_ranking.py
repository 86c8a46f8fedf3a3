"""Index, retrieval and discovery together, over corpora in memory."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import irdaemon as ir
from irclient.errors import QueryError
from irdaemon.engine.queue import Job
from irdaemon.ingest.scan import ScanRequest
from irdaemon.types import Query, SelectSpec
from tests.support.graphs import needs_graph
from tests.support.searching import TOOLS, WORDS, corpus_of, engine_of, names, tool


def test_the_best_match_comes_first_with_every_score_beside_it():
    answer = engine_of(TOOLS).search(Query("fill in a pdf form"))
    assert names(answer)[0] == "fill"
    best = answer.results[0]
    assert best.scores["dense"] > 0
    assert best.scores["lexical"] > 0
    bm25 = best.scores["lexical"]
    expected = 0.5 * best.scores["dense"] + 0.5 * bm25 / (bm25 + 8)
    assert best.scores["evidence"] == pytest.approx(expected, abs=1e-3)
    assert 0 < best.score <= 1


@pytest.fixture(scope="module")
def two_corpora():
    items = {f"t{n}": tool(" ".join(WORDS[n : n + 4])) for n in range(len(WORDS))}
    return engine_of(items, more={f"m{n}": tool(word) for n, word in enumerate(WORDS)})


@given(
    words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=6),
    floor=st.sampled_from([None, 0.0, 0.2]),
)
def test_the_scores_of_an_answer_fall_along_it(two_corpora, words, floor):
    engine = two_corpora
    spec = SelectSpec("top_k", max_k=10, min_score=floor)
    query = Query(" and ".join(words), select=spec)
    for answer in (
        engine.search(query),
        engine.discover(query),
        engine.discover(Query(query.text)),
    ):
        scores = [hit.score for hit in answer.results]
        assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
def test_a_word_as_it_is_typed_comes_before_its_stem(mode):
    engine = engine_of(
        {
            "pool": tool("spawn spawned spawns workers"),
            "fork": tool("spawns a spawned process"),
            "guide": tool("notes on schedules, locks, queues and the spawning of workers"),
        }
    )
    assert names(engine.search(Query("spawning", mode=mode)))[0] == "guide"
    assert names(engine.search(Query("spawned", mode=mode)))[0] in ("pool", "fork")


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"team": "docs"}, {"fill", "merge"}),
        ({"team": {"$ne": "docs"}}, {"deploy"}),
        ({"size": {"$gt": 3}}, {"merge"}),
        ({"size": {"$gte": 3, "$lt": 10}}, {"fill"}),
        ({"team": {"$in": ["ops", "x"]}}, {"deploy"}),
        ({"team": {"$nin": ["ops"]}}, {"fill", "merge"}),
        ({"tags": "office"}, {"fill"}),
        ({"tags": {"$in": ["pdf", "z"]}}, {"fill", "merge"}),
        ({"size": {"$exists": False}}, {"deploy"}),
        ({"$or": [{"size": 10}, {"team": "ops"}]}, {"merge", "deploy"}),
        ({"$and": [{"team": "docs"}, {"size": 3}]}, {"fill"}),
        ({"$not": {"team": "docs"}}, {"deploy"}),
        ({"since": {"$gte": "2026-08"}}, {"deploy"}),
        ({"size": {"$gt": "a"}}, set()),
    ],
)
def test_a_filter_lets_through_exactly_what_meets_it(where, expected):
    answer = engine_of(TOOLS).search(Query("pdf deploy fill", where=where))
    assert set(names(answer)) == expected


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ({"team": {"$regx": "x"}}, r"unknown filter operator '\$regx'"),
        ({"teem": "docs"}, "did you mean 'team'"),
        ({"team": {"$in": "docs"}}, "takes a list"),
        ({"$or": {"team": "x"}}, "takes a list"),
        ({"$nor": []}, r"did you mean '\$n?or'|did you mean '\$not'"),
        ({"team": {}}, "empty"),
    ],
)
def test_a_filter_that_cannot_be_followed_is_an_error_that_says_what(where, said):
    with pytest.raises(QueryError, match=said):
        engine_of(TOOLS).search(Query("pdf", where=where))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(WORDS)), min_size=1), st.data())
def test_a_filter_never_loses_a_matching_item_at_any_k(items, data):
    corpus = {f"t{n}": tool(f"common {word}", team=team) for n, (team, word) in enumerate(items)}
    engine = engine_of(corpus)
    matching = {name for name, item in corpus.items() if item["team"] == "a"}
    k = data.draw(st.integers(1, len(corpus)))
    answer = engine.search(Query("common", k=k, where={"team": "a"}))
    found = {copy.partition("/")[2] for hit in answer.results for copy in hit.duplicates}
    found |= set(names(answer))
    assert found <= matching
    assert len(answer.results) == k or found == matching


def changed(corpus, change):
    kind, name, words = change
    if kind == "drop":
        return {key: item for key, item in corpus.items() if key != name}
    return {**corpus, name: tool(" ".join(words))}


changes = st.tuples(
    st.sampled_from(["put", "put", "drop"]),
    st.sampled_from([f"t{n}" for n in range(6)]),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=6),
)


@settings(max_examples=25, deadline=None)
@given(st.lists(changes, min_size=1, max_size=8), st.sampled_from([0, 3]))
def test_the_ranking_after_any_updates_is_that_of_a_fresh_build(steps, hnsw_above):
    items = {"t0": tool("pdf form"), "t9": tool("deploy cloud test")}
    engine = engine_of(items, hnsw_above)
    for step in steps:
        items = changed(items, step)
        corpus = corpus_of(items)
        engine.reconfigure([corpus])
        engine.request(Job("reconcile", "tools", ScanRequest(prune=True)))
        engine.drain()
    fresh = engine_of(items, hnsw_above)
    for text in ("pdf form", "deploy python test", "invoice"):
        ours, theirs = engine.search(Query(text, k=20)), fresh.search(Query(text, k=20))
        assert [(h.name, h.score) for h in ours.results] == [
            (h.name, pytest.approx(h.score, abs=2e-4)) for h in theirs.results
        ]


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
def test_equal_scores_are_ordered_by_id(mode):
    engine = engine_of(
        {
            name: {"name": f"n {n}", **tool("same words")}
            for n, name in zip("zyx", "cab", strict=True)
        }
    )
    hits = engine.search(Query("same words", mode=mode)).results
    assert [hit.artifact_id for hit in hits] == ["a", "b", "c"]


def test_duplicates_are_joined_under_the_best_scope_and_are_listed():
    skill = {"name": "pdf", "description": "Fill a pdf form", "text": "Use qpdf."}
    scopes = {"a": "other", "b": "plugin", "c": "project", "d": "user"}
    engine = engine_of(
        {name: {**skill, "scope": scope, "parent": name} for name, scope in scopes.items()},
        more={"far": skill, "near": {**skill, "text": "Use something else."}},
    )
    hits = engine.search(Query("pdf form qpdf")).results
    assert [hit.artifact_id for hit in hits] == ["c", "near"]
    assert set(hits[0].duplicates) == {"tools/a", "tools/b", "tools/d", "more/far"}


@needs_graph
def test_a_graph_finds_what_exact_search_finds_and_nothing_that_is_gone():
    items = {f"t{n}": tool(f"{WORDS[n % 8]} {WORDS[n // 8 % 8]} number{n}") for n in range(600)}
    exact, graph = engine_of(items), engine_of(items, hnsw_above=100)
    assert graph.snapshot.corpora["tools"].dense.graph is not None
    hit_rate = 0
    for n in range(0, 600, 20):
        query = Query(items[f"t{n}"]["description"], mode="dense", k=10)
        expected = set(names(exact.search(query)))
        hit_rate += len(expected & set(names(graph.search(query)))) / len(expected) / 30
    assert hit_rate > 0.95
    left = {key: item for key, item in items.items() if key != "t40"}
    graph.reconfigure([corpus_of(left)])
    graph.request(Job("reconcile", "tools"))
    graph.drain()
    query = Query(items["t40"]["description"], mode="dense", k=50)
    assert "t40" not in names(graph.search(query))


def test_an_unknown_embedder_is_an_error_that_names_the_known():
    source = ir.CorpusSource.from_mapping({"a": "x"}, name="t")
    with pytest.raises(QueryError, match="did you mean 'hashing'"):
        ir.build(source, store=":memory:", embedder="hashin")


NAMED = {
    "fill-pdf": {"name": "fill-pdf", **tool("Complete forms")},
    "parseConfig": {"name": "parseConfig", **tool("Read settings")},
    "commit": {"name": "commit", **tool("Write a message for a change")},
    **{
        f"noise{n}": tool("how do I use this for commit and fill pdf config work")
        for n in range(20)
    },
}


def test_a_common_word_in_prose_calls_no_artifact_by_name():
    answer = engine_of(NAMED).search(Query("please commit to this plan"))
    assert all(hit.score < 1 for hit in answer.results)


def test_a_filter_holds_for_what_is_called_by_name_too():
    answer = engine_of(NAMED).search(Query("fill-pdf", where={"name": "commit"}))
    assert names(answer) == ["commit"]
