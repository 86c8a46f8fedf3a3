"""Dependencies as evidence in a search of one's own."""

import numpy as np
import pytest

import irdaemon as ir
from irclient.errors import QueryError
from irdaemon.types import Hit

PACKAGES = {
    "meshed": {"name": "meshed", "description": "Compose functions into a framework", "deps": []},
    "allude": {"name": "allude", "description": "References in documents", "deps": ["meshed>=1"]},
    "unbox": {"name": "unbox", "description": "Unpack containers", "deps": ["Meshed", "networkx"]},
    "au": {"name": "au", "description": "Runner for DAG graph workflows", "deps": ["anyio"]},
    "cooking": {"name": "cooking", "description": "Bake bread", "deps": ["flour"]},
}
QUERY = "DAG graph workflows"


@pytest.fixture(scope="module")
def corpus():
    source = ir.CorpusSource.from_mapping(PACKAGES, name="pk", strategy=ir.Package())
    return ir.build(source, store=":memory:", embedder="hashing")


def of(deps):
    return Hit(
        "c", "a", "a", "description", 0.0, {}, "", "", deps if deps is None else {"deps": deps}
    )


def scores(hits):
    return {hit.artifact_id: hit.score for hit in hits}


def test_what_depends_on_one_of_the_libraries_is_lifted_by_the_weight():
    boost = ir.dependency_evidence_boost({"meshed", "scikit_learn"}, weight=2.0)
    assert boost(of(["meshed>=0.1", "dol"])) == boost(of(["Scikit-Learn[extra]"])) == 2.0
    assert boost(of(["numpy"])) == boost(of([])) == 0.0
    assert boost(Hit("c", "a", "a", "d", 0.0, {}, "", "", {})) == 0.0


def test_with_a_saturation_it_is_lifted_by_its_share():
    boost = ir.dependency_evidence_boost({"meshed", "dol"}, weight=1.0, saturate=4)
    assert boost(of(["meshed", "dol", "numpy"])) == 0.5


@pytest.mark.parametrize("weight", [-1.0, float("inf"), float("nan"), True, "1"])
def test_a_weight_that_is_none_is_refused(weight):
    with pytest.raises(QueryError, match="weight"):
        ir.dependency_evidence_boost({"meshed"}, weight=weight)


@pytest.mark.parametrize("saturate", [0, 1.5, True])
def test_a_saturation_that_is_none_is_refused(saturate):
    with pytest.raises(QueryError, match="saturate"):
        ir.dependency_evidence_boost({"meshed"}, weight=1.0, saturate=saturate)


def test_a_bare_text_is_no_collection_of_names():
    with pytest.raises(TypeError, match="not the text"):
        ir.dependency_evidence_boost("networkx", weight=1.0)


@pytest.mark.parametrize("mode", ["dense", "lexical", "hybrid"])
def test_a_boost_is_added_to_each_score_and_evidence_stays(corpus, mode):
    boost = ir.dependency_evidence_boost({"meshed"}, weight=1.0)
    query = f"{QUERY} documents containers"
    plain = ir.search(corpus, query, k=50, mode=mode)
    boosted = ir.search(corpus, query, k=50, mode=mode, dep_boost=boost)
    before, after = scores(plain), scores(boosted)
    assert set(before) == set(after) >= {"allude", "unbox"}
    for id, score in before.items():
        extra = 1.0 if id in ("allude", "unbox") else 0.0
        assert after[id] == pytest.approx(score + extra, abs=1e-3)
    evidence = {hit.artifact_id: hit.scores["evidence"] for hit in plain}
    assert {hit.artifact_id: hit.scores["evidence"] for hit in boosted} == evidence


def test_what_only_says_so_falls_behind_what_depends_on_it(corpus):
    boost = ir.dependency_evidence_boost({"meshed"}, weight=1.0)
    found = [hit.artifact_id for hit in ir.search(corpus, QUERY, k=5, dep_boost=boost)]
    assert ir.search(corpus, QUERY, k=5)[0].artifact_id == "au"
    assert set(found[:2]) == {"allude", "unbox"}


def test_without_a_boost_nothing_changes(corpus):
    def plain(hits):
        return [hit.to_dict() for hit in hits]

    assert plain(ir.search(corpus, QUERY, dep_boost=None)) == plain(ir.search(corpus, QUERY))
    nothing = ir.search(corpus, QUERY, dep_boost=lambda hit: 0.0)
    assert plain(nothing) == plain(ir.search(corpus, QUERY))


def test_a_boost_comes_after_the_reranker(corpus):
    def backwards(query, texts):
        return [at / 10 for at, _ in enumerate(texts)]

    boost = ir.dependency_evidence_boost({"meshed"}, weight=1.0)
    before = scores(ir.search(corpus, QUERY, k=50, rerank=backwards))
    after = scores(ir.search(corpus, QUERY, k=50, rerank=backwards, dep_boost=boost))
    for id, score in before.items():
        extra = 1.0 if id in ("allude", "unbox") else 0.0
        assert after[id] == pytest.approx(score + extra, abs=1e-3)


def test_a_boost_lifts_what_lies_far_behind():
    items = {
        f"p{n}": {"name": f"p{n}", "description": "graph " * (80 - n), "deps": []}
        for n in range(80)
    }
    items["last"] = {"name": "last", "description": "some graph of a kind", "deps": ["networkx"]}
    source = ir.CorpusSource.from_mapping(items, name="many", strategy=ir.Package())
    many = ir.build(source, store=":memory:", embedder="hashing")
    boost = ir.dependency_evidence_boost({"networkx"}, weight=1.0)
    assert "last" not in scores(ir.search(many, "graph", k=3))
    assert ir.search(many, "graph", k=3, dep_boost=boost)[0].artifact_id == "last"


