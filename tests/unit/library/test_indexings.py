"""Comparison of corpora, and of ways to search one."""

import pytest

import irdaemon as ir
from irclient.errors import QueryError
from tests.support.built import hold

TOOLS = {
    "network": "graph network of nodes and edges",
    "layout": "graph layout of nodes for printing",
    "cable": "network cable of copper",
    "audio": "sound of a waveform",
}
GRAPHS = ir.eval.GradedQuery(
    "graph network",
    {"network": "core", "layout": "strong", "cable": "none"},
    ("cable",),
    ("layout",),
    "graphs",
)


@pytest.fixture(scope="module")
def tools():
    with hold(TOOLS, name="tools", strategy=ir.WholeText()) as made:
        yield made


def compared(corpora, **more):
    return ir.eval.compare_indexings(corpora, [GRAPHS], **more)


def backwards(query, texts):
    return [at / 10 for at, _ in enumerate(texts)]


def test_one_corpus_is_compared_under_several_ways_to_search_it(tools):
    ways = {"plain": tools, "same": tools, "reversed": tools}
    found = compared(ways, k=3, search_by_label={"reversed": {"rerank": backwards}})
    ndcg = {label: each[GRAPHS.text].ndcg for label, each in found.measures.items()}
    assert ndcg["plain"] == ndcg["same"] > ndcg["reversed"]
    assert found.ranks["reversed"] != found.ranks["plain"] == found.ranks["same"]


def test_each_share_can_be_traced_to_artifacts_and_belongs_to_a_theme(tools):
    found = compared({"plain": tools}, k=2)
    measures = found.measures["plain"][GRAPHS.text]
    assert measures.distractors_seen in ((), ("cable",))
    assert measures.false_positives == len(measures.distractors_seen) / 1
    assert measures.hard_recall == 1 - len(measures.hard_positives_missed)
    assert [query.theme for query in found.queries] == ["graphs"]
    missed = compared({"one": tools}, k=1).measures["one"][GRAPHS.text]
    assert (missed.hard_recall, missed.hard_positives_missed) == (0.0, ("layout",))


def test_a_function_is_ranked_as_a_corpus_is(tools):
    def dense(text, *, k):
        return ir.search(tools, text, k=k, mode="dense")

    def fused(text, *, k):
        lists = {"dense": dense(text, k=k), "lexical": ir.search(tools, text, k=k, mode="lexical")}
        return ir.fuse_hits(lists, k=k)

    arms = {"corpus": tools, "same": dense, "fused": fused}
    found = compared(arms, k=2, search_by_label={"corpus": {"mode": "dense"}})
    assert found.measures["same"] == found.measures["corpus"]
    assert found.ranks["same"] == found.ranks["corpus"]
    expected = list(dict.fromkeys(hit.artifact_id for hit in fused(GRAPHS.text, k=10)))
    ranks = {each: expected.index(each) + 1 for each in GRAPHS.watched if each in expected}
    assert found.ranks["fused"][GRAPHS.text] == ranks


def test_a_function_that_gives_more_or_twice_or_one_by_one_is_cut(tools):
    def greedy(text, *, k):
        hits = ir.search(tools, text, k=100, mode="dense")
        yield from hits
        yield from hits

    plain = {"corpus": {"mode": "dense"}}
    found = compared({"corpus": tools, "greedy": greedy}, k=1, search_by_label=plain, rank_depth=2)
    assert found.ranks["greedy"] == found.ranks["corpus"]
    assert max(found.ranks["greedy"][GRAPHS.text].values()) <= 2
    assert found.measures["greedy"] == found.measures["corpus"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"search_by_label": {"tolls": {}}}, "unknown label 'tolls'; did you mean 'tools'"),
        ({"search_by_label": {"tools": {"k": 3}}}, "sets k of 'tools'"),
        ({"search_by_label": {"tools": {"per_artifact": False}}}, "sets per_artifact of 'tools'"),
        ({"search_by_label": {"own": {"mode": "lexical"}}}, "'own' is not a corpus built here"),
        ({"search_by_label": {"tools": {"moed": "dense"}}}, "search takes no 'moed'"),
        ({"k": 20, "rank_depth": 5}, "rank_depth must be at least k, 20"),
    ],
)
def test_what_cannot_be_compared_is_refused(tools, options, said):
    with pytest.raises(QueryError, match=said):
        compared({"tools": tools, "own": lambda text, k: []}, **options)


