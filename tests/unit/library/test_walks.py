"""Walks over built corpora: from summaries to passages, from packages to their dependents."""

import json

import pytest

import irdaemon as ir
from irclient.errors import QueryError

# Its description answers the first half of the query and its README the second; of the trap a
# passage has all the words of the first half, under a description that has none.
ROUTED = {
    "A": {"name": "A", "description": "kiln glaze pottery studio alpha",
          "readme": "zirconium recipe in full.\n\nfiller one two three."},
    "E": {"name": "E", "description": "kiln glaze beta", "readme": "neutral mu nu."},
    "D": {"name": "D", "description": "delta epsilon unrelated",
          "readme": "kiln glaze pottery studio trap distractor."},
    "F": {"name": "F", "description": "omega sigma", "readme": "generic tau."},
}  # fmt: skip
QUERY = "kiln glaze pottery studio zirconium"
PACKAGES = {
    "meshed": {"name": "meshed", "description": "function composition framework", "deps": ["i2"]},
    "allude": {"name": "allude", "description": "allusions in text", "deps": ["meshed>=1", "dol"]},
    "unbox": {"name": "unbox", "description": "unpack containers", "deps": ["Meshed", "networkx"]},
    "far": {"name": "far", "description": "uses allude", "deps": ["allude"]},
    "au": {"name": "au", "description": "runner for graph workflows", "deps": ["anyio"]},
}
ASKED = "graph workflows"


def built(items, name="rt", strategy=None, **more):
    strategy = strategy or ir.Package(chunk_size=120, overlap=10)
    source = ir.CorpusSource.from_mapping(items, name=name, strategy=strategy)
    return ir.build(source, store=":memory:", embedder="hashing", **more)


@pytest.fixture(scope="module")
def routed():
    return built(ROUTED)


@pytest.fixture(scope="module")
def packages():
    return built(PACKAGES, "pk", ir.Package())


def down(corpus, query=QUERY, **more):
    policy = {key: more.pop(key) for key in ("seed_k",) if key in more}
    return ir.traverse(query, corpus, policy=ir.collapsed_tree_policy(**policy), **more)


def up(corpus, seeds, query=ASKED, **more):
    walk = {key: more.pop(key) for key in ("max_depth", "node_budget", "k") if key in more}
    policy = ir.reverse_dependency_policy(seeds=seeds, **more)
    return ir.traverse(query, corpus, policy=policy, **walk)


def ids(hits):
    return [hit.artifact_id for hit in hits]


# -- from summaries to passages ------------------------------------------------------------------


def test_the_passage_of_the_best_summary_is_found_and_the_trap_is_not(routed):
    best, *_ = found = down(routed, seed_k=2)
    record = ir.records_for_artifact(routed, "A")[best.surface_index]
    assert (best.artifact_id, "zirconium" in record["text"]) == ("A", True)
    assert "D" not in ids(found)
    assert ids(ir.search(routed, QUERY, surfaces=["readme_chunk"]))[0] == "D"


def test_summaries_that_lead_on_are_no_hits(routed):
    found = down(routed)
    assert {hit.kind for hit in found} == {"readme_chunk"}
    assert isinstance(ir.collapsed_tree_policy(), ir.WalkPolicy)


def test_a_hit_says_how_it_was_reached_and_can_be_selected_and_disclosed(routed):
    best, *_ = found = down(routed, seed_k=2)
    assert (best.fields["walk_depth"], best.fields["seed"], best.corpus) == (1, "A", "rt")
    json.dumps(best.to_dict())
    chosen = ir.select(found, min_score=None)
    assert chosen.hits[0].artifact_id == "A"
    assert ir.disclose(chosen, level="metadata")[0].artifact_id == "A"


def test_no_more_hits_come_than_asked_for(routed):
    assert len(down(routed, k=1)) == 1


@pytest.mark.parametrize(
    ("strategy", "kind"), [(ir.WholeText(), "document"), (ir.Skill(), "capability")]
)
def test_where_artifacts_have_no_passages_their_summaries_are_the_hits(strategy, kind):
    items = {"d1": "kiln glaze zirconium answer", "d2": "kiln other", "d3": "glaze third"}
    if kind == "capability":
        items = {id: {"name": id, "description": text} for id, text in items.items()}
    found = down(built(items, "wt", strategy), "kiln glaze zirconium")
    assert {hit.kind for hit in found} == {kind}
    assert (found[0].artifact_id, set(ids(found))) == ("d1", {"d1", "d2", "d3"})
    assert found[0].fields["walk_depth"] == 0
    assert "seed" not in found[0].fields