def test_a_boost_holds_in_each_of_several_corpora(corpus):
    other = {"x": {"name": "x", "description": "graph workflows", "deps": ["networkx"]}}
    source = ir.CorpusSource.from_mapping(other, name="other", strategy=ir.Package())
    two = [corpus, ir.build(source, store=":memory:", embedder="hashing")]
    boost = ir.dependency_evidence_boost({"networkx"}, weight=1.0)
    after = scores(ir.search(two, QUERY, merge="score", dep_boost=boost))
    assert after["x"] > 1 > after["au"]


@pytest.mark.parametrize("given", [float("nan"), float("inf"), True, None, "1"])
def test_a_boost_that_is_no_finite_number_is_refused(corpus, given):
    with pytest.raises(QueryError, match="dep_boost"):
        ir.search(corpus, QUERY, dep_boost=lambda hit: given)
    with pytest.raises(QueryError, match="dep_boost"):
        ir.search(corpus, QUERY, dep_boost="networkx")


def test_numbers_of_numpy_are_numbers(corpus):
    assert ir.search(corpus, QUERY, dep_boost=lambda hit: np.float32(0.5))[0].score > 0.5


# -- packages whose prose does not say what they are for -----------------------------------------

THEMES = {
    "graphs": ("graph network algorithms", ("networkx", "igraph")),
    "embeddings": ("sentence embedding similarity", ("transformers", "faiss")),
}
FILLER = "tool helper wrapper adapter kit shell"


@pytest.fixture(scope="module")
def themed():
    """Per theme six packages that are built on it and do not say so, six that only say so."""
    items = {}
    for theme, (words, libraries) in THEMES.items():
        first, second, third = words.split()
        for n in range(6):
            plain = f"{FILLER.split()[n]} number {n} of {theme[:1]}x"
            deps = [libraries[n % 2], "click"]
            items[f"{theme}-hard-{n}"] = {"description": plain, "deps": deps}
            said = [f"{first} {second}", f"{second} {third}", words][n % 3]
            items[f"{theme}-said-{n}"] = {"description": f"about {said} {n}", "deps": ["rich"]}
        for n in range(3):
            text = f"{words} at heart {n}"
            items[f"{theme}-core-{n}"] = {"description": text, "deps": [libraries[0]]}
    for n in range(40):
        items[f"other-{n}"] = {"description": f"bread and cake number {n}", "deps": ["flour"]}
    named = {id: {"name": f"p{at}", **each} for at, (id, each) in enumerate(items.items())}
    source = ir.CorpusSource.from_mapping(named, name="themed", strategy=ir.Package())
    return ir.build(source, store=":memory:", embedder="hashing")


def gain(hits, theme):
    """Return the discounted gain of a ranking: 2 for a core package, 1 for one built on it."""
    worth = {f"{theme}-core": 2, f"{theme}-hard": 1}
    return sum(
        worth.get(hit.artifact_id.rpartition("-")[0], 0) / np.log2(2 + at)
        for at, hit in enumerate(hits[:20])
    )


def count(hits, start, within):
    return sum(hit.artifact_id.startswith(start) for hit in hits[:within])


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("way", ["walk", "boost"])
def test_dependencies_find_what_prose_does_not_and_let_in_no_more_that_only_says_so(
    themed, theme, way
):
    query, libraries = THEMES[theme]
    plain = ir.search(themed, query, k=20, mode="lexical")
    if way == "walk":
        policy = ir.reverse_dependency_policy(seeds=libraries)
        walked = ir.traverse(query, themed, policy=policy, k=20)
        found = ir.fuse_hits({"flat": plain, "walk": walked}, k=20)
    else:
        boost = ir.dependency_evidence_boost(libraries, weight=0.5)
        found = ir.search(themed, query, k=20, dep_boost=boost)
    assert count(plain, f"{theme}-hard", 20) == 0
    assert count(found, f"{theme}-hard", 20) >= 3
    assert count(found, f"{theme}-said", 10) <= count(plain, f"{theme}-said", 10)
    assert gain(found, theme) > gain(plain, theme)


@pytest.mark.parametrize("mode", ["dense", "lexical", "hybrid"])
def test_a_boost_is_added_to_the_score_of_every_surface_of_an_artifact(mode):
    items = {id: {**item, "readme": f"{QUERY} and {id}"} for id, item in PACKAGES.items()}
    source = ir.CorpusSource.from_mapping(items, name="pr", strategy=ir.Package())
    corpus = ir.build(source, store=":memory:", embedder="hashing")
    boost = ir.dependency_evidence_boost({"meshed"}, weight=1.0)
    asked = {"k": 50, "mode": mode, "per_artifact": False}
    query = f"{QUERY} documents containers"

    def by_surface(**more):
        hits = ir.search(corpus, query, **asked, **more)
        return {(hit.artifact_id, hit.surface_index): hit.score for hit in hits}

    plain, boosted = by_surface(), by_surface(dep_boost=boost)
    assert set(plain) == set(boosted) >= {("allude", 0), ("allude", 1)}
    for (id, index), score in plain.items():
        extra = 1.0 if id in ("allude", "unbox") else 0.0
        assert boosted[id, index] == pytest.approx(score + extra, abs=1e-3)


def test_what_is_lifted_is_committed_to_first(corpus):
    chosen = {"strategy": "top_k", "min_score": None, "max_k": 2}
    boost = ir.dependency_evidence_boost({"flour"}, weight=100.0)
    assert ir.discover(corpus, QUERY, **chosen).results[0].name == "au"
    assert ir.discover(corpus, QUERY, dep_boost=boost, **chosen).results[0].name == "cooking"
