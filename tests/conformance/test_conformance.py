"""A corpus in a backend is answered for as it is from memory: scores, order and silence."""

import random
from dataclasses import replace

import numpy as np
import pytest

from irclient.errors import Conflict, NotFound, Unavailable
from irdaemon.contrib.backends.remote import CopyState, ask_held
from irdaemon.discovery import discover as discovery
from irdaemon.discovery.fuse import FUSIONS
from irdaemon.engine.queue import Job
from irdaemon.index.dense import Dense
from irdaemon.types import Query, SelectSpec
from tests.support.copied import Copied, answered
from tests.support.corpora import engine, mapped

WORDS = (
    "commit rebase merge branch tag remote stash pdf form field page table chart sheet cell soup"
    " potato onion carrot oven pan docker image layer volume compose kernel thread process socket"
).split()


def text_of(number):
    """Return a text of words by a law in which a few are frequent."""
    chosen = random.Random(number)
    words = [WORDS[min(int(chosen.paretovariate(0.7)) - 1, len(WORDS) - 1)] for _ in range(30)]
    return " ".join((f"item{number}", *words))


def item(number):
    """Return an item of a mapping, with fields of several types."""
    fields = {"number": number, "even": number % 2 == 0, "tags": [WORDS[number % 7], "all"]}
    if number % 3:
        fields["date"] = f"2026-0{1 + number % 9}-01"
    return {"text": text_of(number), **fields}


def items(numbers):
    return {f"n/item-{number}": item(number) for number in numbers}


def two_corpora(backend):
    made = Copied(
        engine(mapped(items(range(80)), "m"), mapped(items(range(300, 320)), "l")), backend
    )
    made.scan()
    return made


@pytest.fixture
def copied(backend):
    """Give a copy of two corpora."""
    return two_corpora(backend)


@pytest.fixture(scope="module")
def asked(lasting_backend):
    """Give a copy of two corpora that is not to be changed."""
    return two_corpora(lasting_backend)


QUERIES = [
    "merge a branch into another",
    "fill in the form of a pdf page",
    "potato soup",
    "item17",
    "n/item-23",
    "docker compose volume and a kernel thread",
    "quoxalwhsd",
    "poatto sopu",
    "thanks, that works!",
    "commit",
]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("run", [discovery.discover, discovery.search])
def test_every_query_is_answered_with_the_same_hits_scores_order_and_silence(asked, query, run):
    here, there = map(answered, asked.both(query, run))
    assert here == there


@pytest.mark.parametrize("fusion", sorted(FUSIONS))
@pytest.mark.parametrize("mode", ["hybrid", "lexical", "dense"])
def test_every_mode_and_fusion_gives_the_same_ranking(asked, mode, fusion):
    query = Query("merge a branch and a docker image", mode=mode, fusion=fusion, k=40)
    here, there = map(answered, asked.both(query, discovery.search))
    assert here == there


FILTERS = [
    {"number": {"$gte": 50}},
    {"even": True},
    {"number": 1},
    {"tags": "rebase"},
    {"tags": {"$in": ["merge", "tag"]}},
    {"date": {"$lt": "2026-04-01"}},
    {"date": {"$exists": False}},
    {"even": {"$ne": True}},
    {"$or": [{"number": 3}, {"$and": [{"even": False}, {"tags": "commit"}]}]},
    {"$not": {"tags": {"$nin": ["all"]}}},
    {"number": -1},
]


@pytest.mark.parametrize("where", FILTERS)
@pytest.mark.parametrize("text", ["merge a branch and item3"])
def test_a_filter_never_loses_a_match_and_lets_nothing_else_through(asked, text, where):
    query = Query(text, where=where, k=200, select=SelectSpec(min_score=None))
    here, there = asked.both(query, discovery.search)
    assert answered(here) == answered(there)
    ranked = here.merged.rankings
    assert [each.retrieved.eligible for each in ranked] == [
        each.retrieved.eligible for each in there.merged.rankings
    ]


def test_a_word_that_only_a_name_holds_is_known(backend):
    named = {"n/zebra-crossing": {"text": "merge a branch"}, **items(range(20))}
    made = Copied(engine(mapped(named, "m")), backend)
    made.scan()
    for query in ("zebra", "the crossing of a branch"):
        here, there = map(answered, made.both(query, discovery.search))
        assert here == there
    assert set(backend.find_term_ids("m", ["zebra", "cross"])) == {"zebra", "cross"}


def test_several_passages_and_numbers_of_bm25_of_its_own_give_the_same(copied):
    query = Query("merge a branch", passages=2, k=20)
    assert answered(copied.both(query, discovery.search)[0]) == answered(
        copied.both(query, discovery.search)[1]
    )
    models = copied.engine.state.models
    copied.engine.state.models = replace(models, tuning=replace(models.tuning, k1=0.9, b=0.3))
    here, there = map(answered, copied.both("merge a branch", discovery.search))
    assert here == there


def test_what_a_filter_leaves_nothing_of_is_said_to_be_filtered_out(asked):
    here, there = asked.both(Query("merge a branch", where={"number": -1}))
    assert here.selection.reason == there.selection.reason == "filtered_out"


