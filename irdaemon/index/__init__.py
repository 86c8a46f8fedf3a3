"""The index: an immutable, deletable function of the ledger.

Each corpus has a CorpusIndex; all of them together, under one generation number, are a Snapshot.
A query reads the engine's snapshot once and works on that one to its end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from irdaemon.embed.pool import ABSENT
from irdaemon.index.backend import Totals, Wanted
from irdaemon.index.columns import Columns
from irdaemon.index.dense import Dense, graph_is_due, lacks_graph, make_dense
from irdaemon.index.graph import Graph, build_graph
from irdaemon.index.image import Image, Images, Origin
from irdaemon.index.lexical import Lexical
from irdaemon.index.names import Names
from irdaemon.index.rows import Card, Recounted, Rows, Shown
from irdaemon.index.spool import Spool
from irdaemon.ledger import Ledger
from irdaemon.ledger.terms import Vocabulary
from irdaemon.types import Floor

# A floor is stale when more than this share of the artifacts came or went since.
DRIFT = 0.2
# How many values of a field tell what kind it has.
_SAMPLE = 100
# The vocabulary keeps forms of words behind this (see `text`).
FORM = "="

__all__ = [
    "Card",
    "Columns",
    "CorpusIndex",
    "Dense",
    "Graph",
    "Image",
    "Images",
    "Lexical",
    "Names",
    "Origin",
    "Recounted",
    "Rows",
    "Shown",
    "Snapshot",
    "build_graph",
    "graph_is_due",
    "lacks_graph",
]


@dataclass(frozen=True, slots=True)
class Whole:
    """Facts about a whole corpus, for an index that holds only part of it.

    `eligible` counts the records that the filters of the query let through.
    """

    totals: Totals
    eligible: int


class Elsewhere(Protocol):
    """A corpus that lies in another engine: see `remote`. Every method raises Unavailable."""

    def fetch_part(self, wanted: Wanted) -> CorpusIndex:
        """Return the part of the corpus that a query needs."""
        ...

    def include_artifacts(self, artifact_ids: tuple[str, ...]) -> Elsewhere:
        """Return the same corpus with these artifacts in the part that any query gets."""
        ...

    def count_records(self, word: str) -> int:
        """Return how many records hold a word."""
        ...

    def list_words_like(self, initials: Collection[str], lengths: range) -> Iterable[str]:
        """Return the words that begin with one of the letters and have a length."""
        ...

    def rank(self, wanted: Wanted, leg: str, score: float) -> int:
        """Return the rank of a score among all records in a leg, from 1."""
        ...


@dataclass(frozen=True, slots=True)
class CorpusIndex:
    """One corpus, searchable: rows, the two legs, the filter columns, and how whole it is.

    `embedder` names the vector space of the dense leg. `floors` are the calibrated floors that fit
    it, by mode. `last_reconcile` is None until the first whole scan has ended; until then `heads`
    counts the entries known by name and description alone. `degraded` lists roots that could not be
    scanned. `vocabulary` is what its term ids are from, where that is not
    its snapshot's. `by_hand` is whether only a person has it scanned. Of an index that lies in
    another engine, and of its parts, `elsewhere` is where that is and `whole` tells of the whole.
    """

    corpus: str
    embedder: str
    rows: Rows
    lexical: Lexical
    dense: Dense
    columns: Columns
    names: Names
    floors: Mapping[str, Floor] = field(default_factory=dict)
    last_reconcile: float | None = None
    heads: int = 0
    degraded: tuple[str, ...] = ()
    vocabulary: Mapping[str, int] | None = None
    by_hand: bool = False
    elsewhere: Elsewhere | None = None
    whole: Whole | None = None
    # Counted once: how many artifacts and records there are, and how many of these have a vector.
    n_artifacts: int = field(init=False, default=0)
    n_records: int = field(init=False, default=0)
    n_embedded: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        held = self.whole.totals if self.whole else self.rows
        for name in ("n_artifacts", "n_records", "n_embedded"):
            object.__setattr__(self, name, getattr(held, name))

    @classmethod
    def from_image(cls, origin: Origin, image: Image) -> CorpusIndex:
        """Return an image as the index to go on from."""
        rows, lexical = image.rows, image.lexical
        dense = make_dense(rows, image.graph)
        columns, names = Columns(rows), Names.build(rows, lexical)
        return cls(origin.corpus, origin.embedder, rows, lexical, dense, columns, names)

    def recount(self, changed: Mapping[int, Recounted]) -> CorpusIndex:
        """Return the index with other terms and vectors of some records: to try, not to serve."""
        rows = self.rows.recount(changed)
        lexical = Lexical.from_rows(rows)
        columns, names = replace(self.columns, rows=rows), Names.build(rows, lexical)
        dense = Dense(rows)
        return replace(self, rows=rows, lexical=lexical, dense=dense, columns=columns, names=names)

    @property
    def image(self) -> Image:
        """Return the part that may be laid out in a file."""
        return Image(self.rows, self.lexical, self.dense.graph)

    def on(self, image: Image) -> CorpusIndex:
        """Return the same index backed by the image made from it."""
        rows, lexical = image.rows, image.lexical
        return replace(
            self,
            rows=rows,
            lexical=lexical,
            dense=make_dense(rows, image.graph, self.dense),
            columns=replace(self.columns, rows=rows),
            names=Names.build(rows, lexical, self.names),
        )

    @property
    def unembedded(self) -> int:
        """Count the records that have no vector yet."""
        return self.n_records - self.n_embedded

    @property
    def has_vectors(self) -> bool:
        """Return whether any record has a vector."""
        return bool(self.n_embedded)

    def count_eligible(self, mask: NDArray[np.bool_] | None) -> int:
        """Count the records that a filter's mask lets through; None means no filter."""
        if self.whole:
            return self.whole.eligible
        return self.n_records if mask is None else int(np.count_nonzero(mask))

    def list_field_names(self) -> set[str]:
        """Return every field that some record has."""
        return set(self.whole.totals.fields) if self.whole else self.columns.list_names()

    def sample_values(self, name: str) -> Sequence[Any]:
        """Return up to a hundred values of a field."""
        if self.whole:
            return self.whole.totals.fields.get(name, ())
        return self.columns.get_column(name).values[1:_SAMPLE]

    @property
    def kinds(self) -> Sequence[str]:
        """Return the kinds of surfaces that records have or had."""
        return self.whole.totals.kinds if self.whole else self.rows.kind_names

    @property
    def building(self) -> bool:
        """Return whether the first whole scan, or most of the vectors, are still missing.

        Where there is no embedder no vectors will come, and where a person has to ask for the first
        scan it does not come by itself.
        """
        embedding = self.embedder and not self.embedder.startswith(ABSENT)
        few_vectors = embedding and 2 * self.unembedded > self.n_records
        begun = not self.by_hand or bool(self.n_records)
        return (self.last_reconcile is None and begun) or bool(few_vectors)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Every corpus as of one generation, and the vocabulary their term ids are from.

    `parts` are what projects add to corpora, by the name of the part: no query sees them but one
    that comes from the project (see `irdaemon.index.scope`). Of one that is restricted to some
    corpora `beside` are all.
    """

    generation: int = 0
    corpora: Mapping[str, CorpusIndex] = field(default_factory=dict)
    vocabulary: Mapping[str, int] = field(default_factory=dict)
    parts: Mapping[str, CorpusIndex] = field(default_factory=dict)
    beside: Mapping[str, CorpusIndex] = field(default_factory=dict)

    def find_index(self, name: str) -> CorpusIndex | None:
        """Return the index of a corpus, or of a project's part of one, by its name."""
        return self.corpora.get(name) or self.parts.get(name)

    def get_index(self, name: str) -> CorpusIndex:
        """Return the same as `find_index`. Raises KeyError for an unknown name."""
        return self.corpora[name] if name in self.corpora else self.parts[name]

    def list_indexes(self) -> tuple[CorpusIndex, ...]:
        """Return the indexes of all corpora and of all parts."""
        return (*self.corpora.values(), *self.parts.values())

    def replace_index(self, index: CorpusIndex) -> Snapshot:
        """Return the same state with another index of an existing corpus or part."""
        if index.corpus in self.parts:
            return replace(self, parts={**self.parts, index.corpus: index})
        return replace(self, corpora={**self.corpora, index.corpus: index})

    def get_vocabulary(self, index: CorpusIndex) -> Mapping[str, int]:
        """Return the vocabulary that a corpus' term ids are from."""
        return self.vocabulary if index.vocabulary is None else index.vocabulary

    def find_words(self, index: CorpusIndex) -> Mapping[str, int]:
        """Return the part of a corpus' vocabulary that a query may know.

        Words that only projects hold which the query does not come from are in it as well.
        """
        vocabulary = self.get_vocabulary(index)
        every = (self.beside or self.corpora).values()
        same = [i for i in every if not i.elsewhere and self.get_vocabulary(i) is vocabulary]
        return KnownWords(vocabulary, tuple(same))

    def count_records(self, word: str) -> int:
        """Return how many records of any corpus hold a word."""
        return sum(
            index.elsewhere.count_records(word)
            if index.elsewhere
            else index.lexical.count_records(self.get_vocabulary(index).get(word, -1))
            for index in self.corpora.values()
        )

    def list_words_like(self, initials: Collection[str], lengths: range) -> Iterator[str]:
        """Yield the words of its vocabularies that begin with one of the letters, of a length.

        Forms (see `text`), which begin with `=`, count by what follows it.
        """
        here = [index for index in self.corpora.values() if not index.elsewhere]
        every = (self.get_vocabulary(index) for index in here)
        for vocabulary in {id(each): each for each in every}.values():
            likely: Iterable[str] = vocabulary
            if isinstance(vocabulary, Vocabulary):
                likely = vocabulary.find_like(initials, lengths, FORM)
            for word in likely:
                plain = word[1:] if word[0] == FORM else word
                if plain[:1] in initials and len(plain) in lengths:
                    yield word
        for index in self.corpora.values():
            if index.elsewhere:
                yield from index.elsewhere.list_words_like(initials, lengths)


