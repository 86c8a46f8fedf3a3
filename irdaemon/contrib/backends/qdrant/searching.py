"""What a query needs of a corpus in Qdrant: the records near the top of either leg, whole.

Qdrant ranks by stored weights, which were made with the mean length there was then and are rounded
otherwise than here. So each leg asks for more than it needs, until what was left out cannot belong
to the top by any rounding or change of the mean; the exact scores come from the stored counts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from qdrant_client import models

from irdaemon.contrib.backends.qdrant.corpus_state import CorpusState, among, both, equal
from irdaemon.contrib.backends.qdrant.points import (
    DENSE,
    SEARCHED,
    SPARSE,
    in_batches,
    item_code,
    unpacked,
    value_code,
    word_id,
)
from irdaemon.contrib.backends.qdrant.server import BESIDE, QdrantServer, records
from irdaemon.index.backend import Found, Totals, Wanted
from irdaemon.index.columns import MISSING, NEGATED, Column, mask_column
from irdaemon.index.lexical import K1, B, Lexical, TermCounts
from irdaemon.index.rows import Rows

# Filters as Qdrant's conditions, with the meaning of `retrieve.where`.
#
# Equality is asked of codes that records carry for the values of their fields and for the items
# of
# lists. Any other condition is tried on the distinct values there are of the field, and becomes
# the
# codes of those that meet it; so what meets a filter is the same as in memory.

# Give the distinct values of a field.
ValuesOf = Callable[[str], Sequence[Any]]

_SCALARS = (str, int, float, bool, type(None))


def conditions(where: Mapping[str, Any], surfaces: frozenset[str], values_of: ValuesOf) -> Any:
    """Return the filter that a valid filter and kinds of surfaces are, None for none."""
    parts = [_part(name, condition, values_of) for name, condition in where.items()]
    if surfaces:
        parts.append(among("kind", sorted(surfaces)))
    return models.Filter(must=parts) if parts else None


def _part(name: str, condition: Any, values_of: ValuesOf) -> Any:
    if name == "$not":
        inner = conditions(condition, frozenset(), values_of)
        return models.Filter(must_not=[inner]) if inner else _nothing()
    if name in ("$and", "$or"):
        given = [conditions(each, frozenset(), values_of) for each in condition]
        parts = [each or models.Filter(must=[]) for each in given]
        if name == "$and":
            return models.Filter(must=parts)
        return models.Filter(should=parts) if parts else _nothing()
    if not isinstance(condition, Mapping):
        condition = {"$eq": condition}
    tests = [_test(name, sign, operand, values_of) for sign, operand in condition.items()]
    return models.Filter(must=tests)


def _test(name: str, sign: str, operand: Any, values_of: ValuesOf) -> Any:
    if sign == "$exists":
        there = equal("fields", name)
        return there if operand else models.Filter(must_not=[there])
    if sign in NEGATED:
        return models.Filter(must_not=[_test(name, NEGATED[sign], operand, values_of)])
    if sign in ("$eq", "$in"):
        operands = [operand] if sign == "$eq" else list(operand)
        if all(isinstance(each, _SCALARS) for each in operands):
            return _holding(name, operands)
    return _among(name, {sign: operand}, values_of(name))


def _holding(name: str, operands: Sequence[Any]) -> Any:
    """Return the condition of fields that equal a scalar, or have an item that does."""
    same = [each for each in operands if each == each]  # not a number equals nothing
    codes = [code(name, each) for each in same for code in (value_code, item_code)]
    return among("codes", codes) if codes else _nothing()


def _among(name: str, condition: Mapping[str, Any], values: Sequence[Any]) -> Any:
    """Return the condition of fields with one of the values that meet a condition."""
    column = Column(np.arange(len(values) + 1, dtype=np.int32), [MISSING])
    for value in values:
        column.code(value)
    mask = mask_column(condition, column)
    codes = [value_code(name, column.values[at]) for at in np.flatnonzero(mask).tolist() if at]
    return among("codes", codes) if codes else _nothing()


def _nothing() -> Any:
    """Return the condition that nothing meets."""
    return models.HasIdCondition(has_id=[])


# By how much sums of 32-bit scores may differ by the order of addition, and others at least do.
_ROUNDING = 1e-5
_ANOTHER = 1e-6
# Up to so many records are compared one by one, as the index in memory has them: it is exact.
_EXACT = 50_000
_EF_SEARCH = 200
_AMONG = 1_000


@dataclass(frozen=True, slots=True)
class _Leg:
    """A ranking to ask for. `bounds` are the least and most by which its scores may be wrong."""

    query: Any
    using: str
    bounds: tuple[float, float]
    exact: bool


@dataclass(frozen=True, slots=True)
class CorpusSearch:
    """One search of one state of a corpus."""

    server: QdrantServer
    state: CorpusState
    totals: Totals

    # -- statistics ------------------------------------------------------------------------------

    def words(self, words: Collection[str]) -> dict[str, int]:
        """Return the term ids of words."""
        ids = [word_id(self.state.corpus, self.state.epoch, word) for word in dict.fromkeys(words)]
        points = self._retrieved(BESIDE, ids, with_payload=["word", "term"])
        return {point.payload["word"]: point.payload["term"] for point in points}

    def frequencies(self, terms: Collection[int]) -> dict[int, int]:
        """Return how many records hold each of some terms."""
        newest: dict[int, tuple[int, int]] = {}
        for some in in_batches(sorted(terms), _AMONG):
            for point in self._beside("df", among("term", some)):
                at = point.payload["attempt"], point.payload["df"]
                newest[point.payload["term"]] = max(at, newest.get(point.payload["term"], at))
        return {term: df for term, (_, df) in newest.items() if df}

    def words_like(self, initials: Collection[str], lengths: range) -> list[str]:
        """Return the words that begin with one of the letters and have a length."""
        between = models.Range(gte=lengths.start, lt=lengths.stop)
        length = models.FieldCondition(key="length", range=between)
        points = self._beside("word", among("initial", sorted(initials)), length)
        return [point.payload["word"] for point in points]

    def values_of(self, name: str) -> list[Any]:
        """Return the distinct values of a field."""
        return [
            unpacked(point.payload["value"])
            for point in self._beside("value", equal("field", name))
        ]

    def _beside(self, what: str, *conditions: Any) -> Iterable[Any]:
        which = both(self.state.visible(), equal("what", what), *conditions)
        return self.server.each(BESIDE, self.state.corpus, which)

    # -- records ---------------------------------------------------------------------------------

    def found(self, wanted: Wanted) -> Found:
        """Return the records that a query needs; of one state where that is still the same."""
        words = self.words((*wanted.ranked, *wanted.others))
        df = self.frequencies(words.values())
        which = self._which(wanted)
        ids = self._near(wanted, words, df, which) | self._called(wanted, which)
        points = sorted(self._points(ids), key=lambda each: unpacked(each.payload["record"])[:3:2])
        artifacts = {point.payload["artifact"]: None for point in points}
        return Found(
            totals=self.totals,
            artifacts=[tuple(unpacked(each)) for each in artifacts],
            records=[tuple(unpacked(point.payload["record"])) for point in points],
            vectors=[_vector(point) for point in points],
            words=words,
            df={**dict.fromkeys(words.values(), 0), **df},
            eligible=self._eligible(wanted, which),
        )

    def _which(self, wanted: Wanted) -> Any:
        visible = self.state.visible()
        asked = conditions(wanted.where, wanted.surfaces, self.values_of)
        return both(visible, asked) if asked else visible

    def _eligible(self, wanted: Wanted, which: Any) -> int:
        if not wanted.where and not wanted.surfaces:
            return self.totals.n_records
        reading = self._reading()
        reading.pop("consistency", None)  # of counting the server knows none
        counted = self.server.ask(
            lambda client: client.count(
                collection_name=records(self.totals.dim),
                count_filter=which,
                exact=True,
                **reading,
            )
        )
        return int(counted.count)

    def _points(self, ids: set[Any]) -> list[Any]:
        collection = records(self.totals.dim)
        return self._retrieved(collection, ids, SEARCHED, self._dense_names())

    def _retrieved(
        self, collection: str, ids: Iterable[Any], with_payload: Any, with_vectors: Any = False
    ) -> list[Any]:
        def of(some: list[Any]) -> Any:
            return self.server.ask(
                lambda client: client.retrieve(
                    collection_name=collection,
                    ids=some,
                    with_payload=with_payload,
                    with_vectors=with_vectors,
                    **self._reading(),
                )
            )

        return [point for some in in_batches(ids, _AMONG) for point in of(some)]

    def _reading(self) -> dict[str, Any]:
        return self.server.reading(self.state.corpus)

    def _dense_names(self) -> list[str] | bool:
        return [DENSE] if self.totals.dim else False

    def _called(self, wanted: Wanted, which: Any) -> set[Any]:
        """Return the ids of the records of what is called by name, and of what is asked for."""
        asked = []
        if wanted.names:
            asked.append(both(which, among("called", wanted.names)))
        if wanted.including:
            asked.append(both(self.state.visible(), among("id", wanted.including)))
        collection = records(self.totals.dim)
        return {
            point.id
            for each in asked
            for point in self.server.each(collection, self.state.corpus, each, False)
        }

    # -- legs ------------------------------------------------------------------------------------

    def _near(
        self, wanted: Wanted, words: Mapping[str, int], df: Mapping[int, int], which: Any
    ) -> set[Any]:
        legs = [self._lexical(wanted, words, df), self._dense(wanted)]
        near: set[Any] = set()
        open_legs, limit = [leg for leg in legs if leg], 2 * wanted.depth
        while open_legs:
            ranked = self._ranked(open_legs, which, limit, with_payload=False)
            near |= {point.id for points in ranked for point in points}
            open_legs = [
                leg
                for leg, points in zip(open_legs, ranked, strict=True)
                if len(points) == limit and not _enough(points, wanted.depth, leg.bounds)
            ]
            limit *= 4
        return near

    def _ranked(
        self, legs: Sequence[_Leg], which: Any, limit: int, with_payload: bool
    ) -> list[list[Any]]:
        asked = [
            models.QueryRequest(
                query=leg.query,
                using=leg.using,
                filter=which,
                limit=limit,
                with_payload=with_payload,
                params=self._params(leg, limit),
                shard_key=self.state.corpus if self.server.placing.sharded else None,
            )
            for leg in legs
        ]
        reading = self._reading()
        reading.pop("shard_key_selector", None)
        collection = records(self.totals.dim)
        answers = self.server.ask(
            lambda client: client.query_batch_points(
                collection_name=collection, requests=asked, **reading
            )
        )
        return [answer.points for answer in answers]

    def _params(self, leg: _Leg, limit: int) -> Any:
        if not self.server.placing.sharded:  # the local mode is exact, and knows none
            return None
        return models.SearchParams(exact=leg.exact, hnsw_ef=max(_EF_SEARCH, limit))

    def _dense(self, wanted: Wanted) -> _Leg | None:
        if wanted.vector is None or not self.totals.dim:
            return None
        few = self.totals.n_records <= _EXACT
        return _Leg(wanted.vector.tolist(), DENSE, (1.0, 1.0), few)

    def _lexical(
        self, wanted: Wanted, words: Mapping[str, int], df: Mapping[int, int]
    ) -> _Leg | None:
        terms = [words[word] for word in wanted.ranked if word in words]
        if not any(df.get(term) for term in terms):
            return None
        weights = self._idf(terms, df).tolist()
        query = models.SparseVector(indices=terms, values=weights)
        return _Leg(query, SPARSE, self._bounds(wanted), True)

    def _idf(self, terms: Sequence[int], df: Mapping[int, int]) -> NDArray[np.float32]:
        counted = np.array([df.get(term, 0) for term in terms], np.int64)
        none = Lexical.of(Rows.empty(0))
        of = replace(none, counts=TermCounts(counted), n=self.totals.n_records)
        return of.weights(np.arange(len(terms)))

    def _bounds(self, wanted: Wanted) -> tuple[float, float]:
        """Return by how much less and more a record may score than Qdrant says.

        A weight changes by no more than the mean length does. For other numbers of BM25 than the
        weights were made with nothing is known: all that match are fetched.
        """
        if (wanted.k1, wanted.b) != (K1, B):
            return 0.0, 1.0
        mean = self.totals.mean_length
        return min(1.0, mean / self.state.most_mean), max(1.0, mean / self.state.least_mean)

    def rank(self, wanted: Wanted, leg: str, score: float) -> int:
        """Count the records that score above another in a leg, without filters."""
        words = self.words(wanted.ranked)
        df = self.frequencies(words.values())
        asked = self._dense(wanted) if leg == "dense" else self._lexical(wanted, words, df)
        if asked is None:
            return 0
        asked, limit = replace(asked, exact=True), 1_000
        _, most = asked.bounds if asked.bounds[0] else (0.0, np.inf)
        points = self._ranked([asked], self.state.visible(), limit, with_payload=leg != "dense")[0]
        while len(points) == limit and points[-1].score * most > score:
            limit *= 10
            points = self._ranked([asked], self.state.visible(), limit, leg != "dense")[0]
        if leg == "dense":
            return sum(point.score > score + _ANOTHER for point in points)
        return self._above(points, wanted, words, df, score)

    def _above(
        self,
        points: Sequence[Any],
        wanted: Wanted,
        words: Mapping[str, int],
        df: Mapping[int, int],
        score: float,
    ) -> int:
        rows = Rows.built([], [unpacked(point.payload["record"]) for point in points], 0, {})
        counted = np.zeros(max(df, default=-1) + 1, np.int64)
        counted[list(df)] = list(df.values())
        lexical = replace(Lexical.of(rows), counts=TermCounts(counted), n=self.totals.n_records)
        terms = [words[word] for word in wanted.ranked if word in words]
        exact = _scored(lexical, terms, self.totals.mean_length, wanted)
        return int((exact > score + _ANOTHER).sum())


def _scored(
    lexical: Lexical, terms: Sequence[int], mean: float, wanted: Wanted
) -> NDArray[np.float32]:
    """Return the exact BM25 of records by the mean length of the whole corpus."""
    at_mean = replace(Lexical.on_base(lexical.rows, mean, _NOTHING, 0, lexical.counts), n=lexical.n)
    return at_mean.score_all(terms, wanted.k1, wanted.b)


_NOTHING = Lexical.of(Rows.empty(0)).base


def _enough(points: Sequence[Any], depth: int, bounds: tuple[float, float]) -> bool:
    """Return whether what a ranking left out is neither among the first `depth` nor ties."""
    least, most = bounds
    wanted = points[depth - 1].score
    return bool(points[-1].score * most < wanted * least - _ROUNDING * max(abs(wanted), 1.0))


def _vector(point: Any) -> bytes | None:
    vector = (point.vector or {}).get(DENSE)
    return None if vector is None else np.array(vector, np.float32).tobytes()