def test_each_artifact_by_itself_leads_on_or_is_a_hit():
    items = {
        "leads": {"name": "leads", "description": "kiln glaze alpha", "readme": "zirconium here."},
        "alone": {"name": "alone", "description": "kiln glaze beta", "readme": ""},
    }
    by_id = {hit.artifact_id: hit for hit in down(built(items, "mix"))}
    assert (by_id["alone"].kind, by_id["alone"].fields["walk_depth"]) == ("description", 0)
    assert (by_id["leads"].kind, by_id["leads"].fields["walk_depth"]) == ("readme_chunk", 1)
    assert ("seed" in by_id["alone"].fields, by_id["leads"].fields["seed"]) == (False, "leads")


def test_a_corpus_without_summaries_gives_nothing_and_is_to_be_searched():
    corpus = built({f"c{n}": f"kiln glaze body {n}" for n in range(3)}, "ch", ir.Chunked())
    assert down(corpus) == []
    assert ir.search(corpus, QUERY)


def test_what_the_policies_cannot_do_is_refused_by_name(routed):
    with pytest.raises(QueryError, match="seed_k"):
        ir.collapsed_tree_policy(seed_k=0)
    with pytest.raises(QueryError, match="build returned"):
        down(object())
    with pytest.raises(QueryError, match="node_budget"):
        down(routed, node_budget=0)
    with pytest.raises(QueryError, match="empty"):
        down(routed, " ")


# -- from packages to their dependents -----------------------------------------------------------


def test_dependents_of_a_package_are_found_although_they_never_say_so(packages):
    found = {hit.artifact_id: hit for hit in up(packages, ["meshed"], max_depth=1)}
    assert set(found) == {"meshed", "allude", "unbox"}
    assert [found[id].fields["walk_depth"] for id in found] == [
        0 if id == "meshed" else 1 for id in found
    ]
    assert (found["allude"].fields["seed"], "seed" in found["meshed"].fields) == ("meshed", False)
    assert found["meshed"].fields["fan_in"] == 2
    assert {hit.corpus for hit in found.values()} == {"pk"}


def test_dependents_of_dependents_are_one_step_further(packages):
    found = {hit.artifact_id: hit for hit in up(packages, ["meshed"])}
    assert (found["far"].fields["walk_depth"], found["far"].fields["seed"]) == (2, "meshed")
    assert ids(up(packages, ["meshed"], max_depth=0)) == ["meshed"]


def test_a_seed_outside_the_corpus_leads_on_and_is_no_hit(packages):
    assert ids(up(packages, ["networkx"])) == ["unbox"]
    assert up(packages, []) == up(packages, ["no-such-library"]) == []


def test_fan_in_and_nearness_add_to_the_evidence(packages):
    plain = {hit.artifact_id: hit.score for hit in up(packages, ["meshed"])}
    weighed = up(packages, ["meshed"], fan_in_weight=1.0, proximity_weight=0.5)
    scores = {hit.artifact_id: hit.score for hit in weighed}
    assert scores["meshed"] == pytest.approx(plain["meshed"] + 1.0 + 0.5, abs=1e-3)
    assert scores["unbox"] == pytest.approx(plain["unbox"] + 0.25, abs=1e-3)


def test_hits_of_a_walk_are_fused_with_those_of_a_search(packages):
    fused = ir.fuse_hits({"flat": ir.search(packages, ASKED), "walk": up(packages, ["meshed"])})
    assert {"au", "allude", "unbox"} <= set(ids(fused))


@pytest.mark.parametrize("name", ["fan_in_weight", "proximity_weight"])
@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf"), True, "1"])
def test_a_weight_that_is_none_is_refused_by_name(name, weight):
    with pytest.raises(QueryError, match=name):
        ir.reverse_dependency_policy(seeds=["x"], **{name: weight})


def test_a_bare_text_is_no_collection_of_seeds_and_a_triple_is_no_pair():
    with pytest.raises(TypeError, match="not the text"):
        ir.reverse_dependency_policy(seeds="networkx")
    with pytest.raises(QueryError, match=r"\(corpus, id\)"):
        ir.reverse_dependency_policy(seeds=[("other", "a", "b")])


def test_neither_order_nor_spelling_of_seeds_decides_between_equals():
    twins = {
        "left": {"name": "left", "description": "same words", "deps": ["liba"]},
        "right": {"name": "right", "description": "same words", "deps": ["libb"]},
        "both": {"name": "both", "description": "other", "deps": ["zlib", "abc"]},
    }
    corpus = built(twins, "tw")
    orders = [["liba", "libb"], ["libb", "liba"], ["LibB", "lib_a", "liba"]]
    assert len({tuple(ids(up(corpus, seeds, "same words"))[:2]) for seeds in orders}) == 1
    for seeds in (["Zlib", "abc"], ["abc", "zlib"]):
        (found,) = up(corpus, seeds, "other")
        assert found.fields["seed"] == "abc"


