"""Corpora in Qdrant, for any number of processes: `irdaemon[qdrant]`.

docs/backends.md says which of a backend's guarantees Qdrant gives, and which not.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from qdrant_client import models

from irclient.counts import format_count
from irclient.errors import Unavailable
from irdaemon.contrib.backends.qdrant.corpus_state import (
    CorpusState,
    CorpusWriter,
    States,
    make_not_found,
    match_any,
    match_range,
    match_value,
    require_all,
)
from irdaemon.contrib.backends.qdrant.points import (
    DENSE,
    FORMAT,
    SPARSE,
    hash_value,
    make_point_id,
    unpack,
)
from irdaemon.contrib.backends.qdrant.server import BESIDE, QdrantServer, name_records, open_server
from irdaemon.contrib.backends.state import (
    BackendAdmin,
    BackendState,
    CheckLine,
    CorpusSize,
    HostState,
    get_scope,
    make_stored_record,
    make_stored_text,
    split_batches,
)
from irdaemon.index.backend import Found, IndexBackend, IndexDelta, StoredText, Totals, Wanted
from irdaemon.index.columns import MISSING, NEGATED, Column, mask_column
from irdaemon.index.lexical import K1, B, Lexical, TermCounts
from irdaemon.index.rows import Rows

T = TypeVar("T")

_TRIES = 5
_POLL_S = 0.05


def make(url: str, password: str | None) -> IndexBackend:
    """Return the backend that a URL names (see `open_server`); `password` is the API key."""
    return QdrantBackend(open_server(url, password or ""))


def make_admin(url: str, password: str | None) -> BackendAdmin:
    """Return the admin of a backend."""
    return QdrantAdmin(open_server(url, password or ""))


class QdrantBackend:
    """Store corpora in Qdrant (see `IndexBackend`)."""

    def __init__(self, server: QdrantServer, clock: Callable[[], float] = time.time):
        self._server = server
        self._states = States(server, clock)

    # -- searching -----------------------------------------------------------------------------

    def read_totals(self) -> Mapping[str, Totals]:
        """Return the facts about every corpus, by name."""
        there = (each for each in self._states.list_all() if each.totals and _is_seen(each.corpus))
        return {state.corpus: state.load_totals() for state in there}

    def find_candidates(self, corpus: str, wanted: Wanted) -> Found:
        """Return the records that a query needs from a corpus."""
        return self._search(corpus, lambda search: search.find(wanted))

    def find_term_ids(self, corpus: str, words: Collection[str]) -> Mapping[str, int]:
        """Return the term ids of the words that the corpus' ledger knows."""
        return self._search(corpus, lambda search: search.find_term_ids(words))

    def count_frequencies(self, corpus: str, terms: Collection[int]) -> Mapping[int, int]:
        """Return how many records hold each of some terms, by id."""
        return self._search(corpus, lambda search: search.count_frequencies(terms))

    def list_words_like(
        self, corpus: str, initials: Collection[str], lengths: range
    ) -> Collection[str]:
        """Return the words of a length in a corpus' ledger that begin with one of the letters."""
        return self._search(corpus, lambda search: search.list_words_like(initials, lengths))

    def rank(self, corpus: str, wanted: Wanted, leg: str, score: float) -> int:
        """Count the records that a leg scores above `score`, unfiltered."""
        return self._search(corpus, lambda search: search.rank(wanted, leg, score))

    def _search(self, corpus: str, ask: Callable[[CorpusSearch], T]) -> T:
        """Return the result of a search on one state, repeated if the state changes meanwhile."""
        if not _is_seen(corpus):
            raise make_not_found(corpus)
        state = self._states.get_known(corpus)
        for _ in range(_TRIES):
            given = ask(CorpusSearch(self._server, state, state.load_totals()))
            after = self._states.get_known(corpus)
            if (after.epoch, after.committed) == (state.epoch, state.committed):
                return given
            state = after
        raise Unavailable(f"{corpus!r} changes faster than it can be searched", "ask again")

    def read_texts(self, corpus: str, artifact_ids: Collection[str]) -> Mapping[str, StoredText]:
        """Return the texts of artifacts as they were stored, by id."""

        def read(search: CorpusSearch) -> Mapping[str, StoredText]:
            which = require_all(search.state.match_visible(), match_any("id", sorted(artifact_ids)))
            artifacts = list(self._server.scroll(BESIDE, corpus, which))
            payloads = (p.payload for p in self._server.scroll(search.collection, corpus, which))
            records = sorted(payloads, key=lambda each: int(each["surface"]))
            return {each.payload["id"]: _read_text(each.payload, records) for each in artifacts}

        return self._search(corpus, read)

    def wait(self, corpus: str, generation: int, timeout_s: float) -> int:
        """Wait until a generation of a corpus can be searched; return the one then served."""
        until = time.monotonic() + timeout_s
        while (
            there := self.read_newest_generation(corpus)
        ) < generation and time.monotonic() < until:
            time.sleep(_POLL_S)
        return there

    def read_newest_generation(self, corpus: str) -> int:
        """Return the generation written last, which every reader can then search."""
        return self._states.get_known(corpus).generation

    # -- writing -------------------------------------------------------------------------------

    def take_lease(self, corpus: str, holder: str) -> int:
        """Take or renew the lease to write a corpus, for 15 s; return its fence, which grows."""
        return self._states.take_lease(corpus, holder)

    def release(self, corpus: str, holder: str) -> None:
        """Release the lease of a corpus."""
        self._states.release(corpus, holder)

    def apply(self, delta: IndexDelta) -> int:
        """Apply a delta, of which readers see all or nothing; return the generation afterwards."""
        return CorpusWriter(self._server, self._states, delta.totals.corpus).apply(delta)

    def drop(self, corpus: str, fence: int) -> None:
        """Remove a corpus."""
        CorpusWriter(self._server, self._states, corpus).drop(fence)

    def list_row_numbers(self, corpus: str) -> Iterable[int]:
        """Return the row numbers of the stored artifacts, ascending."""
        state = self._states.get_known(corpus)
        which = require_all(state.match_visible(), match_value("what", "artifact"))
        points = self._server.scroll(BESIDE, corpus, which, ["number"])
        return sorted(point.payload["number"] for point in points)

    def list_unembedded(self, corpus: str) -> Iterable[bytes]:
        """Return the digests of the records that have no vector."""
        state = self._states.get_known(corpus)
        which = require_all(state.match_visible(), match_value("embedded", False))
        collection = name_records(state.load_totals().dim)
        points = self._server.scroll(collection, corpus, which, ["digest"])
        return [bytes.fromhex(point.payload["digest"]) for point in points]

    def close(self) -> None:
        """Close the connection."""
        self._server.client.close()


