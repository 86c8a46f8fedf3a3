"""Expected prompts in process."""

import pytest

import irdaemon as ir
from irclient.errors import NotFound, QueryError, Unavailable

NAMES = "amber birch cedar dahlia elder fern gorse hazel ivy juniper kerria lilac".split()
ITEMS = {name: {"name": name, "description": f"the {name} service"} for name in NAMES}


@pytest.fixture
def corpus():
    made = ir.build(ir.CorpusSource.from_mapping(ITEMS, name="expecting"), store=":memory:")
    yield made
    made.close()


def found(corpus, text):
    return [hit.artifact_id for hit in ir.search(corpus, text, k=1)]


def test_an_item_is_found_at_once_by_what_somebody_would_type(corpus):
    text = "dive in a submarine"
    assert ir.add_prompts(corpus, {"dahlia": ["steer the submarine", "dive deeper"]}) == 1
    assert found(corpus, text) == ["dahlia"]
    (hit,) = ir.search(corpus, text, k=1)
    records = ir.records_for_artifact(corpus, "dahlia")
    assert "submarine" not in hit.summary + str(records)


def test_prompts_given_again_replace_those_before_and_none_take_them_away(corpus):
    ir.add_prompts(corpus, {"ivy": ["steer the submarine"]}, misses={"ivy": ["paint a boat"]})
    ir.add_prompts(corpus, {"ivy": ["bake the bread"]})
    assert found(corpus, "bake bread") == ["ivy"]
    assert ir.add_prompts(corpus, {"ivy": ["bake the bread"]}) == 0
    assert ir.add_prompts(corpus, {"ivy": []}) == 1
    assert ir.add_prompts(corpus, {"ivy": []}) == 0


def test_prompts_of_many_items_are_weighed_at_once(corpus):
    ir.add_prompts(corpus, {name: [f"my {name} fails", f"repair {name}"] for name in NAMES})
    report = corpus.engine.ledger.prompts.read_gates("expecting")["person"].report
    assert report["asked"] == len(NAMES)
    assert report["outcome"]


@pytest.mark.parametrize(
    ("given", "misses", "error", "told"),
    [
        ({"fern": ["y"], "gone": ["x"]}, {}, NotFound, "no artifact 'gone'"),
        ({"fern": ["y"], "ivy": "x"}, {}, QueryError, "a list of texts"),
        ({"ivy": ["x"]}, {"ivy": ["x"]}, QueryError, "a near miss"),
        ({"ivy": ["x"]}, {"fern": ["x"]}, QueryError, "misses and no prompts"),
        ({"ivy": ["x" * 2000]}, {}, QueryError, "the limit is 1,000"),
        ({3: ["x"]}, {}, QueryError, "'id' is a text"),
    ],
)
def test_what_is_no_prompt_is_refused_and_nothing_is_taken_in(corpus, given, misses, error, told):
    with pytest.raises(error, match=told):
        ir.add_prompts(corpus, given, misses=misses)
    assert corpus.engine.ledger.prompts.count("expecting", "person") == (0, 0)


def test_a_corpus_open_for_reading_only_takes_none(tmp_path):
    source = ir.CorpusSource.from_mapping(ITEMS, name="kept")
    ir.build(source, store=str(tmp_path / "l.sqlite")).close()
    opened = ir.open_corpus("kept", store=str(tmp_path / "l.sqlite"))
    with pytest.raises(Unavailable, match="reading only"):
        ir.add_prompts(opened, {"ivy": ["x"]})
    opened.close()
