"""What a project sees: its part of a corpus and the person's, as one index."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from irdaemon.discovery import discover as discovery
from irdaemon.discovery.query import parse_query, parse_search
from irdaemon.embed import Embedder
from irdaemon.embed.hashing import Hashing
from irdaemon.engine.queue import Job
from irdaemon.index import CorpusIndex, Snapshot, build_graph
from irdaemon.index.dense import make_dense
from irdaemon.index.lexical import Lexical, SomePostings
from irdaemon.index.rows import Rows
from irdaemon.index.scope import Scopes, join_indexes
from irdaemon.ingest.scan import ScanRequest
from irdaemon.types import Floor, Query
from tests.support.corpora import engine, mapped
from tests.support.graphs import needs_graph
from tests.support.searching import engine_of, tool

WORDS = "pdf form invoice cloud python deploy test note stripe-integration".split()
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join)
items = st.dictionaries(st.sampled_from([f"{word}-{n}" for word in WORDS for n in range(3)]), texts)


class Coarse(Embedder):
    """An embedder whose products are exact, in whatever order they are summed."""

    def __init__(self):
        self.id, self.dim = "coarse", 64

    def embed(self, texts):
        vectors = np.round(Hashing(64).embed(texts) * 32) / 32
        return vectors.astype(np.float32)


def floor_of(index: CorpusIndex, at_least: float, **more) -> Floor:
    made = Floor(
        "hybrid", index.embedder, "r", at_least, 0.9, 9, 9, 0.0,
        index.n_artifacts, index.rows.last, 2,
    )  # fmt: skip
    return replace(made, **more)


def built(own, part, gone=()):
    """Return an engine with a person's corpus, a project's part, and one of both."""
    own, part = dict(own), {f"p/{key}": text for key, text in part.items()}
    every = {"m": own, "m@1": part, "all": {**own, **part}}
    corpora = (mapped(held, name) for name, held in every.items())
    made = engine(*corpora, calibrating=False, embedders={"hashing": Coarse()})
    for name in every:
        made.request(Job("reconcile", name))
    made.drain()
    for name, held in every.items():
        for key in gone:
            held.pop(key, None)
        made.request(Job("reconcile", name, ScanRequest(prune=True)))
    made.drain()
    return made


def joined_and_fresh(made):
    """Return a snapshot of what was joined, and one of a fresh index with the same mean length."""
    indexes = made.snapshot.corpora
    joined = join_indexes(indexes["m"], indexes["m@1"], "m")
    fresh = indexes["all"]
    mean, counts = joined.lexical.mean_length, fresh.lexical.counts
    lexical = Lexical.build_on(fresh.rows, mean, SomePostings.none(), 0, counts)
    names = replace(fresh.names, lexical=lexical)
    fresh = replace(fresh, corpus="m", lexical=lexical, names=names)
    vocabulary = made.snapshot.vocabulary
    return Snapshot(1, {"m": joined}, vocabulary), Snapshot(1, {"m": fresh}, vocabulary)


def answers(made, snapshot, query):
    """Return all that search and discover say."""
    models = made.state.models
    asked = discovery.search(snapshot, parse_search(query), models).selection
    chosen = discovery.discover(snapshot, parse_query(query), models).selection
    return [replace(each, took_ms=0.0, freshness={}) for each in (asked, chosen)]


@settings(max_examples=30, deadline=None)
@given(items, items, st.data())
def test_what_is_joined_answers_as_an_index_of_all_of_it(own, part, data):
    everything = [*own, *(f"p/{key}" for key in part)]
    gone = data.draw(st.lists(st.sampled_from(everything))) if everything else []
    made = built(own, part, gone)
    joined, fresh = joined_and_fresh(made)
    query = Query(data.draw(texts), mode=data.draw(st.sampled_from(["hybrid", "lexical", "dense"])))
    assert answers(made, joined, query) == answers(made, fresh, query)


def test_nothing_of_the_person_s_index_or_of_its_later_ones_is_touched():
    own = {f"n{n}": f"pdf form {n}" for n in range(6)}
    made = engine(mapped(own), mapped({"p": "cloud test"}, "m@1"), calibrating=False)
    for name in ("m", "m@1"):
        made.request(Job("reconcile", name))
    made.drain()
    before = made.snapshot.corpora["m"]
    joined = join_indexes(before, made.snapshot.corpora["m@1"], "m")
    held = state_of(joined)
    first = state_of(before)
    for number in range(6, 12):  # what comes is laid behind what the snapshot saw
        own[f"n{number}"] = f"invoice note {number}"
        made.request(Job("reconcile", "m"))
        made.drain()
    assert state_of(joined) == held
    assert state_of(before) == first
    after = made.snapshot.corpora["m"]
    assert [each[0] for each in state_of(after)] == list(own)


def state_of(index):
    rows, cards = index.rows, index.rows.cards
    column = index.columns.get_column("asset_type")
    return [
        (
            cards[int(rows.artifact_of.array[at])].artifact_id,
            rows.shown[at].text,
            rows.get_kind(at),
            rows.count_terms(at),
            rows.vectors.array[at].tolist(),
            column.values[column.codes[at]],
        )
        for at in rows.list_positions()
    ]


def test_values_of_filters_that_come_later_are_not_shared():
    made = engine_of({"a": tool("pdf", team="docs")}, **{"tools@1": {"b": tool("pdf", team="ops")}})
    own, part = made.snapshot.corpora["tools"], made.snapshot.corpora["tools@1"]
    assert own.columns.get_column("team").values[1:] == ["docs"]
    joined = join_indexes(own, part, "tools")
    assert joined.columns.get_column("team").values[1:] == ["docs", "ops"]
    assert own.columns.get_column("team").values[1:] == ["docs"]
    assert part.columns.get_column("team").values[1:] == ["ops"]
    answer = discovery.search(
        Snapshot(1, {"tools": joined}, made.snapshot.vocabulary),
        parse_search(Query("pdf", where={"team": "ops"})),
        made.state.models,
    )
    assert [hit.artifact_id for hit in answer.selection.results] == ["b"]


def test_vectors_of_another_embedder_count_as_none():
    made = built({"a": "pdf form", "b": "cloud"}, {"c": "pdf test"})
    own, part = made.snapshot.corpora["m"], made.snapshot.corpora["m@1"]
    rows = part.rows.drop_vectors(7)
    other = replace(part, embedder="other", rows=replace(rows, embedded=~rows.embedded))
    joined = join_indexes(own, other, "m")
    assert joined.embedder == own.embedder
    assert (joined.n_records, joined.n_embedded) == (3, 2)


@needs_graph
def test_a_graph_of_the_person_s_finds_what_it_found_and_the_part_is_searched_beside_it():
    words = {f"n{n}": f"{WORDS[n % 8]} {WORDS[n // 8]}" for n in range(64)}
    made = built(words, {"c": "pdf test"})
    own, part = made.snapshot.corpora["m"], made.snapshot.corpora["m@1"]
    own = replace(own, dense=make_dense(own.rows, build_graph(own.rows)))
    joined = join_indexes(own, part, "m").dense
    assert joined.first.graph is own.dense.graph
    for position, vector in ((64, part.rows.vectors.array[0]), (9, own.rows.vectors.array[9])):
        positions, cosines = joined.nearest(vector, 1)
        assert position in positions[cosines >= cosines.max()]


def test_floors_are_the_part_s_where_they_fit_both_and_else_the_person_s_where_they_fit():
    made = built({f"n{n}": "pdf form" for n in range(20)}, {"c": "pdf test", "d": "cloud"})
    own, part = made.snapshot.corpora["m"], made.snapshot.corpora["m@1"]
    joined = join_indexes(own, part, "m")
    assert joined.floors == {}
    own = replace(own, floors={"hybrid": floor_of(own, 0.3)})
    assert join_indexes(own, part, "m").floors["hybrid"].at_least == 0.3
    early = int(own.rows.numbers.array[8])
    few = replace(own, floors={"hybrid": floor_of(own, 0.3, artifacts=9, last=early)})
    assert join_indexes(few, part, "m").floors == {}
    part = replace(part, floors={"hybrid": floor_of(joined, 0.6)})
    assert join_indexes(own, part, "m").floors["hybrid"].at_least == 0.6
    other = replace(part, floors={"hybrid": floor_of(joined, 0.6, embedder="other")})
    assert join_indexes(own, other, "m").floors["hybrid"].at_least == 0.3


def test_what_is_joined_is_still_being_built_while_either_is():
    made = built({"a": "pdf"}, {"c": "pdf test"})
    own, part = made.snapshot.corpora["m"], made.snapshot.corpora["m@1"]
    assert join_indexes(own, part, "m").last_reconcile is not None
    for one, other in (
        (replace(own, last_reconcile=None), part),
        (own, replace(part, last_reconcile=None)),
    ):
        assert join_indexes(one, other, "m").building
    none = Rows.make_empty(64)
    by_hand = replace(own, rows=none, last_reconcile=None, by_hand=True)
    assert not join_indexes(by_hand, part, "m").building


def test_a_scope_joins_what_the_person_has_and_adds_what_only_the_project_has():
    made = built({"a": "pdf"}, {"c": "pdf test"})
    indexes = dict(made.snapshot.corpora)
    part = indexes.pop("m@1")
    snapshot = Snapshot(3, indexes, made.snapshot.vocabulary, {"m@1": part, "docs@1": part})
    scoped = Scopes().scope_snapshot(snapshot, {"m": "m@1", "docs": "docs@1", "rules": "rules@1"})
    assert {name: each.n_artifacts for name, each in scoped.corpora.items()} == {
        "m": 2,
        "all": 2,
        "docs": 1,
    }
    assert scoped.corpora["docs"].corpus == "docs"
    assert scoped.corpora["all"] is indexes["all"]
    assert snapshot.corpora == indexes


def test_a_joined_index_is_kept_until_either_changes_and_only_a_few_are():
    made = built({"a": "pdf"}, {"c": "pdf test"})
    own, part = made.snapshot.corpora["m"], made.snapshot.corpora["m@1"]
    parts = {f"m@{n}": replace(part, corpus=f"m@{n}") for n in range(3)}
    snapshot = Snapshot(1, {"m": own}, made.snapshot.vocabulary, parts)
    scopes = Scopes(kept=2)

    def scope(number, of=snapshot):
        return scopes.scope_snapshot(of, {"m": f"m@{number}"}).corpora["m"]

    first = scope(0)
    assert scope(0) is first
    assert scope(0, replace(snapshot, corpora={"m": replace(own)})) is not first
    first = scope(0)
    scope(1)
    assert scope(0) is first
    scope(2)
    assert scope(0) is first
    scope(1)
    scope(2)
    assert scope(0) is not first
