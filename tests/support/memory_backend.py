"""A backend in memory: it looks at every record, so what it finds is right."""

import threading
import time
from dataclasses import replace

import msgpack
import numpy as np

from irclient.errors import NotFound
from irdaemon.discovery.where import parse_filter
from irdaemon.index import CorpusIndex, Whole
from irdaemon.index.backend import Found, LeaseLost, OutOfStep, StoredText, Totals
from irdaemon.index.columns import Columns
from irdaemon.index.dense import Dense
from irdaemon.index.lexical import Lexical
from irdaemon.index.names import Names
from irdaemon.index.rows import Rows

LEASE_S = 15.0


class Kept:
    """What is kept of one corpus."""

    def __init__(self, totals: Totals):
        self.totals = totals
        self.artifacts, self.records = {}, {}
        self.words, self.df = {}, {}
        self.index = None


class MemoryBackend:
    """Keep corpora in dictionaries, and search them by brute force."""

    def __init__(self, clock=time.monotonic):
        self.kept, self.leases, self.clock = {}, {}, clock
        self.changed = threading.Condition()
        self.applied = 0

    def _of(self, corpus):
        if corpus not in self.kept:
            raise NotFound(f"unknown corpus {corpus!r}")
        return self.kept[corpus]

    # -- reading ---------------------------------------------------------------------------------

    def read_totals(self):
        return {name: kept.totals for name, kept in self.kept.items()}

    def find_candidates(self, corpus, wanted):
        kept = self._of(corpus)
        words = self.find_term_ids(corpus, (*wanted.ranked, *wanted.others))
        index = self._index(kept)
        mask = index.rows.present.copy()
        if wanted.where:
            mask &= parse_filter(wanted.where).make_mask(index.columns)
        if wanted.surfaces:
            mask &= index.columns.match_kinds(wanted.surfaces)
        near = self._lexical(index, wanted, words, mask) | self._dense(index, wanted, mask)
        called = np.isin(index.rows.called.array, wanted.names)[index.rows.artifact_of.array] & mask
        ids = [
            card.artifact_id for card in map(index.rows.cards.__getitem__, index.rows.list_owners())
        ]
        included = np.isin(ids, wanted.including)[index.rows.artifact_of.array]
        chosen = np.flatnonzero(near | called | included)
        records = [self._records(kept)[at] for at in chosen]
        owners = {sent.row[0] for sent in records}
        return Found(
            kept.totals,
            [kept.artifacts[number].row for number in sorted(owners)],
            [sent.row for sent in records],
            [sent.vector for sent in records],
            words,
            {term: kept.df.get(term, 0) for term in words.values()},
            int(mask.sum()),
        )

    def _lexical(self, index, wanted, words, mask):
        terms = [words[word] for word in wanted.ranked if word in words]
        scores = np.where(mask, index.lexical.score_all(terms, wanted.k1, wanted.b), 0)
        return _top(scores, wanted.depth) & (scores > 0)

    def _dense(self, index, wanted, mask):
        if wanted.vector is None:
            return np.zeros(len(mask), np.bool_)
        scores = np.where(index.rows.embedded & mask, index.dense.scores(wanted.vector), -9)
        return _top(scores, wanted.depth) & (scores > -9)

    def _records(self, kept):
        return [kept.records[key] for key in sorted(kept.records)]

    def _index(self, kept):
        if kept.index is None:
            kept.index = self._made(kept)
        return kept.index

    def _made(self, kept):
        totals, records = kept.totals, self._records(kept)
        artifacts = [kept.artifacts[number].row for number in sorted(kept.artifacts)]
        rows = Rows.build(artifacts, [each.row for each in records], totals.dim, kept.words)
        for at, sent in enumerate(records):
            if sent.vector is not None:
                rows.vectors.array[at] = np.frombuffer(sent.vector, np.float32)
                rows.embedded[at] = True
        lexical = replace(Lexical.from_rows(rows), mean_length=totals.mean_length)
        return CorpusIndex(
            corpus=totals.corpus,
            embedder=totals.embedder,
            rows=rows,
            lexical=lexical,
            dense=Dense(rows),
            columns=Columns(rows),
            names=Names.build(rows, lexical),
            whole=Whole(totals, 0),
        )

    def find_term_ids(self, corpus, words):
        known = self._of(corpus).words
        return {word: known[word] for word in words if word in known}

    def count_frequencies(self, corpus, terms):
        df = self._of(corpus).df
        return {term: df[term] for term in terms if df.get(term)}

    def list_words_like(self, corpus, initials, lengths):
        plain = ((word, word.removeprefix("=")) for word in self._of(corpus).words)
        return [word for word, own in plain if own[:1] in initials and len(own) in lengths]

    def rank(self, corpus, wanted, leg, score):
        index = self._index(self._of(corpus))
        if leg == "dense":
            return int((index.dense.scores(wanted.vector) > score + 1e-6).sum())
        words = self.find_term_ids(corpus, wanted.ranked)
        scores = index.lexical.score_all(list(words.values()), wanted.k1, wanted.b)
        return int((scores > score + 1e-6).sum())

    def read_texts(self, corpus, artifact_ids):
        kept = self._of(corpus)
        found = (sent for sent in kept.artifacts.values() if sent.row[1] in artifact_ids)
        return {sent.row[1]: self._stored(kept, sent) for sent in found}

    def _stored(self, kept, sent):
        number, artifact_id, name, pointer = sent.row[:4]
        records = [each for each in self._records(kept) if each.row[0] == number]
        return StoredText(
            artifact_id,
            name,
            pointer,
            sent.body,
            sent.digest,
            {},
            sent.indexed_at,
            [_stored_record(each) for each in records],
        )

    def wait(self, corpus, generation, timeout_s):
        with self.changed:
            self.changed.wait_for(
                lambda: self._of(corpus).totals.generation >= generation, timeout_s
            )
        return self._of(corpus).totals.generation

    def read_newest_generation(self, corpus):
        return self._of(corpus).totals.generation

    # -- writing ---------------------------------------------------------------------------------

    def take_lease(self, corpus, holder):
        own, fence, until = self.leases.get(corpus, (holder, 0, 0.0))
        if own != holder and until > self.clock():
            raise LeaseLost(f"{corpus!r} is written by {own}")
        new = own != holder or not fence
        self.leases[corpus] = (holder, fence + new, self.clock() + LEASE_S)
        return fence + new

    def release(self, corpus, holder):
        own, fence, _ = self.leases.get(corpus, ("", 0, 0.0))
        if own == holder:
            self.leases[corpus] = (own, fence, 0.0)

    def _check_fence(self, corpus, fence):
        own, newest, _ = self.leases.get(corpus, ("no process", 0, 0.0))
        if fence != newest:
            raise LeaseLost(f"{corpus!r} is written by {own}")

    def apply(self, delta):
        name = delta.totals.corpus
        self._check_fence(name, delta.fence)
        kept = self.kept.get(name)
        there = kept.totals if kept else None
        same = there and there.ledger == delta.totals.ledger
        if same and there.generation >= delta.totals.generation and delta.base:
            return there.generation
        if delta.base and (not there or there.generation != delta.base):
            raise OutOfStep(f"{name!r} is not at generation {delta.base}")
        with self.changed:
            self.kept[name] = _changed(kept if delta.base else None, delta)
            self.applied += 1
            self.changed.notify_all()
        return delta.totals.generation

    def drop(self, corpus, fence):
        self._check_fence(corpus, fence)
        self.kept.pop(corpus, None)

    def list_row_numbers(self, corpus):
        return sorted(self._of(corpus).artifacts)

    def list_unembedded(self, corpus):
        return [each.row[5] for each in self._of(corpus).records.values() if each.vector is None]

    def close(self):
        pass