def _is_seen(corpus: str) -> bool:
    """Return whether the client of this request may see a corpus."""
    scope = get_scope()
    return scope is None or corpus in scope


def _read_text(artifact: Mapping[str, Any], records: Iterable[Mapping[str, Any]]) -> StoredText:
    return make_stored_text(
        unpack(artifact["artifact"]),
        (artifact["body"], artifact["digest"], artifact["indexed_at"]),
        [
            make_stored_record(unpack(each["record"]), each["label"], each["text"])
            for each in records
            if each["number"] == artifact["number"]
        ],
    )


# Administer a backend in Qdrant: check its state, prepare it.

# The first version that can insert points only if they do not exist.
LEAST_VERSION = (1, 17)


class QdrantAdmin:
    """The operator's interface to corpora in Qdrant."""

    def __init__(self, server: QdrantServer):
        self._server = server
        self._states = States(server)

    def check(self) -> BackendState:
        """Check the server: whether it answers, and can be searched and written."""
        lines = [self._check_version()]
        if self._server.placing.sharded:
            lines.append(self._check_cluster())
        lines.append(self._check_corpora())
        host = HostState(self._server.name, tuple(lines), all(line.ok for line in lines))
        return BackendState(self._server.name, (host,))

    def migrate(self) -> int:
        """Create the collection of states if it is missing; return the format.

        The collections and shards of a corpus are created when it is sent. Raises Unavailable.
        """
        self._server.make_states()
        return FORMAT

    def measure_corpora(self) -> tuple[CorpusSize, ...]:
        """Return the size of each corpus; bytes and postings, unknown to the server, are 0.

        Raises Unavailable.
        """
        there = [(state, state.load_totals()) for state in self._states.list_all() if state.totals]
        return tuple(
            CorpusSize.from_totals(totals, each.changed, totals.dim > 0) for each, totals in there
        )

    def _check_version(self) -> CheckLine:
        version = str(self._server.client.info().version)
        number = tuple(map(int, re.findall(r"\d+", version)[:2]))
        least = ".".join(map(str, LEAST_VERSION))
        if number >= LEAST_VERSION:
            return CheckLine(True, f"Qdrant {version}")
        return CheckLine(False, f"Qdrant {version} is too old", f"{least} or later is needed")

    def _check_cluster(self) -> CheckLine:
        status: Any = self._server.client.cluster_status()
        if getattr(status, "status", "") == "enabled":
            return CheckLine(True, format_count(len(status.peers), "node"))
        hint = "start it with QDRANT__CLUSTER__ENABLED=true, even if it is the only node"
        return CheckLine(False, "the server does not run as a cluster: it has no shard keys", hint)

    def _check_corpora(self) -> CheckLine:
        try:
            there = [state for state in self._states.list_all() if state.totals]
        except Unavailable as error:
            return CheckLine(False, error.message, error.hint)
        return CheckLine(True, format_count(len(there), "corpus"))