class KnownWords(Mapping[str, int]):
    """The words of a vocabulary that records or names of some corpora hold, and their numbers."""

    def __init__(self, vocabulary: Mapping[str, int], indexes: Sequence[CorpusIndex]):
        self._vocabulary, self._indexes = vocabulary, indexes

    def __getitem__(self, word: str) -> int:
        if (term := self.get(word, -1)) < 0:
            raise KeyError(word)
        return int(term)

    def get(self, word: str, default: Any = None) -> Any:
        """Return the number of a word, or the default if no record and no name holds it."""
        if (term := self._vocabulary.get(word, -1)) < 0:
            return default
        for index in self._indexes:
            if index.lexical.counts.count_one(term):
                return term
        return term if any(each.rows.names.holds(term) for each in self._indexes) else default

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.get(word, -1) >= 0

    def __iter__(self) -> Iterator[str]:
        return (word for word in self._vocabulary if word in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


@dataclass(frozen=True, slots=True)
class Space:
    """The space of a search: the recipe of its records, the embedder's id and dimension.

    `spool` is for what need not be in memory.
    """

    recipe: str
    embedder: str
    dim: int
    spool: Spool | None = None


def index_corpus(
    ledger: Ledger,
    corpus: str,
    space: Space,
    previous: CorpusIndex | None = None,
    graph: Graph | None = None,
) -> CorpusIndex:
    """Return the index of a corpus as it is now in the ledger, reusing what has not changed.

    `graph` takes the place of the previous index's.
    """
    if previous is not None and previous.embedder != space.embedder:
        previous = None
    before = previous.rows if previous else Rows.make_empty(space.dim, space.spool)
    rows = before.sync(ledger, corpus, space.embedder)
    reconciled, problems = ledger.corpora.read_state(corpus)
    floors = ledger.corpora.read_floors(corpus)
    lexical = Lexical.from_rows(rows, previous.lexical if previous else None)
    return CorpusIndex(
        corpus=corpus,
        embedder=space.embedder,
        rows=rows,
        lexical=lexical,
        dense=make_dense(
            rows,
            graph or (previous.dense.graph if previous else None),
            previous.dense if previous else None,
        ),
        columns=Columns.build(rows, previous.columns if previous else None),
        names=Names.build(rows, lexical, previous.names if previous else None),
        floors={m: f for m, f in floors.items() if _is_floor_current(f, space, rows)},
        last_reconcile=reconciled,
        heads=ledger.entries.count_heads(corpus) if reconciled is None else 0,
        degraded=tuple(problem.path for problem in problems),
    )


def drop_graphs(snapshot: Snapshot) -> Snapshot:
    """Return the same snapshot, searched exactly everywhere."""

    def make_exact(indexes: Mapping[str, CorpusIndex]) -> Mapping[str, CorpusIndex]:
        return {name: replace(each, dense=Dense(each.rows)) for name, each in indexes.items()}

    corpora, parts = make_exact(snapshot.corpora), make_exact(snapshot.parts)
    return replace(snapshot, corpora=corpora, parts=parts)


def _is_floor_current(floor: Floor, space: Space, rows: Rows) -> bool:
    """Return whether a floor was found in this space and for roughly these artifacts."""
    same = (floor.embedder, floor.recipe) == (space.embedder, space.recipe)
    return same and measure_drift(floor, rows) <= DRIFT


def are_floors_due(index: CorpusIndex, labels: str = "") -> bool:
    """Return whether new floors are due.

    There are none, the corpus has moved half as far as makes them stale, or the labelled cases
    (by their digest) have changed since.
    """
    kept = index.floors.values()
    moved = any(measure_drift(floor, index.rows) > DRIFT / 2 for floor in kept)
    return not kept or moved or any(floor.labels != labels for floor in kept)


def measure_drift(floor: Floor, rows: Rows) -> float:
    """Return the share of artifacts that came or went since a floor was calibrated."""
    stayed = int(np.count_nonzero(rows.alive & (rows.numbers.array <= floor.last)))
    came, went = rows.n_artifacts - stayed, floor.artifacts - stayed
    return (came + went) / max(floor.artifacts, 1)