def _stored_record(sent):
    record_id, granularity = sent.label
    return {
        "record_id": record_id,
        "kind": sent.row[1],
        "granularity": granularity,
        "surface_index": sent.row[2],
        "text": sent.text,
        "metadata": msgpack.unpackb(sent.row[4]),
    }


def _changed(before, delta):
    kept = Kept(delta.totals)
    if before:
        kept.artifacts, kept.records = dict(before.artifacts), dict(before.records)
        kept.words, kept.df = dict(before.words), dict(before.df)
    gone = set(delta.gone)
    kept.artifacts = {at: each for at, each in kept.artifacts.items() if at not in gone}
    kept.records = {at: each for at, each in kept.records.items() if at[0] not in gone}
    kept.artifacts.update((sent.row[0], sent) for sent in delta.artifacts)
    kept.records.update(((sent.row[0], sent.row[2]), sent) for sent in delta.records)
    for key, sent in kept.records.items():
        if sent.vector is None and sent.row[5] in delta.vectors:
            kept.records[key] = sent._replace(vector=delta.vectors[sent.row[5]])
    kept.words.update(delta.words)
    kept.df.update(delta.df)
    return kept


def _top(scores, depth):
    if not depth:
        return np.zeros(len(scores), np.bool_)
    if len(scores) <= depth:
        return np.ones(len(scores), np.bool_)
    return scores >= np.partition(scores, len(scores) - depth)[len(scores) - depth] - 1e-6