@pytest.mark.parametrize("seeds", [["Meshed"], ["MESHED", "meshed"], [("pk", "meshed")]])
def test_seeds_that_name_an_artifact_are_that_artifact(packages, seeds):
    found = up(packages, seeds, max_depth=1)
    assert set(ids(found)) == {"meshed", "allude", "unbox"}
    assert {hit.fields.get("seed", "meshed") for hit in found} == {"meshed"}


def test_a_seed_that_is_spelled_with_another_separator_is_that_artifact_too():
    items = {
        "scikit-learn": {"name": "scikit-learn", "description": "learning", "deps": []},
        "fitter": {"name": "fitter", "description": "fit", "deps": ["Scikit.Learn>=1"]},
    }
    found = up(built(items, "sk"), ["Scikit_Learn"], "fit")
    assert set(ids(found)) == {"scikit-learn", "fitter"}


def test_a_seed_of_another_corpus_is_compared_exactly_and_only_leads_on():
    items = {id: {"name": id, "description": f"uses {id}", "deps": []} for id in "de"}
    edges = {"d": {"REF": [("other", "Meshed")]}}
    corpus = built(items, edge_extractor=lambda id, fields: edges.get(id, {}))
    (found,) = up(corpus, [("other", "Meshed")], "uses")
    assert (found.artifact_id, found.fields["seed"]) == ("d", ("other", "Meshed"))
    assert up(corpus, [("other", "meshed")], "uses") == []


def test_a_policy_of_ones_own_walks_over_a_graph(packages):
    class OneStep:
        def seed(self, state, store):
            return ["unbox"]

        def score(self, state, node, store):
            return 0.85

        def select(self, state, scored):
            return scored

        def expand(self, state, node, store):
            return store.neighbors(node)

        def node_id(self, node):
            return node

        def stop(self, state):
            return True

        def to_hit(self, state, node, score, depth):
            return ir.Hit("pk", node, node, "node", score, {}, "", "", {})

    found = ir.traverse("q", ir.CorpusGraph(packages), policy=OneStep(), node_budget=10)
    assert ids(found) == ["unbox"]


# -- by synopses -----------------------------------------------------------------------------------

# The synopsis of A answers the first half of the query, a passage of it the second; a passage of
# B has the most words of both, under a synopsis that has none.
TOLD = {
    "A": {"text": "notes of the workshop begin here.\n\nthe zirconium recipe stands here in full.",
          "synopsis": "kiln glaze pottery studio"},
    "B": {"text": "kiln glaze pottery studio zirconium kiln.\n\nnothing else of it.",
          "synopsis": "unrelated omega sigma"},
    "C": {"text": "neutral words of the sea.\n\nand others.", "synopsis": "delta epsilon"},
}  # fmt: skip


def told(artifact):
    return artifact.raw["synopsis"]


@pytest.fixture(scope="module")
def synopses():
    strategy = ir.with_synopsis(
        ir.Chunked(chunk_size=60, overlap=0), synthesize=told, synthesizer_id="told"
    )
    return built(TOLD, "told", strategy)


def test_a_synopsis_leads_to_the_passages_of_its_document_and_is_no_hit(synopses):
    hits = down(synopses, seed_k=1, k=10)
    assert {(hit.artifact_id, hit.kind) for hit in hits} == {("A", "chunk")}
    assert "zirconium" in hits[0].summary
    assert (hits[0].fields["walk_depth"], hits[0].fields["seed"]) == (1, "A")


def test_a_flat_search_of_passages_has_the_trap_first_that_synopses_leave_out(synopses):
    flat = ir.search(synopses, QUERY, k=10, per_artifact=False, surfaces=["chunk"])
    assert flat[0].artifact_id == "B"
    assert "B" not in ids(down(synopses, seed_k=1, k=10))


def test_the_synopsis_of_a_package_leads_to_its_readme_where_its_description_does_not():
    items = {
        "A": {"name": "A", "description": "terse words", "readme": "the zirconium recipe in full.",
              "synopsis": "kiln glaze pottery studio"},
        "B": {"name": "B", "description": "gamma", "readme": "neutral.", "synopsis": "omega phi"},
        "C": {"name": "C", "description": "delta", "readme": "other.", "synopsis": "eta theta"},
    }  # fmt: skip
    strategy = ir.with_synopsis(ir.Package(), synthesize=told, synthesizer_id="told")
    corpus = built(items, "pk2", strategy)
    kinds = [each["kind"] for each in ir.records_for_artifact(corpus, "A")]
    assert kinds == ["synopsis", "description", "readme_chunk"]
    first, *_ = down(corpus, seed_k=1, k=5)
    assert (first.artifact_id, first.kind) == ("A", "readme_chunk")
