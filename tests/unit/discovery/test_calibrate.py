"""How a corpus is tried out, and the floors that come of it."""

import json
from dataclasses import replace

import numpy as np
import pytest

from irclient.types import MODES
from irdaemon.discovery.calibrate import (
    FEWEST_LABELLED,
    FEWEST_PROMPTS,
    Labelled,
    add_labels,
    list_outside,
    make_floors,
    run_trial,
)
from irdaemon.discovery.decision import (
    FEWEST_ARTIFACTS,
    LEAST,
)
from irdaemon.discovery.rerank import Rereading
from irdaemon.embed import embed_query
from irdaemon.embed.hashing import Hashing
from irdaemon.engine.queue import Job
from irdaemon.strategy import ClaudeTurn
from tests.support.corpora import engine, mapped
from tests.support.searching import MANY_TOOLS, engine_of, tool
from tests.support.sessions import topic, turn

COOKING = {f"bake-{n}": tool(f"Recipes to bake {n} kinds of bread at home") for n in range(9)}
HASHING = Hashing()


def embed(text):
    return embed_query(HASHING, text)


@pytest.fixture(scope="module")
def snapshot():
    return engine_of(MANY_TOOLS, cooking=COOKING).snapshot


@pytest.fixture(scope="module")
def trial(snapshot):
    return run_trial(snapshot, "tools", embed)


def test_a_corpus_of_a_few_artifacts_cannot_be_tried_out():
    few = dict(list(MANY_TOOLS.items())[: FEWEST_ARTIFACTS - 1])
    assert run_trial(engine_of(few).snapshot, "tools", embed) is None


def test_it_is_asked_what_it_holds_and_ordinary_requests(trial):
    assert len(trial.outside) == len(list(list_outside()))
    assert len(trial.inside) > 100
    assert np.mean([s.bm25 for s in trial.inside]) > np.mean([s.bm25 for s in trial.outside])


def test_whoever_calibrates_may_let_others_go_first_between_any_two_queries(snapshot, trial):
    pauses = []
    again = run_trial(snapshot, "tools", embed, pause=lambda: pauses.append(1))
    assert len(pauses) == len(again.inside) + len(again.outside)
    assert again == trial


def test_a_corpus_is_tried_out_by_its_words_alone_without_an_embedder(snapshot):
    trial = run_trial(snapshot, "tools", lambda text: None)
    assert {s.cosine for s in trial.inside} == {0.0}
    assert {s.asked.trust for s in trial.outside} == {0.0}


def test_each_mode_has_a_floor_that_says_what_it_was_found_with(snapshot, trial):
    index = snapshot.corpora["tools"]
    found = make_floors(trial, index, "recipe", 7.0)
    assert set(found) == set(MODES)
    for mode, floor in found.items():
        assert (floor.mode, floor.recipe, floor.calibrated_at) == (mode, "recipe", 7.0)
        assert floor.artifacts == index.rows.n_artifacts
        assert floor.at_least == LEAST
    assert found["hybrid"].j >= 0.5
    assert found["hybrid"].shift != found["dense"].shift


def test_a_surface_does_not_answer_the_query_that_was_made_of_it():
    same = {f"copy-{n}": tool("Fill a pdf form with what stands in a table") for n in range(9)}
    snapshot = engine_of({f"t{n}": each for n, each in enumerate(same.values())}).snapshot
    best = max(s.cosine for s in run_trial(snapshot, "tools", embed).inside)
    whole = embed("Fill a pdf form with what stands in a table").vector
    assert best < float(whole @ whole) - 0.01


class Fixed:
    """A reranker that likes nothing."""

    id = "fixed"

    def scores(self, query, texts):
        return np.full(len(texts), 0.25, np.float32)


def test_with_a_reranker_its_scores_have_a_floor_of_their_own(snapshot):
    trial = run_trial(snapshot, "tools", embed, rereading=Rereading.of_reranker(Fixed()))
    assert {s.cosine for s in trial.reread.inside} == {0.25}
    assert len(trial.reread.inside) < len(trial.inside)
    assert "hybrid+rerank:fixed" in make_floors(trial, snapshot.corpora["tools"], "r", 0.0)


def labels(snapshot, inside, outside):
    answered = tuple(f"fill in invoices {n}" for n in range(inside))
    return Labelled(snapshot, "tools", answered, ("bake bread",) * outside)


def test_enough_labelled_queries_take_the_place_of_those_made_up(snapshot, trial):
    few = labels(snapshot, FEWEST_LABELLED, FEWEST_LABELLED - 1)
    assert add_labels(trial, few, embed) is trial
    enough = add_labels(trial, labels(snapshot, FEWEST_LABELLED, FEWEST_LABELLED), embed)
    assert {len(scores) for each in enough.labelled.values() for scores in each} == {
        FEWEST_LABELLED
    }
    floor = make_floors(enough, snapshot.corpora["tools"], "r", 0.0)["hybrid"]
    assert (floor.labelled, floor.n_outside) == (True, FEWEST_LABELLED)


@pytest.fixture(scope="module")
def sessions():
    made = engine(
        mapped({f"t{n}": turn(n) for n in range(40)}, "sessions", strategy=ClaudeTurn()),
        mapped(MANY_TOOLS, "tools"),
    )
    for name in ("sessions", "tools"):
        made.request(Job("reconcile", name))
    made.drain()
    return made


def test_what_people_type_is_usual_in_a_corpus_of_their_sessions(sessions):
    index = sessions.snapshot.corpora["sessions"]
    trial = run_trial(sessions.snapshot, "sessions", embed)
    assert len(trial.outside) == 40 >= FEWEST_PROMPTS
    requests = run_trial(sessions.snapshot, "tools", embed).outside
    by_prompts, by_requests = (
        make_floors(each, index, "r", 0.0)["hybrid"]
        for each in (trial, replace(trial, outside=requests))
    )
    assert by_prompts.shift > by_requests.shift


def test_only_numbers_of_prompts_are_kept(sessions):
    kept = {
        name: {mode: floor.to_dict() for mode, floor in corpus.floors.items()}
        for name, corpus in sessions.snapshot.corpora.items()
    }
    assert not any(word in json.dumps(kept) for n in range(40) for word in topic(n))