def test_a_walk_and_a_boost_bring_up_what_only_its_dependencies_tell():
    packages = {
        **{f"talk{n}": {"description": f"graph network talk number {n}"} for n in range(4)},
        **{f"hard{n}": {"description": f"toolkit number {n}", "deps": ["edges"]} for n in range(3)},
        "edges": {"description": "graph network of nodes", "deps": []},
        **{f"other{n}": {"description": f"bread of kind {n}"} for n in range(4)},
    }
    named = {id: {"name": id, **item} for id, item in packages.items()}
    source = ir.CorpusSource.from_mapping(named, name="pk", strategy=ir.Package())
    corpus = ir.build(source, store=":memory:", embedder="hashing")
    hard = tuple(f"hard{n}" for n in range(3))
    query = ir.eval.GradedQuery(
        "graph network",
        {"edges": "core", **dict.fromkeys(hard, "strong")},
        tuple(f"talk{n}" for n in range(4)),
        hard,
    )

    def walked(text, *, k):
        policy = ir.reverse_dependency_policy(seeds=["edges"])
        lists = {
            "flat": ir.search(corpus, text, k=k),
            "walk": ir.traverse(text, corpus, policy=policy, k=k),
        }
        return ir.fuse_hits(lists, k=k, identity=lambda hit: hit.artifact_id)

    boost = ir.dependency_evidence_boost(["edges"], weight=2.0)
    found = ir.eval.compare_indexings(
        {"plain": corpus, "walk": walked, "boost": corpus},
        [query],
        k=5,
        search_by_label={"boost": {"dep_boost": boost}},
    )
    plain, walk, boosted = (each[query.text] for each in found.measures.values())
    assert plain.hard_recall == 0.0
    assert min(walk.hard_recall, boosted.hard_recall) > 0.5
    assert min(walk.ndcg, boosted.ndcg) > plain.ndcg
    corpus.close()


def test_a_query_may_name_artifacts_as_people_do_and_what_is_nowhere_is_warned_of():
    placed = {f"~/tools/{id}": {"name": id, "description": text} for id, text in TOOLS.items()}
    source = ir.CorpusSource.from_mapping(placed, name="placed")
    corpus = ir.build(source, store=":memory:", embedder="hashing")
    found = compared({"plain": corpus, "dense": ir.as_retriever(corpus, mode="dense")}, k=3)
    assert found.measures["plain"][GRAPHS.text].ndcg > 0
    assert "~/tools/network" in found.queries[0].levels
    assert found.drift == ()
    lost = ir.eval.GradedQuery("graph network", {"network": "core", "radio": "strong"})
    with pytest.warns(UserWarning, match="'radio': no artifact"):
        found = ir.eval.compare_indexings({"plain": corpus}, [lost])
    assert found.drift == ("radio",)


def test_a_copy_that_another_hit_stands_for_counts_as_found():
    copies = {each: {"name": "fill", "description": "Fill in a form"} for each in ("a", "b")}
    source = ir.CorpusSource.from_mapping(copies, name="copies")
    corpus = ir.build(source, store=":memory:", embedder="hashing")
    for gold in copies:
        query = ir.eval.GradedQuery("fill in a form", {gold: "core"})
        found = ir.eval.compare_indexings({"plain": corpus}, [query])
        assert found.measures["plain"][query.text].ndcg == 1.0