# Fetch the part of a corpus in Qdrant that a query needs: the records near the top of either leg.
#
# Qdrant ranks by stored weights, which were computed with an earlier mean length and are rounded
# differently. So each leg asks for more than it needs, until no omitted record can belong to the
# top under any rounding or change of the mean; the exact scores are computed from the stored
# counts.

# Filters as Qdrant's conditions, with the meaning of `discovery.where`.
#
# Equality compares codes that records carry for the values of their fields and for the items of
# lists. Any other condition is evaluated on the field's distinct values, and becomes the codes of
# those that meet it; so a filter matches the same records as in memory.

# Returns the distinct values of a field.
ListValues = Callable[[str], Sequence[Any]]

_SCALARS = (str, int, float, bool, type(None))
_NOTHING = models.HasIdCondition(has_id=[])


def make_filter(where: Mapping[str, Any], surfaces: frozenset[str], values: ListValues) -> Any:
    """Return a valid filter and kinds of surfaces as a Qdrant filter; None without either."""
    parts = [_make_part(name, condition, values) for name, condition in where.items()]
    if surfaces:
        parts.append(match_any("kind", sorted(surfaces)))
    return models.Filter(must=parts) if parts else None


def _make_part(name: str, condition: Any, values: ListValues) -> Any:
    if name == "$not":
        inner = make_filter(condition, frozenset(), values)
        return models.Filter(must_not=[inner]) if inner else _NOTHING
    if name in ("$and", "$or"):
        given = (make_filter(each, frozenset(), values) for each in condition)
        parts = [each or models.Filter(must=[]) for each in given]
        if name == "$and":
            return models.Filter(must=parts)
        return models.Filter(should=parts) if parts else _NOTHING
    tests = condition if isinstance(condition, Mapping) else {"$eq": condition}
    return models.Filter(must=[_make_test(name, *test, values) for test in tests.items()])


