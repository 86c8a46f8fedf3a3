"""The asset type of an artifact: computed from its fields, filtered on before any top-k."""

import pytest

import irdaemon as ir
from irdaemon.source.asset_types import find_asset_type
from tests.support.built import hold


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, "text"),
        ({"suffix": ".md"}, "text"),
        ({"suffix": ""}, "text"),
        ({"suffix": None}, "text"),
        ({"suffix": 7}, "text"),
        ({"suffix": ".py"}, "code"),
        ({"suffix": ".PDF"}, "pdf"),
        ({"suffix": ".jpeg"}, "image"),
        ({"suffix": ".md", "asset_type": "multimodal"}, "multimodal"),
        ({"suffix": ".py", "asset_type": "a song"}, "code"),
        ({"suffix": ".py", "asset_type": ["pdf"]}, "code"),
    ],
)
def test_the_type_is_the_one_stated_or_that_of_the_suffix(fields, expected):
    assert find_asset_type(fields) == expected


@pytest.fixture
def corpus():
    texts = {f"note-{n}": {"text": "prune the roses in march"} for n in range(40)}
    code = {"prune": {"text": "prune roses", "suffix": ".py"}}
    both = {"board": {"text": "roses", "asset_type": "multimodal"}}
    with hold({**texts, **code, **both}, name="garden") as made:
        yield made


@pytest.mark.parametrize(
    ("wanted", "found"), [("code", ["prune"]), ("multimodal", ["board"]), ("image", [])]
)
def test_a_type_is_filtered_on_before_the_best_are_taken(corpus, wanted, found):
    hits = ir.search(corpus, "prune the roses", k=1, filter={"asset_type": wanted})
    assert [hit.artifact_id for hit in hits] == found
    assert [hit.fields["asset_type"] for hit in hits] == [wanted] * len(found)


def test_the_artifacts_of_a_corpus_are_counted_by_type(corpus):
    counted = corpus.engine.info("garden")["asset_types"]
    assert counted == {"text": 40, "code": 1, "multimodal": 1}
