"""How a corpus is tried out, and the floors that come of it."""

import json
from dataclasses import replace

import numpy as np
import pytest

from irclient.types import MODES
from irdaemon.discovery.calibrate import (
    FEWEST_ARTIFACTS,
    FEWEST_LABELLED,
    Labelled,
    _Asker,
    add_labels,
    list_negatives,
    make_floors,
    run_trial,
)
from irdaemon.discovery.decide import Strength, compute_confidence
from irdaemon.discovery.rerank import Rereading
from irdaemon.embed import embed_query
from irdaemon.embed.hashing import Hashing
from irdaemon.engine.queue import Job
from irdaemon.strategy import ClaudeTurn
from tests.support.corpora import engine, mapped
from tests.support.searching import MANY_TOOLS, engine_of, tool
from tests.support.sessions import asked, topic, turn

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


def test_it_is_asked_what_it_holds_what_few_hold_and_what_others_hold(trial):
    assert len(trial.negatives) == len(list(list_negatives()))
    assert len(trial.elsewhere) == len(COOKING)
    assert len(trial.inside) > 100
    assert np.mean([s.bm25 for s in trial.inside]) > np.mean([s.bm25 for s in trial.negatives])


def test_whoever_calibrates_may_let_others_go_first_between_any_two_queries(snapshot, trial):
    pauses = []
    again = run_trial(snapshot, "tools", embed, pause=lambda: pauses.append(1))
    assert len(pauses) == len(again.inside) + len(again.negatives) + len(again.elsewhere)
    assert again == trial


def test_a_corpus_is_tried_out_by_its_words_alone_without_an_embedder(snapshot):
    trial = run_trial(snapshot, "tools", lambda text: None)
    assert {s.cosine for s in trial.inside} == {0.0}
    assert {s.trust for s in trial.negatives} == {0.0}


def test_each_mode_has_a_floor_that_says_what_it_was_found_with(snapshot, trial):
    index = snapshot.corpora["tools"]
    found = make_floors(trial, index, "recipe", 7.0)
    assert set(found) == set(MODES)
    for mode, floor in found.items():
        assert (floor.mode, floor.recipe, floor.calibrated_at) == (mode, "recipe", 7.0)
        assert floor.artifacts == index.rows.n_artifacts
        assert 0 < floor.at_least < 1
    assert found["hybrid"].j >= 0.5


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
    trial = run_trial(snapshot, "tools", embed, rereading=Rereading.by(Fixed()))
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
    assert enough.labelled
    assert (len(enough.inside), len(enough.elsewhere)) == (FEWEST_LABELLED, FEWEST_LABELLED)
    assert enough.negatives == trial.negatives
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


def passed(sessions, floor, queries):
    """Count the queries that lie above a floor of the corpus of sessions."""
    asker = _Asker(sessions.snapshot, sessions.snapshot.corpora["sessions"], embed)
    return sum(
        compute_confidence(floor, asker.strength(query)) >= floor.at_least for query in queries
    )


def test_what_people_type_is_usual_in_a_corpus_of_their_sessions(sessions):
    index = sessions.snapshot.corpora["sessions"]
    trial = run_trial(sessions.snapshot, "sessions", embed)
    assert len(trial.prompts) == 40
    by_prompts = make_floors(trial, index, "r", 0.0)["hybrid"]
    made_up = make_floors(replace(trial, prompts=()), index, "r", 0.0)["hybrid"]
    of_the_day = [asked(n) for n in range(500, 560)]
    of_the_past = [f"what about {' '.join(topic(n))}" for n in range(40)]
    assert passed(sessions, made_up, of_the_day) == 60
    assert passed(sessions, by_prompts, of_the_day) < 15
    assert passed(sessions, by_prompts, of_the_past) == 40
    assert by_prompts.at_least <= 0.5


def test_prompts_count_for_nothing_where_a_floor_made_with_them_separates_badly(sessions):
    index = sessions.snapshot.corpora["sessions"]
    trial = run_trial(sessions.snapshot, "sessions", embed)
    repeated = replace(trial, prompts=tuple(Strength(0.9, 40.0 + n, 3 + n) for n in range(20)))
    made_up = make_floors(replace(trial, prompts=()), index, "r", 0.0)
    assert make_floors(repeated, index, "r", 0.0) == made_up


def test_prompts_are_asked_of_no_other_corpus_and_only_numbers_of_them_are_kept(sessions):
    assert run_trial(sessions.snapshot, "tools", embed).prompts == ()
    kept = {
        name: {mode: floor.to_dict() for mode, floor in corpus.floors.items()}
        for name, corpus in sessions.snapshot.corpora.items()
    }
    assert kept["sessions"]["hybrid"]["n_outside"] > kept["tools"]["hybrid"]["n_outside"]
    assert not any(word in json.dumps(kept) for n in range(40) for word in topic(n))
