"""The links of a built corpus as a graph."""

import json

import pytest

import irdaemon as ir
from irclient.errors import NotFound, QueryError

PACKAGES = {
    "meshed": {"name": "meshed", "description": "compose functions", "deps": ["i2"]},
    "allude": {"name": "allude", "description": "references in text", "deps": ["meshed>=1", "dol"]},
    "unbox": {"name": "unbox", "description": "take apart", "deps": ["Meshed", "networkx"]},
    "cooking": {"name": "cooking", "description": "bake bread", "deps": ["flour"]},
}
SKILLS = {
    "deploy": {"name": "deploy", "description": "push apps", "parent": "tw"},
    "deploy@ops": {"name": "deploy", "description": "push more", "parent": "ops"},
}


def built(items, name="pk", strategy=None, **more):
    strategy = strategy or ir.Package()
    source = ir.CorpusSource.from_mapping(items, name=name, strategy=strategy)
    return ir.build(source, **{"store": ":memory:", "embedder": "hashing", **more})


@pytest.fixture(scope="module")
def graph():
    return ir.CorpusGraph(built(PACKAGES))


def test_neighbors_are_the_targets_of_edges_in_their_order(graph):
    assert graph.neighbors("allude", edge_type="REF") == ["meshed", "dol"]
    assert graph.neighbors("allude", edge_type="PARENT") == graph.neighbors("nothing") == []
    assert (graph.edge_types("allude"), graph.edge_types("nothing")) == (["REF"], [])


def test_neighbors_by_edges_of_any_type_are_named_once_and_pairs_of_other_corpora_stay():
    def extractor(id, fields):
        return {"REF": ["dol", ("c", "X")], "PARENT": ["dol", ("c", "X"), "grp"], "EMPTY": []}

    own = ir.CorpusGraph(built(PACKAGES, edge_extractor=extractor))
    assert own.neighbors("meshed") == ["dol", ("c", "X"), "grp"]
    assert own.edge_types("meshed") == ["REF", "PARENT"]
    json.dumps(own.neighbors("meshed"))


def test_what_is_returned_is_a_copy(graph):
    graph.neighbors("allude").append("changed")
    assert graph.neighbors("allude") == ["meshed", "dol"]


def test_dependents_are_found_however_the_package_is_spelled(graph):
    assert sorted(graph.reverse_neighbors("meshed")) == ["allude", "unbox"]
    assert sorted(graph.reverse_neighbors("MESHED")) == ["allude", "unbox"]
    assert graph.reverse_neighbors("networkx") == ["unbox"]  # which the corpus does not hold
    assert graph.reverse_neighbors("cooking") == []
    assert graph.reverse_neighbors("meshed", edge_type="PARENT") == []
    assert (graph.fan_in("meshed"), graph.fan_in("cooking")) == (2, 0)
    assert (graph.max_fan_in(), graph.max_fan_in(edge_type="PARENT")) == (2, 0)


def test_an_artifact_whose_id_is_a_path_has_the_dependents_of_its_name():
    items = {"~/code/my": {"name": "My_Lib", "description": "x", "deps": []},
             "~/code/d": {"name": "d", "description": "y", "deps": ["my-lib"]}}  # fmt: skip
    own = ir.CorpusGraph(built(items))
    assert own.reverse_neighbors("~/code/my") == ["~/code/d"]
    assert own.resolve("my.lib") == "~/code/my"


def test_edges_of_other_types_lead_to_exact_ids():
    cites = {"meshed": {"CITES": ["notes/a b.md"]}, "allude": {"CITES": ["notes/a c.md"]}}
    own = ir.CorpusGraph(built(PACKAGES, edge_extractor=lambda id, _: cites.get(id, {})))
    assert own.reverse_neighbors("notes/a b.md", edge_type="CITES") == ["meshed"]
    assert own.reverse_neighbors("notes/A b.md", edge_type="CITES") == []
    skills = ir.CorpusGraph(built(SKILLS, "sk", ir.Skill()))
    assert skills.neighbors("deploy", edge_type="PARENT") == ["tw"]
    assert skills.neighbors("deploy@ops", edge_type="PARENT") == ["ops"]
    assert skills.reverse_neighbors("ops", edge_type="PARENT") == ["deploy@ops"]


def test_a_node_is_resolved_to_the_artifact_that_it_names(graph):
    assert graph.resolve("MESHED") == graph.resolve(("pk", "Meshed")) == "meshed"
    assert graph.resolve("Scikit_Learn") == "scikit-learn"
    assert graph.resolve(("other", "Meshed")) == ("other", "Meshed")
    assert graph.resolve("Meshed", edge_type="PARENT") == "Meshed"


@pytest.mark.parametrize("order", [1, -1])
def test_of_several_artifacts_of_one_name_the_exact_one_is_meant_else_the_first(order):
    names = ["my-lib", "My_Lib"][::order]
    own = ir.CorpusGraph(built({n: {"name": n, "description": "x", "deps": []} for n in names}))
    assert [own.resolve(n) for n in ("my_lib", "my-lib", "My_Lib")] == [
        "My_Lib", "my-lib", "My_Lib"
    ]  # fmt: skip


def test_at_a_node_are_the_records_of_its_artifact(graph):
    assert [each["kind"] for each in graph["meshed"]] == ["description"]
    with pytest.raises(NotFound, match="nope"):
        graph["nope"]
    assert isinstance(graph, ir.GraphStore)
    assert not isinstance(object(), ir.GraphStore)
    assert graph.source == "pk"


def test_a_target_is_its_corpus_and_its_id():
    assert ir.canonical_node_id("dol", source="packages") == ("packages", "dol")
    assert ir.canonical_node_id(["skills", "deploy"], source="packages") == ("skills", "deploy")
    assert ir.canonical_node_id("x", source=None) == (None, "x")
    with pytest.raises(QueryError, match=r"\(corpus, id\)"):
        ir.canonical_node_id(("a", "b", "c"), source=None)


def test_links_of_a_corpus_are_there_when_it_is_opened_again(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    made = built(PACKAGES, "kept", store=None)
    made.close()
    opened = ir.open_corpus("kept")
    assert ir.CorpusGraph("kept").neighbors("allude") == ["meshed", "dol"]
    assert ir.CorpusGraph(opened).fan_in("meshed") == 2
    opened.close()


def test_an_extractor_finds_the_links_of_what_did_not_change_and_embeds_nothing(tmp_path):
    path = str(tmp_path / "pk.sqlite")
    none = built(PACKAGES, store=path, edge_extractor=lambda id, fields: {})
    assert ir.CorpusGraph(none).neighbors("allude") == []
    before = [none.engine.ledger.artifacts.find_row("pk", id) for id in PACKAGES]

    def first_only(id, fields):
        return {"REF": fields["deps"][:1]}

    made = built(PACKAGES, store=path, edge_extractor=first_only)
    assert ir.CorpusGraph(made).neighbors("allude") == ["meshed"]
    assert [made.engine.ledger.artifacts.find_row("pk", id) for id in PACKAGES] == before
    made.close()


def test_the_default_extractor_can_be_called_and_built_upon():
    assert ir.default_edge_extractor("aa", {"deps": ["AA", "dol>=1"]}) == {"REF": ["dol"]}
