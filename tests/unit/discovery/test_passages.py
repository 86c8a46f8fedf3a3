"""Several records of one artifact in an answer, each a hit of its own."""

import pytest

import irdaemon as ir
from irclient.errors import QueryError
from irdaemon.types import Query

STEPS = [f"step {n}: deploy the server, restart caddy, watch its log" for n in range(12)]
GUIDE = "\n\n".join(STEPS)
PACKAGES = {
    "harbour": {"name": "harbour", "description": "a mapping over stored files", "readme": GUIDE},
    "sign": {"name": "sign", "description": "tools for signatures", "readme": ""},
}
TEXT = "deploy the server"


def built(items, strategy, name="guides"):
    source = ir.CorpusSource.from_mapping(items, name=name, strategy=strategy)
    return ir.build(source, store=":memory:", embedder="hashing")


@pytest.fixture
def guides():
    made = built({"long": GUIDE, "copy": GUIDE, "short": STEPS[0]}, ir.Chunked(120, 20))
    yield made
    made.close()


@pytest.fixture
def packages():
    made = built(PACKAGES, ir.Package(chunk_size=120, overlap=20))
    yield made
    made.close()


def of(hits, artifact_id):
    return [hit for hit in hits if hit.artifact_id == artifact_id]


def test_a_search_gives_each_artifact_once_unless_its_records_are_asked_for(guides):
    assert len(of(ir.search(guides, TEXT), "long")) <= 1
    hits = ir.search(guides, TEXT, k=50, per_artifact=False)
    assert len(hits) > 3
    assert len({(hit.artifact_id, hit.surface_index) for hit in hits}) == len(hits)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_k_counts_the_passages(guides):
    every = ir.search(guides, TEXT, k=50, per_artifact=False)
    assert ir.search(guides, TEXT, k=3, per_artifact=False) == every[:3]


def test_a_passage_tells_its_place_in_the_plan_and_what_is_known_of_it(guides):
    for hit in ir.search(guides, TEXT, k=50, per_artifact=False):
        assert hit.surface_index == hit.fields["chunk_index"]


def test_beside_surfaces_of_other_kinds_the_place_counts_them_too(packages):
    hits = ir.search(packages, TEXT, k=50, per_artifact=False, surfaces=["readme_chunk"])
    assert len(hits) > 1
    for hit in hits:
        assert hit.surface_index == hit.fields["chunk_index"] + 1
        assert isinstance(hit.fields["n_chunks"], int)
    described = ir.search(packages, "stored files", per_artifact=False, surfaces=["description"])
    assert described
    assert {hit.surface_index for hit in described} == {0}


def test_equal_passages_of_duplicates_are_one_hit_that_lists_the_other(guides):
    hits = ir.search(guides, TEXT, k=50, per_artifact=False)
    places = [hit.surface_index for hit in hits if hit.artifact_id in ("long", "copy")]
    assert len(places) == len(set(places)) > 1
    assert all(hit.duplicates for hit in hits if hit.artifact_id in ("long", "copy"))


def test_of_an_artifact_called_by_name_the_best_passage_alone_comes_first(packages):
    hits = ir.search(packages, "harbour", k=50, per_artifact=False)
    assert hits[0].artifact_id == "harbour"
    assert [hit.scores["evidence"] == 1 for hit in hits].count(True) == 1


def test_a_query_says_how_many_passages_of_one_artifact_it_takes(guides):
    found = guides.search(Query(TEXT, k=50, passages=2)).results
    assert len(of(found, "copy") + of(found, "long")) == 2


def test_a_weight_acts_on_records_that_are_not_joined_to_artifacts():
    items = {
        "ship": {"name": "ship", "description": "allusions in documents", "deps": ["harbour"]},
        "chart": {"name": "chart", "description": "draw a harbour chart for harbour pilots"},
    }
    made = built(items, ir.Package(embed_deps=True))
    for mode in ("dense", "lexical", "hybrid"):
        weighed = {"surface_weights": {"deps": 100.0}, "mode": mode, "per_artifact": False}
        (hit,) = ir.search(made, "harbour chart", k=1, **weighed)
        assert (hit.artifact_id, hit.kind) == ("ship", "deps")


@pytest.mark.parametrize("wrong", [0, -1, True, 1.5, "2", None, 1_001])
def test_a_number_of_passages_that_is_none_is_refused(guides, wrong):
    with pytest.raises(QueryError, match="passages must be a whole number from 1 to 1,000"):
        guides.search(Query(TEXT, passages=wrong))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"surface_weights": [1.0]}, "weights of surfaces must be a mapping of surface kinds"),
        ({"surface_weights": {"chunk": float("nan")}}, "weight of 'chunk' must be a number from 0"),
        ({"surface_weights": {"chunk": True}}, "weight of 'chunk' must be a number from 0"),
        ({"surfaces": "chunk"}, "surfaces must be a list of texts, not 'chunk'"),
        ({"surfaces": 3}, "surfaces must be a list of texts, not 3"),
        ({"surfaces": [3]}, "surfaces must be a list of texts"),
        ({"fusion": ["rrf"]}, "unknown fusion"),
        ({"filter": [1]}, "a filter is a mapping"),
    ],
)
def test_an_argument_of_another_form_is_refused_by_its_name(guides, options, said):
    for call in (ir.search, ir.discover):
        with pytest.raises(QueryError, match=said):
            call(guides, TEXT, **options)


@pytest.mark.parametrize("wrong", [0, 1, None, "no"])
def test_per_artifact_is_true_or_false(guides, wrong):
    with pytest.raises(QueryError, match="per_artifact must be True or False"):
        ir.search(guides, TEXT, per_artifact=wrong)


def test_discover_commits_to_whole_artifacts(guides):
    with pytest.raises(QueryError, match="passages is for search"):
        guides.discover(Query(TEXT, passages=2))


def test_a_query_of_the_default_travels_without_its_passages():
    assert "passages" not in Query(TEXT).to_dict()
    sent = Query(TEXT, passages=3).to_dict()
    assert sent["passages"] == 3
    assert Query.from_dict(sent).passages == 3


def test_the_records_of_one_kind_come_in_plan_order_with_their_places(packages):
    every = ir.records_for_artifact(packages, "harbour")
    assert [each["surface_index"] for each in every] == list(range(len(every)))
    assert every[0]["kind"] == "description"
    chunks = ir.records_for_artifact(packages, "harbour", surface_kind="readme_chunk")
    assert chunks == every[1:]
    assert [each["metadata"]["chunk_index"] for each in chunks] == list(range(len(chunks)))
    assert ir.records_for_artifact(packages, "sign", surface_kind="readme_chunk") == []


def test_blend_puts_a_rare_word_no_lower_than_meaning_alone_does():
    items = {
        "rare": "zxqv service config",
        **{f"common {n}": f"deploy systemd unit number{n}" for n in range(4)},
        "often": "deploy systemd unit deploy systemd unit",
    }
    made = built(items, ir.WholeText())

    def place(**asked):
        return [hit.artifact_id for hit in ir.search(made, "deploy unit zxqv", **asked)].index(
            "rare"
        )

    assert place(mode="dense") >= place(fusion="blend") >= place(mode="lexical") == 0
