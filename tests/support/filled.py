"""Corpora in a backend without a ledger behind them: artifacts and records made up by the tests."""

from collections import Counter
from dataclasses import dataclass, field, replace

import msgpack
import numpy as np

from irdaemon.index.backend import IndexDelta, SentArtifact, SentRecord, Totals, Wanted

DIM = 8
HOLDER = "writer@test"


def vector_of(number, dim=DIM):
    """Return a vector of length one."""
    made = np.random.default_rng(number).normal(size=dim).astype(np.float32)
    return made / np.linalg.norm(made)


@dataclass
class MadeItem:
    """An artifact with a record for each of its texts, given as term counts."""

    number: int
    texts: list[dict[int, float]]
    fields: dict = field(default_factory=dict)
    metadata: dict = field(default_factory=dict)
    name: str = ""
    name_terms: tuple[int, ...] = ()
    body: str = "the body"
    kind: str = "document"
    embedded: bool = True

    @property
    def artifact_id(self):
        return f"item/{self.number}"

    def artifact(self):
        row = (
            self.number,
            self.artifact_id,
            self.name or f"item-{self.number}",
            f"/somewhere/{self.number}",
            msgpack.packb(self.fields),
            f"content-{self.number}",
            np.array(self.name_terms, np.int32).tobytes(),
        )
        return SentArtifact(row, self.body, "digest", 12.5)

    def records(self):
        for surface, counts in enumerate(self.texts):
            text = f"text {self.number} {surface} {self.body}"
            row = (
                self.number,
                self.kind,
                surface,
                text[:10],
                msgpack.packb(self.metadata),
                f"digest-{self.number}-{surface}".encode(),
                np.array(list(counts), np.int32).tobytes(),
                np.array(list(counts.values()), np.float32).tobytes(),
            )
            vector = vector_of(self.number * 100 + surface).tobytes() if self.embedded else None
            yield SentRecord(row, vector, text, (f"record-{surface}", "whole"))


class MadeCorpus:
    """What a corpus should hold, and the deltas that take a backend there."""

    def __init__(self, name="c", ledger="ledger-1", generation=0):
        self.name, self.ledger = name, ledger
        self.items = {}
        self.generation = generation
        self.last = 0
        self.sent = False
        self.counts = Counter()

    def totals(self):
        records = [each for item in self.items.values() for each in item.records()]
        lengths = [np.frombuffer(each.row[7], np.float32).sum() for each in records]
        return Totals(
            corpus=self.name,
            kind="made",
            ledger=self.ledger,
            holder=HOLDER,
            generation=self.generation,
            embedder="made",
            dim=DIM,
            recipe="r",
            n_artifacts=len(self.items),
            n_records=len(records),
            n_embedded=sum(each.vector is not None for each in records),
            mean_length=float(np.mean(lengths)) if lengths else 1.0,
        )

    def df(self):
        held = [t for item in self.items.values() for counts in item.texts for t in counts]
        return {term: held.count(term) for term in set(held)}

    def add(self, texts, **more):
        """Return a new item, which the next delta brings."""
        self.last += 1
        return MadeItem(self.last, texts, **more)

    def delta(self, fence, came=(), gone=(), base=None):
        """Change the corpus, and return the delta for that."""
        before, previous, sent_before = self.df(), self.generation, self.sent
        self.sent = True
        for number in gone:
            del self.items[number]
        for item in came:
            self.items[item.number] = item
        self.generation += 1
        whole = base == 0 or not sent_before
        sent = list(self.items.values()) if whole else list(came)
        now = self.df()
        terms = {*now} if whole else {*before, *now}
        changed = {t: now.get(t, 0) for t in terms if whole or now.get(t, 0) != before.get(t, 0)}
        named = {term for item in sent for term in item.name_terms}
        return IndexDelta(
            totals=self.totals(),
            base=0 if whole else previous,
            fence=fence,
            gone=() if whole else list(gone),
            artifacts=[item.artifact() for item in sent],
            records=[record for item in sent for record in item.records()],
            words={word_of(term): term for term in {*(t for t in changed if now.get(t)), *named}},
            df=changed,
        )

    def small_delta(self, fence, item):
        """Add one item of one text, without a look at all the others; return the delta."""
        before, previous = self.counts.copy(), self.generation
        self.counts.update(item.texts[0].keys())
        self.generation += 1
        changed = {term: n for term, n in self.counts.items() if n != before[term]}
        totals = Totals(
            corpus=self.name,
            kind="made",
            ledger=self.ledger,
            holder=HOLDER,
            generation=self.generation,
            embedder="made",
            dim=DIM,
            recipe="r",
            n_artifacts=self.generation,
            n_records=self.generation,
            n_embedded=self.generation,
            mean_length=2.0,
        )
        return IndexDelta(
            totals=totals,
            base=previous,
            fence=fence,
            artifacts=[item.artifact()],
            records=list(item.records()),
            words={word_of(term): term for term in changed},
            df=changed,
        )


def word_of(term):
    return f"word{term}"


def wanted(terms=(), vector=None, **more):
    """Return what a query for terms, and near a vector, needs."""
    plain = Wanted(tuple(map(word_of, terms)), (), vector, 100, 1.5, 0.75)
    return replace(plain, **more)


def owners(found):
    """Return the numbers of the artifacts that were found."""
    return [row[0] for row in found.artifacts]