def test_any_sequence_of_changes_equals_a_fresh_copy(backend):
    chosen, live = random.Random(5), items(range(60))
    made = Copied(engine(mapped(live, "m")), backend)
    made.scan()
    for step in range(6):
        for number in chosen.sample(range(100), 12):
            key = f"n/item-{number}"
            if chosen.random() < 0.4:
                live.pop(key, None)
            else:
                live[key] = item(number + 1000 * step)
        made.scan()
        for query in ("merge a branch", "potato soup", f"item{1000 * step + 3}"):
            here, there = map(answered, made.both(query))
            assert here == there
    snapshot = made.engine.snapshot
    n_terms = len(snapshot.vocabulary)
    fresh = ask_held(made.backend, snapshot.corpora["m"], made.origin("m"), n_terms)
    known = made.held["m"]
    assert fresh.generation == known.generation
    assert fresh.numbers.tolist() == known.numbers.tolist()
    counted = known.df.nonzero()[0].tolist()
    assert [int(fresh.df[term]) for term in counted] == [int(known.df[term]) for term in counted]
    assert fresh.waiting == known.waiting


def test_a_delta_that_is_sent_again_changes_nothing(copied):
    changed = mapped({**items(range(80)), "n/new": item(999)}, "m")
    copied.engine.reconfigure([changed, copied.engine.corpora["l"]])
    copied.engine.drain()
    sent = copied.delta("m")
    first = copied.backend.apply(sent)
    numbers = list(copied.backend.list_row_numbers("m"))
    assert copied.backend.apply(sent) == first
    assert list(copied.backend.list_row_numbers("m")) == numbers
    assert copied.backend.read_totals()["m"].n_records == 81


def test_a_delta_that_does_not_follow_what_there_is_is_refused(copied):
    totals = replace(copied.delta("m").totals, generation=10**6)
    with pytest.raises(Conflict):
        copied.backend.apply(replace(copied.delta("m"), base=10**5, totals=totals))
    assert copied.backend.read_totals()["m"].generation < 10**5


def test_what_was_lost_of_a_copy_is_sent_whole(copied):
    copied.held["m"] = CopyState()
    copied.copy()
    here, there = map(answered, copied.both("merge a branch"))
    assert here == there


def test_what_went_while_it_was_not_known_what_a_copy_has_is_not_counted_there_any_more(backend):
    live = items(range(20))
    made = Copied(engine(mapped(live, "m")), backend)
    made.scan()
    term = made.engine.snapshot.vocabulary["item7"]
    assert made.backend.count_frequencies("m", [term]) == {term: 1}
    del live["n/item-7"]
    made.held.clear()
    made.scan()
    assert not made.backend.count_frequencies("m", [term])


def test_one_writer_at_a_time_and_the_second_is_told_of_the_first(copied):
    with pytest.raises(Unavailable, match="someone@here"):
        copied.backend.take_lease("m", "other@there")
    sent = copied.delta("m")
    copied.backend.release("m", "someone@here")
    fence = copied.backend.take_lease("m", "other@there")
    assert fence > sent.fence
    newer = replace(sent, totals=replace(sent.totals, generation=10**6))
    with pytest.raises(Unavailable, match="other@there"):
        copied.backend.apply(newer)


def test_records_without_a_vector_get_it_later(backend):
    made = Copied(engine(mapped(items(range(20)), "m")), backend)
    made.engine.request(Job("reconcile", "m"))
    made.engine.drain()
    state, whole = made.engine.state, made.engine.snapshot
    index = whole.corpora["m"]
    none = replace(index.rows, embedded=np.zeros_like(index.rows.embedded))
    state.publish(replace(whole, corpora={"m": replace(index, rows=none, dense=Dense(none))}))
    made.copy()
    assert len(list(backend.list_unembedded("m"))) == 20
    state.publish(replace(whole, generation=whole.generation + 1))
    made.copy()
    assert list(backend.list_unembedded("m")) == []
    here, there = map(answered, made.both("merge a branch", discovery.search))
    assert here == there


def test_a_corpus_that_was_dropped_is_unknown(copied):
    copied.backend.drop("l", copied.backend.take_lease("l", "someone@here"))
    assert set(copied.backend.read_totals()) == {"m"}
    with pytest.raises(NotFound):
        copied.backend.list_row_numbers("l")


def test_the_text_of_artifacts_and_records_is_as_it_was_stored(asked):
    stored = asked.backend.read_texts("m", ["n/item-3", "n/none"])
    assert set(stored) == {"n/item-3"}
    ledger = asked.engine.ledger
    assert stored["n/item-3"].body == (ledger.artifacts.get("m", "n/item-3").body or "")
    texts = [each["text"] for each in stored["n/item-3"].records]
    assert texts == [each["text"] for each in ledger.artifacts.list_records("m", "n/item-3")]


def test_a_generation_can_be_waited_for(asked):
    generation = asked.backend.read_totals()["m"].generation
    assert asked.backend.wait("m", generation, 5) == generation
    assert asked.backend.wait("m", generation + 1, 0.01) == generation


@pytest.mark.parametrize("wanted", ["m/n/item-3", "m/n/item-70"])
def test_why_and_why_not_are_explained_the_same(asked, wanted):
    here, there = asked.explained("merge a branch into another", wanted)
    assert here["item"] == there["item"]
    assert [each["candidates"] for each in here["corpora"]] == [
        each["candidates"] for each in there["corpora"]
    ]
    assert here["analysis"] == there["analysis"]


def test_floors_are_those_that_the_writer_found(copied):
    copied.engine.request(Job("calibrate", "m"))
    copied.engine.drain()
    copied.copy()
    assert copied.backend.read_totals()["m"].floors == copied.engine.snapshot.corpora["m"].floors
    assert copied.engine.snapshot.corpora["m"].floors
    for query in QUERIES:
        here, there = map(answered, copied.both(query))
        assert here == there