def _make_test(name: str, sign: str, operand: Any, values: ListValues) -> Any:
    if sign == "$exists":
        there = match_value("fields", name)
        return there if operand else models.Filter(must_not=[there])
    if sign in NEGATED:
        return models.Filter(must_not=[_make_test(name, NEGATED[sign], operand, values)])
    operands = {"$eq": [operand], "$in": operand}.get(sign)
    if operands is not None and all(isinstance(each, _SCALARS) for each in operands):
        # A scalar equals a value, or an item of a list; NaN equals nothing.
        same = [each for each in operands if each == each]
        codes = [hash_value(name, each, place) for each in same for place in ("whole", "item")]
    else:
        codes = _list_codes(name, {sign: operand}, values(name))
    return match_any("codes", codes) if codes else _NOTHING


def _list_codes(name: str, condition: Mapping[str, Any], values: Sequence[Any]) -> list[int]:
    """Return the codes of the values of a field that meet a condition."""
    column = Column(np.arange(len(values) + 1, dtype=np.int32), [MISSING])
    for value in values:
        column.encode_value(value)
    mask = mask_column(condition, column)
    return [hash_value(name, column.values[at]) for at in np.flatnonzero(mask).tolist() if at]


# How much sums of 32-bit scores may differ by the order of addition, and the least difference
# between distinct scores.
_ROUNDING = 1e-5
_ANOTHER = 1e-6
# Up to this number records are compared one by one, exactly, as in memory.
_EXACT = 50_000
_EF_SEARCH = 200
_AT_ONCE = 1_000
_NO_ROWS = Lexical.from_rows(Rows.make_empty(0))


@dataclass(frozen=True, slots=True)
class _Leg:
    """A ranking to request. `bounds` are the least and greatest factors of error of its scores."""

    query: Any
    using: str
    bounds: tuple[float, float]
    exact: bool


@dataclass(frozen=True, slots=True)
class _Terms:
    """The term ids of a query, by word, and how many records hold each; absent means 0."""

    ids: Mapping[str, int]
    df: Mapping[int, int]

    def list_ranked(self, wanted: Wanted) -> list[int]:
        return [self.ids[word] for word in wanted.ranked if word in self.ids]


