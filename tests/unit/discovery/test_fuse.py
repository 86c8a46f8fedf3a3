"""Each fusion by its name, over legs whose scores are given."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from irclient.errors import QueryError
from irdaemon.discovery import fuse
from irdaemon.discovery.fuse import FUSIONS
from irdaemon.discovery.legs import Legs, Question, compute_evidence
from irdaemon.discovery.where import NO_FILTER
from irdaemon.engine.queue import Job
from irdaemon.strategy import ClaudeTurn
from irdaemon.types import Query, Tuning
from tests.support.corpora import engine as built
from tests.support.corpora import mapped
from tests.support.searching import TOOLS, engine_of, names, tool


def legs(cosine, bm25, covered=None):
    cosine, bm25 = np.array(cosine, np.float32), np.array(bm25, np.float32)
    n = len(cosine)
    return Legs(
        positions=np.arange(n),
        cosine=cosine,
        bm25=bm25,
        dense_top=np.sort(cosine),
        lexical_top=np.sort(bm25[bm25 > 0]),
        nearest=np.arange(n),
        matching=np.flatnonzero(bm25 > 0),
        covered=np.zeros(n, np.float32) if covered is None else np.array(covered, np.float32),
    )


def question(trust=1.0, mode="hybrid"):
    return Question("q", (), np.ones(2, np.float32), mode, 10, NO_FILTER, frozenset(), trust=trust)


def test_reciprocal_ranks_count_only_the_legs_that_brought_a_candidate():
    scores = fuse.fuse_by_rank(None, question(), legs([0.9, 0.5], [0, 3]))
    assert scores == pytest.approx([1 / 61, 1 / 62 + 1 / 61])


def test_blend_is_half_the_cosine_and_half_the_saturated_words():
    assert fuse.fuse_blend(None, question(), legs([0.6], [8])) == pytest.approx([0.3 + 0.25])


def test_alpha_gives_a_bonus_for_both_legs_and_never_more_than_one():
    scores = fuse.fuse_alpha(None, question(), legs([0.5, 0.5, 1.0], [0, 5, 10]))
    assert scores == pytest.approx([0.35, (0.35 + 0.15) * 1.05, 1.0])


def test_standard_adds_both_the_better_once_more_and_the_name():
    plain = fuse.fuse_standard(None, question(), legs([0.1, 0.9], [1, 2]))
    named = fuse.fuse_standard(None, question(), legs([0.1, 0.9], [1, 2], covered=[0, 0.5]))
    # Two of at least fifty records match: the others stand at zero.
    mean, spread = 3 / 50, ((1 + 4) / 50 - (3 / 50) ** 2) ** 0.5
    lexical = [(score - mean) / spread for score in (1, 2)]
    assert plain == pytest.approx([2 * lexical[0] - 1, 2 * lexical[1] + 1], rel=1e-5)
    assert named - plain == pytest.approx([0, 0.5 * fuse.NAME_WEIGHT])


def test_what_has_no_vector_yet_is_ordered_by_its_words():
    found = replace(legs([0.9, 0.0], [2, 4]), waiting=np.array([False, True]))
    assert np.argmax(fuse.fuse_standard(None, question(), found)) == 1


def test_a_word_that_one_record_holds_lifts_it_far_above_the_rest():
    one = np.array([4.0], np.float32)
    lifted = fuse.standardise(np.array([4.0, 0.0], np.float32), one, fuse.FEWEST_MATCHES)
    assert lifted[0] > 6 > 0 > lifted[1]
    assert fuse.standardise(one, one).tolist() == [0.0]


def test_a_query_the_embedder_does_not_know_is_ordered_and_judged_by_its_words():
    found = legs([0.9, 0.1], [1, 2])
    assert np.argmax(fuse.fuse_standard(None, question(trust=0.0), found)) == 1
    judged = compute_evidence("hybrid", 0.0, found.cosine, found.bm25)
    assert judged == pytest.approx([1 / 9, 2 / 10])


def test_mmr_takes_something_else_second_where_the_next_best_is_the_same_again():
    tools = {
        "a": tool("Merge pdf forms quickly"),
        "b": tool("Merge pdf forms quickly too"),
        "c": tool("Deploy cloud forms slowly"),
    }
    engine, text = engine_of(tools), "merge pdf forms and deploy cloud"
    assert names(engine.search(Query(text, fusion="blend"))) == ["a", "b", "c"]
    assert names(engine.search(Query(text, fusion="mmr"))) == ["a", "c", "b"]


@pytest.mark.parametrize("fusion", FUSIONS)
@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
def test_every_fusion_answers_in_every_mode_and_keeps_exact_names_first(fusion, mode):
    engine = engine_of(TOOLS)
    assert names(engine.search(Query("merge", fusion=fusion, mode=mode)))[0] == "merge"
    assert names(engine.search(Query("fill a pdf form", fusion=fusion, mode=mode)))[0] == "fill"


@pytest.mark.parametrize("fusion", FUSIONS)
def test_equals_are_ordered_by_id_under_every_fusion(fusion):
    same = {f"t{n}": tool("Fill a pdf form", name="same", number=n) for n in (3, 1, 2)}
    found = engine_of(same).search(Query("pdf form", fusion=fusion, where={"number": {"$gt": 0}}))
    assert found.results[0].artifact_id == "t1"


def test_an_unknown_fusion_is_refused_with_the_nearest_and_so_is_a_weight_that_is_none():
    engine = engine_of(TOOLS)
    with pytest.raises(QueryError, match="did you mean 'rrf'"):
        engine.search(Query("pdf", fusion="rff"))
    for weight in (-1, float("nan"), float("inf"), "2", True, None):
        with pytest.raises(QueryError, match="weight of 'chunk'"):
            engine.search(Query("pdf", weights={"chunk": weight}))


def weighed(cosine, kinds, **weights):
    index = SimpleNamespace(rows=SimpleNamespace(get_kind=lambda position: kinds[position]))
    asked = replace(question(), fusion="blend", weights=weights)
    return fuse.fuse_legs(index, asked, legs(cosine, [0.0] * len(cosine)))


def test_a_weight_lifts_the_worst_candidate_too():
    assert np.argmax(weighed([0.9, 0.1], "ab", b=1)) == 0
    assert np.argmax(weighed([0.9, 0.1], "ab", b=3)) == 1
    assert np.argmax(weighed([0.9, 0.1], "ab", a=0)) == 1
    assert np.argmax(weighed([0.9, 0.1], "ab", b=1e6)) == 1


def test_equal_weights_change_no_order_and_equals_are_ordered_by_their_weight():
    order = np.argsort(weighed([0.9, 0.1, 0.5], "aaa", a=7))
    assert list(order) == [1, 2, 0]
    assert np.argmax(weighed([0.5, 0.5], "ab", b=2)) == 1


@pytest.mark.parametrize("weight", [np.float32(1e6), np.int64(1_000_000), 1e6])
def test_numbers_of_numpy_are_weights_too_and_lift_what_is_last_by_its_words(weight):
    turns = {
        "a": {"user_prompt": "merge the pdf files", "assistant_summary": "done"},
        "b": {"user_prompt": "hello", "assistant_summary": "a word on files among many others"},
    }
    made = built(mapped(turns, strategy=ClaudeTurn()))
    made.request(Job("reconcile", "m"))
    made.drain()

    def first(**weights):
        asked = Query("merge pdf files", mode="lexical", weights=weights)
        return made.search(asked).results[0].artifact_id

    assert (first(), first(assistant_summary=weight)) == ("a", "b")


def test_a_surface_weighed_with_nothing_comes_last():
    turns = {
        "a": {"user_prompt": "merge the pdf files", "assistant_summary": "done"},
        "b": {"user_prompt": "hello", "assistant_summary": "merge the pdf files"},
    }
    made = built(mapped(turns, strategy=ClaudeTurn()))
    made.request(Job("reconcile", "m"))
    made.drain()
    for weights, first in (({"user_prompt": 0}, "b"), ({"assistant_summary": 0}, "a")):
        found = made.search(Query("merge pdf files", weights=weights))
        assert found.results[0].artifact_id == first


def tuned(tuning):
    tools = {
        "a": tool("Merge pdf forms quickly"),
        "b": tool("Merge pdf forms quickly too"),
        "c": tool("Deploy cloud forms slowly"),
    }
    engine = engine_of(tools)
    engine.state.models = replace(engine.state.models, tuning=tuning)
    return engine


def test_the_fusion_of_a_query_that_names_none_is_the_configured_one():
    asked = Query("merge pdf forms and deploy cloud")
    for fusion in FUSIONS:
        engine = tuned(Tuning(fusion))
        named = engine.search(replace(asked, fusion=fusion))
        assert engine.search(asked).results == named.results
        assert engine.explain(asked)["analysis"]["fusion"] == fusion


def test_alpha_moves_the_order_from_words_to_meaning():
    def scores(alpha):
        return fuse.fuse_alpha(
            None, replace(question(), tuning=Tuning(alpha=alpha)), legs([0.9, 0.1], [1, 10])
        )

    assert scores(0.0)[0] < scores(0.0)[1]
    assert scores(1.0)[0] > scores(1.0)[1]


def test_with_all_weight_on_relevance_mmr_is_the_order_of_alpha():
    text = "merge pdf forms and deploy cloud"
    plain = names(tuned(Tuning()).search(Query(text, fusion="alpha")))
    assert names(tuned(Tuning("alpha+mmr", mmr_lambda=1.0)).search(Query(text))) == plain
    spread = names(tuned(Tuning("alpha+mmr", mmr_lambda=0.3)).search(Query(text)))
    assert spread[1] != "b" or spread[0] != "a"
