"""An engine in memory and a copy of its corpora in a backend, asked side by side."""

from dataclasses import replace

from irdaemon.contrib.backends.remote import (
    CopyOrigin,
    Texts,
    Vocabularies,
    ask_held,
    make_copy_state,
    make_delta,
    make_remote_index,
    make_totals,
)
from irdaemon.discovery import discover as discovery
from irdaemon.discovery.explain import explain
from irdaemon.discovery.query import parse_query
from irdaemon.engine.queue import Job
from irdaemon.index import Snapshot
from irdaemon.types import Query

HOLDER = "someone@here"


class Copied:
    """An engine, the backend that its corpora are copied to, and what is known of the copies."""

    def __init__(self, engine, backend):
        self.engine, self.backend = engine, backend
        self.held, self.vocabularies = {}, Vocabularies()

    def scan(self):
        """Have the engine scan every corpus, and copy what changed."""
        for name in self.engine.corpora:
            self.engine.request(Job("reconcile", name))
        self.engine.drain()
        return self.copy()

    def copy(self):
        """Bring the backend level with the engine; return its generations."""
        return {name: self._copy(name) for name in self.engine.snapshot.corpora}

    def origin(self, name):
        corpus, ledger = self.engine.corpora[name], self.engine.ledger
        return CopyOrigin(corpus.kind, corpus.recipe, str(ledger.read_identity()), HOLDER)

    def delta(self, name):
        """Return what the backend lacks of a corpus."""
        snapshot, ledger = self.engine.snapshot, self.engine.ledger
        index, origin = snapshot.corpora[name], self.origin(name)
        if name not in self.held:
            self.held[name] = ask_held(self.backend, index, origin, len(snapshot.vocabulary))
        fence = self.backend.take_lease(name, HOLDER)
        totals = make_totals(index, origin, snapshot.generation)
        terms = {number: word for word, number in ledger.terms.get_table().items()}

        def words_of(ids):
            return {terms[number]: number for number in ids}

        def text_of(artifact_id):
            stored = ledger.artifacts.get(name, artifact_id)
            return stored.body or "", stored.digest, stored.indexed_at

        return make_delta(index, self.held[name], totals, fence, Texts(ledger, words_of, text_of))

    def _copy(self, name):
        generation = self.backend.apply(self.delta(name))
        self.held[name] = make_copy_state(self.engine.snapshot.corpora[name], generation)
        return generation

    @property
    def remote(self):
        """Return the snapshot that a process without the ledger has."""
        indexes = {
            name: make_remote_index(self.backend, totals, self.vocabularies)
            for name, totals in self.backend.read_totals().items()
        }
        generation = max((each.whole.totals.generation for each in indexes.values()), default=0)
        return Snapshot(generation, indexes)

    def both(self, query, run=discovery.discover):
        """Return what the engine and the copy answer."""
        query = parse_query(query if isinstance(query, Query) else Query(query))
        return tuple(run(each, query, self.engine.state.models) for each in self._snapshots())

    def _snapshots(self):
        return self.engine.snapshot, self.remote

    def explained(self, query, item=""):
        """Return how both explain an answer."""
        asked = parse_query(Query(query))
        return tuple(
            explain(each, asked, self.engine.state.models, item) for each in self._snapshots()
        )


def answered(trace):
    """Return what of an answer must be the same wherever the index lies."""
    selection = trace.selection
    signals = {name: _rounded(each) for name, each in selection.signals.items()}
    return (
        [_hit(hit) for hit in selection.results],
        (selection.abstained, selection.reason, selection.n_retrieved),
        signals,
    )


def _hit(hit):
    plain = replace(hit, scores={}).to_dict()
    numbers = {name: round(value, 3) for name, value in hit.scores.items()}
    return {**plain, "score": round(hit.score, 3), **numbers}


def _rounded(value):
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    return round(value, 3) if isinstance(value, float) else value
