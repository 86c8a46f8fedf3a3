"""Which threshold an answer of one corpus has to reach, and whether it does."""

from dataclasses import replace

import pytest

from irdaemon.embed import query_vector
from irdaemon.embed.hashing import Hashing
from irdaemon.index import CorpusIndex
from irdaemon.retrieve import Question, retrieve
from irdaemon.selection.floor import FORMULA, PLAIN
from irdaemon.selection.threshold import gated
from irdaemon.text import tokenize
from irdaemon.types import Query, SelectSpec
from tests.support.searching import MANY_TOOLS, engine_of

INSIDE = "fill in my invoices"
FOREIGN = "what is the capital of australia"


@pytest.fixture(scope="module")
def snapshot():
    return engine_of(MANY_TOOLS).snapshot


@pytest.fixture
def index(snapshot):
    return snapshot.corpora["tools"]


@pytest.fixture
def held(snapshot):
    """Return the gate's word on a query, asked of an index."""

    def hold(index: CorpusIndex, text: str, mode="lexical", **spec):
        known, tokens = snapshot.vocabulary, list(dict.fromkeys(tokenize(text)))
        terms = tuple(known[token] for token in tokens if token in known)
        vector = query_vector(Hashing(), text).vector if mode != "lexical" else None
        unknown = len(tokens) - len(terms)
        question = Question(text, terms, vector, mode, 5, {}, frozenset(), unknown=unknown)
        weights = spec.pop("weights", {})
        query = Query(text, mode=mode, weights=weights, select=SelectSpec(**spec))
        return gated(index, question, retrieve(index, question), query)

    return hold


def floor_of(index, **changed):
    """Return the index with another floor of the words."""
    floors = {**index.floors, "lexical": replace(index.floors["lexical"], **changed)}
    return replace(index, floors=floors)


def test_a_calibrated_floor_lets_through_what_the_corpus_answers_and_holds_back_the_rest(
    held, index
):
    inside, foreign = (held(index, text, mode="hybrid") for text in (INSIDE, FOREIGN))
    assert (inside.passed, foreign.passed) == (True, False)
    assert inside.confidence >= inside.floor.at_least > foreign.confidence
    assert inside.signals()["floor"]["kind"] == "auto"


def test_where_none_is_asked_for_all_pass(held, index):
    source = held(index, FOREIGN, min_score=None)
    assert (source.passed, source.confidence) == (True, None)
    assert source.signals()["floor"] == {"kind": "none: not asked for"}


@pytest.mark.parametrize(("at_least", "passed"), [(0.0, True), (0.99, False)])
def test_a_given_number_is_asked_of_the_best_evidence(held, index, at_least, passed):
    source = held(index, INSIDE, min_score=at_least)
    assert source.passed == passed
    assert source.signals()["floor"] == {"kind": "given"}


def test_what_is_called_by_its_name_passes_whatever_is_asked(held, index):
    assert held(index, "fold-camera", min_score=1.0).passed
    assert held(floor_of(index, at_least=1.0), "fold-camera").passed
    assert not held(floor_of(index, at_least=1.0), INSIDE).passed


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"j": 0.49}, "plain: the calibrated one separates badly (J 0.49)"),
        ({"formula": FORMULA + 1}, "plain: not calibrated"),
    ],
)
def test_a_floor_that_separates_badly_or_is_of_another_formula_is_not_applied(
    held, index, changed, why
):
    source = held(floor_of(index, **changed), FOREIGN)
    assert (source.floor, source.why, source.confidence) == (None, why, None)


def test_weighted_surfaces_have_no_calibrated_floor(held, index):
    assert held(index, INSIDE, weights={"capability": 2}).why == "plain: surfaces are weighted"


def test_a_plain_floor_is_asked_only_where_the_embedder_has_a_say(held, index):
    without = replace(index, floors={})
    assert (held(without, FOREIGN).plain_floor, held(without, FOREIGN).passed) == (0.0, True)
    dense = held(without, FOREIGN, mode="dense")
    assert (dense.plain_floor, dense.passed) == (PLAIN, False)


def test_confidence_in_a_candidate_falls_with_what_it_lacks(held, index):
    source = held(index, INSIDE)
    best, *_, last = source.retrieved.candidates
    assert source.confidence_of(best) >= source.confidence_of(last)
    named = held(index, "fold-camera").retrieved.candidates[0]
    assert source.confidence_of(named) == 1.0