@dataclass(frozen=True, slots=True)
class CorpusSearch:
    """One search of one state of a corpus."""

    server: QdrantServer
    state: CorpusState
    totals: Totals

    @property
    def collection(self) -> str:
        """Return the name of the collection of its records."""
        return name_records(self.totals.dim)

    # -- statistics ------------------------------------------------------------------------------

    def find_term_ids(self, words: Collection[str]) -> dict[str, int]:
        """Return the term ids of words."""
        corpus, epoch = self.state.corpus, self.state.epoch
        ids = [make_point_id(corpus, epoch, "word", word) for word in dict.fromkeys(words)]
        points = self._retrieve(BESIDE, ids, ["word", "term"])
        return {point.payload["word"]: point.payload["term"] for point in points}

    def count_frequencies(self, terms: Collection[int]) -> dict[int, int]:
        """Return how many records hold each of some terms."""
        newest: dict[int, tuple[int, int]] = {}
        for some in split_batches(sorted(terms), _AT_ONCE):
            for point in self._scroll_side("df", match_any("term", some)):
                at = point.payload["attempt"], point.payload["df"]
                newest[point.payload["term"]] = max(at, newest.get(point.payload["term"], at))
        return {term: df for term, (_, df) in newest.items() if df}

    def list_words_like(self, initials: Collection[str], lengths: range) -> list[str]:
        """Return the words of a length that begin with one of the letters."""
        length = match_range("length", gte=lengths.start, lt=lengths.stop)
        points = self._scroll_side("word", match_any("initial", sorted(initials)), length)
        return [point.payload["word"] for point in points]

    def list_values(self, name: str) -> list[Any]:
        """Return the distinct values of a field."""
        points = self._scroll_side("value", match_value("field", name))
        return [unpack(point.payload["value"]) for point in points]

    def _scroll_side(self, what: str, *conditions: Any) -> Iterable[Any]:
        which = require_all(self.state.match_visible(), match_value("what", what), *conditions)
        return self.server.scroll(BESIDE, self.state.corpus, which)

    # -- records ---------------------------------------------------------------------------------

    def find(self, wanted: Wanted) -> Found:
        """Return the records that a query needs, and check that the state is still the same."""
        terms = self._look_up((*wanted.ranked, *wanted.others))
        visible = self.state.match_visible()
        asked = make_filter(wanted.where, wanted.surfaces, self.list_values)
        which = require_all(visible, asked) if asked else visible
        ids = self._find_near(wanted, terms, which) | self._find_named(wanted, which)
        with_vectors = [DENSE] if self.totals.dim else False
        found = self._retrieve(self.collection, ids, ["record", "artifact"], with_vectors)
        points = sorted(found, key=lambda each: unpack(each.payload["record"])[:3:2])
        artifacts = {point.payload["artifact"]: None for point in points}
        return Found(
            totals=self.totals,
            artifacts=[tuple(unpack(each)) for each in artifacts],
            records=[tuple(unpack(point.payload["record"])) for point in points],
            vectors=[_read_vector(point) for point in points],
            words=terms.ids,
            df={**dict.fromkeys(terms.ids.values(), 0), **terms.df},
            eligible=self._count(which) if asked else self.totals.n_records,
        )

    def _look_up(self, words: Collection[str]) -> _Terms:
        ids = self.find_term_ids(words)
        return _Terms(ids, self.count_frequencies(ids.values()))

    def _count(self, which: Any) -> int:
        reading = self.server.list_read_options(self.state.corpus)
        reading.pop("consistency", None)  # counting has no such parameter
        counted = self.server.client.count(
            collection_name=self.collection, count_filter=which, exact=True, **reading
        )
        return int(counted.count)

    def _retrieve(
        self, collection: str, ids: Iterable[Any], with_payload: Any, with_vectors: Any = False
    ) -> list[Any]:
        points: list[Any] = []
        for some in split_batches(ids, _AT_ONCE):
            points += self.server.client.retrieve(
                collection_name=collection,
                ids=some,
                with_payload=with_payload,
                with_vectors=with_vectors,
                **self.server.list_read_options(self.state.corpus),
            )
        return points

    def _find_named(self, wanted: Wanted, which: Any) -> set[Any]:
        """Return the ids of the records of artifacts called by name, and of those to include."""
        asked = []
        if wanted.names:
            asked.append(require_all(which, match_any("called", wanted.names)))
        if wanted.including:
            included = match_any("id", wanted.including)
            asked.append(require_all(self.state.match_visible(), included))
        return {
            point.id
            for each in asked
            for point in self.server.scroll(self.collection, self.state.corpus, each, False)
        }

    # -- legs ------------------------------------------------------------------------------------

    def _find_near(self, wanted: Wanted, terms: _Terms, which: Any) -> set[Any]:
        """Return the ids of the records near the top of either leg."""
        legs = [leg for leg in (self._ask_lexical(wanted, terms), self._ask_dense(wanted)) if leg]
        near: set[Any] = set()
        limit = 2 * wanted.depth
        while legs:
            ranked = self._rank(legs, which, limit, with_payload=False)
            near |= {point.id for points in ranked for point in points}
            legs = [
                leg
                for leg, points in zip(legs, ranked, strict=True)
                if len(points) == limit and not _is_complete(points, wanted.depth, leg.bounds)
            ]
            limit *= 4
        return near

    def _rank(
        self, legs: Sequence[_Leg], which: Any, limit: int, with_payload: bool
    ) -> list[list[Any]]:
        sharded = self.server.placing.sharded
        asked = [
            models.QueryRequest(
                query=leg.query,
                using=leg.using,
                filter=which,
                limit=limit,
                with_payload=with_payload,
                # The local mode is exact and takes no parameters.
                params=models.SearchParams(exact=leg.exact, hnsw_ef=max(_EF_SEARCH, limit))
                if sharded
                else None,
                shard_key=self.state.corpus if sharded else None,
            )
            for leg in legs
        ]
        reading = self.server.list_read_options(self.state.corpus)
        reading.pop("shard_key_selector", None)
        answers = self.server.client.query_batch_points(
            collection_name=self.collection, requests=asked, **reading
        )
        return [answer.points for answer in answers]

    def _ask_dense(self, wanted: Wanted) -> _Leg | None:
        if wanted.vector is None or not self.totals.dim:
            return None
        few = self.totals.n_records <= _EXACT
        return _Leg(wanted.vector.tolist(), DENSE, (1.0, 1.0), few)

    def _ask_lexical(self, wanted: Wanted, terms: _Terms) -> _Leg | None:
        ids = terms.list_ranked(wanted)
        df = np.array([terms.df.get(term, 0) for term in ids], np.int64)
        if not df.any():
            return None
        counted = replace(_NO_ROWS, counts=TermCounts(df), n=self.totals.n_records)
        weights = counted.compute_idf(np.arange(len(ids))).tolist()
        query = models.SparseVector(indices=ids, values=weights)
        return _Leg(query, SPARSE, self._bound_scores(wanted), True)

    def _bound_scores(self, wanted: Wanted) -> tuple[float, float]:
        """Return the factors by which a record's score may be below and above Qdrant's.

        A weight changes by no more than the mean length does. With other BM25 parameters than the
        weights were computed with there is no bound: all matching records are fetched.
        """
        if (wanted.k1, wanted.b) != (K1, B):
            return 0.0, 1.0
        mean = self.totals.mean_length
        return min(1.0, mean / self.state.most_mean), max(1.0, mean / self.state.least_mean)

    def rank(self, wanted: Wanted, leg: str, score: float) -> int:
        """Count the records that score higher in a leg, unfiltered."""
        terms, dense = self._look_up(wanted.ranked), leg == "dense"
        asked = self._ask_dense(wanted) if dense else self._ask_lexical(wanted, terms)
        if asked is None:
            return 0
        _, most = asked.bounds if asked.bounds[0] else (0.0, np.inf)
        legs, visible, limit = [replace(asked, exact=True)], self.state.match_visible(), 1_000
        (points,) = self._rank(legs, visible, limit, with_payload=not dense)
        while len(points) == limit and points[-1].score * most > score:
            limit *= 10
            (points,) = self._rank(legs, visible, limit, with_payload=not dense)
        if dense:
            return sum(point.score > score + _ANOTHER for point in points)
        return int((self._score(points, wanted, terms) > score + _ANOTHER).sum())

    def _score(self, points: Sequence[Any], wanted: Wanted, terms: _Terms) -> NDArray[np.float32]:
        """Return the exact BM25 scores of records, with the mean length of the whole corpus."""
        rows = Rows.build([], [unpack(point.payload["record"]) for point in points], 0, {})
        df = np.zeros(max(terms.df, default=-1) + 1, np.int64)
        df[list(terms.df)] = list(terms.df.values())
        mean, base = self.totals.mean_length, _NO_ROWS.base
        lexical = Lexical.build_on(rows, mean, base, 0, TermCounts(df))
        whole = replace(lexical, n=self.totals.n_records)
        return whole.score_all(terms.list_ranked(wanted), wanted.k1, wanted.b)


def _is_complete(points: Sequence[Any], depth: int, bounds: tuple[float, float]) -> bool:
    """Return whether no omitted record is among the first `depth` or ties with them."""
    least, most = bounds
    wanted = points[depth - 1].score
    return bool(points[-1].score * most < wanted * least - _ROUNDING * max(abs(wanted), 1.0))


def _read_vector(point: Any) -> bytes | None:
    vector = (point.vector or {}).get(DENSE)
    return None if vector is None else np.array(vector, np.float32).tobytes()
