"""The dense leg: cosines of a query with the records' vectors.

Exact by matrix product; with thousands of vectors a prefix chooses which to score (see `Prefix`);
above a configurable number an HNSW graph (see `graph`), if its library is installed, proposes
candidates, which are scored exactly, together with every vector missing from the graph. Filtered
queries are always exact: hnswlib's filters cost more than the product over what passes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from irdaemon.index.graph import Graph, is_available, make_keys
from irdaemon.index.growing import Growing
from irdaemon.index.rows import Rows

# Find the largest of many scores without sorting or partitioning all of them.

# A sample that holds about this many of the wanted scores gives the threshold for a first pass,
# which lets through a few times as many as wanted, or this share of all.
_IN_SAMPLE = 16
_WIDER = 4
_SHARE = 64
_LOWEST = float("-inf")


def find_top(scores: NDArray[np.float32], depth: int, above: float = _LOWEST) -> NDArray[np.int64]:
    """Return the places of the `depth` largest scores above a number, ascending.

    Scores that tie with the smallest of them are included.
    """
    found = _find_likely(scores, depth, above)
    if len(found) < depth:
        found = (scores > above).nonzero()[0] if above > _LOWEST else np.arange(len(scores))
    if len(found) <= depth:
        return found
    theirs = scores[found]
    return found[theirs >= find_least(theirs, depth)]


def find_least(scores: NDArray[np.float32], depth: int) -> np.float32:
    """Return the `depth`-th largest of at least `depth` scores."""
    place, ordered = len(scores) - depth, scores.copy()
    ordered.partition(place)
    least: np.float32 = ordered[place]
    return least


def _find_likely(scores: NDArray[np.float32], depth: int, above: float) -> NDArray[np.int64]:
    """Return the places above a sampled threshold: usually more than `depth`, else too few."""
    step = max(_WIDER * depth, len(scores) // _SHARE) // _IN_SAMPLE
    sample = scores[::step] if step > 1 else scores[:0]
    if len(sample) <= _WIDER * _IN_SAMPLE:
        return np.empty(0, np.int64)
    least = float(find_least(sample, _IN_SAMPLE))
    return (scores >= least).nonzero()[0] if least > above else np.empty(0, np.int64)


# Of the nearest ten of 100,000 sentences 200 misses one in fourteen, 400 one in forty.
_EF_SEARCH = 400
# Rebuild once this share of the vectors is newer than the graph, or gone from it.
_DRIFT = 0.2

# Positions of records, and their cosines.
Scored = tuple[NDArray[np.int64], NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Dense:
    """Score a query vector against the embedded records of `rows`.

    With a graph, `position_of` maps its vectors to positions since the rows were last laid out (-1:
    gone), `in_graph` marks the records of that time that it holds, and `newer` lists the positions
    that it lacks. Without a graph there may be a `prefix`.
    """

    rows: Rows
    graph: Graph | None = None
    position_of: NDArray[np.int64] | None = None
    in_graph: NDArray[np.bool_] | None = None
    newer: NDArray[np.int64] | None = None
    prefix: Prefix | None = None

    def scores(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the cosine with every record, in row order; 0 where there is no vector."""
        scores: NDArray[np.float32] = self.rows.vectors.array @ vector
        return scores if self.rows.embedded.all() else np.where(self.rows.embedded, scores, 0)

    def score_at(
        self, vector: NDArray[np.float32], positions: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return the cosine with the records at `positions`; 0 where there is no vector."""
        scores = multiply_rows(self.rows.vectors.array, positions, vector)
        embedded = self.rows.embedded[positions]
        return scores if embedded.all() else np.where(embedded, scores, 0)

    def nearest(self, vector: NDArray[np.float32], depth: int) -> Scored:
        """Return the positions of the nearest `depth` records, and their exact cosines.

        Records that tie with the last are included.
        """
        positions, cosines = self._find_near(vector, depth)
        best = find_top(cosines, depth)
        return positions[best], cosines[best]

    def _find_near(self, vector: NDArray[np.float32], depth: int) -> Scored:
        """Return positions that include the nearest records, and their cosines, or all records."""
        if self.graph is not None:
            positions = self.candidates(vector, depth)
            return positions, self.score_at(vector, positions)
        near = self.prefix.near(self.rows, vector, depth) if self.prefix else None
        if near is not None:
            return near
        embedded, cosines = self.rows.embedded, self.rows.vectors.array @ vector
        positions = np.flatnonzero(embedded)
        return positions, cosines if len(positions) == len(embedded) else cosines[positions]

    def candidates(self, vector: NDArray[np.float32], depth: int) -> NDArray[np.int64]:
        """Return positions that include the nearest `depth` records; without a graph, all."""
        if self.graph is None or self.position_of is None or self.newer is None:
            return np.flatnonzero(self.rows.embedded)
        wanted = min(2 * depth, len(self.graph.keys))
        self.graph.index.set_ef(max(_EF_SEARCH, wanted))
        labels, _ = self.graph.index.knn_query(vector, k=wanted, num_threads=1)
        found = self.position_of[labels[0].astype(np.int64)]
        found = found[found >= 0]
        return np.concatenate([found[self.rows.embedded[found]], self.newer])


@dataclass(frozen=True, slots=True)
class JoinedDense(Dense):
    """Score a query vector against the records of two corpora, as each would be scored alone.

    Those of `second` lie behind those of `first`.
    """

    first: Dense = field(kw_only=True)
    second: Dense = field(kw_only=True)

    def scores(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the cosine with every record, in row order; 0 where there is no vector."""
        return np.concatenate([self.first.scores(vector), self.second.scores(vector)])

    def score_at(
        self, vector: NDArray[np.float32], positions: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return the cosine with the records at `positions`; 0 where there is no vector."""
        n = len(self.first.rows.present)
        before = positions < n
        found = np.empty(len(positions), np.float32)
        found[before] = self.first.score_at(vector, positions[before])
        found[~before] = self.second.score_at(vector, positions[~before] - n)
        return found

    def nearest(self, vector: NDArray[np.float32], depth: int) -> Scored:
        """Return the positions of the nearest `depth` records, and of ties; see Dense."""
        mine, theirs = self.first.nearest(vector, depth), self.second.nearest(vector, depth)
        positions = np.concatenate([mine[0], theirs[0] + len(self.first.rows.present)])
        cosines = np.concatenate([mine[1], theirs[1]])
        best = find_top(cosines, depth)
        return positions[best], cosines[best]


def make_dense(rows: Rows, graph: Graph | None = None, previous: Dense | None = None) -> Dense:
    """Return the dense leg of `rows`, with a graph of them or of an earlier generation.

    What still holds of `previous`, the leg of an earlier generation, is reused.
    """
    if graph is None or not len(rows.present):
        return Dense(rows, prefix=Prefix.from_rows(rows, previous.prefix if previous else None))
    if previous is not None and previous.graph is graph and previous.rows.epoch == rows.epoch:
        position_of, in_graph = previous.position_of, previous.in_graph
    else:
        position_of, in_graph = _place_graph(rows, graph)
    elsewhere = rows.embedded.copy()
    if in_graph is not None:
        elsewhere[: len(in_graph)] &= ~in_graph
    return Dense(rows, graph, position_of, in_graph, np.flatnonzero(elsewhere))


def _place_graph(rows: Rows, graph: Graph) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the positions of a graph's vectors, -1 for deleted ones, and a mask of them."""
    keys = make_keys(rows)
    at = np.minimum(np.searchsorted(keys, graph.keys), len(keys) - 1)
    held = (keys[at] == graph.keys) & rows.embedded[at]
    in_graph = np.zeros(len(keys), np.bool_)
    in_graph[at[held]] = True
    return np.where(held, at, -1), in_graph


def lacks_graph(dense: Dense, above: int) -> bool:
    """Return whether a graph would help but its library is not installed."""
    enough = above and int(np.count_nonzero(dense.rows.embedded)) >= above
    return bool(enough) and not is_available()


def graph_is_due(dense: Dense, above: int) -> bool:
    """Return whether to build a new graph: there are enough vectors, and it lacks many."""
    embedded = int(np.count_nonzero(dense.rows.embedded))
    if not above or embedded < above or not is_available():
        return False
    if dense.graph is None or dense.newer is None:
        return True
    common = embedded - len(dense.newer)
    return 1 - common / max(len(dense.graph.keys), embedded) > _DRIFT


# Scan vectors first by their strongest principal axes.
#
# The vectors of a corpus are rotated so that few numbers hold most of their length. A contiguous
# copy of those numbers takes half the time to scan, and one by axis, in blocks of records, a third
# less. The error of such a scan is known: over the records, the rest of a cosine is normally
# distributed with a width that follows from the axes. So all records that may be among the nearest
# are scored exactly, with a margin that misses one in fifty of the last of a hundred, and two in a
# thousand of the first ten. If too many would have to be scored, or the vectors have no such axes,
# all are scored. bench/HISTORY.md has the figures.

WIDTH = 128
# Below this many vectors the whole product costs no more.
FEWEST = 8_000
# The axes are found in this many vectors, and again when there are twice as many as then.
_SAMPLED = 10_000
_GROWN = 2
# A first scan helps if it covers this share of the squared length.
_LEAST_SEEN = 0.65
# The margin for the part that it does not cover, in standard deviations.
_DEVIATIONS = 2.0
# Above this share of the records, scoring all of them costs less than gathering some.
_MOST = 0.2
_BLOCK = 2_048
_GATHERED_AT_ONCE = 128


@dataclass(frozen=True, slots=True)
class Prefix:
    """The first WIDTH numbers of each record's turned vector.

    `axes` rotates a vector: one principal axis a row, the strongest first; `power` is the mean
    square of the vectors along each. `heads` has blocks of _BLOCK records, one column each, valid
    only where the record is `embedded`. `made_of` is the number of vectors that the axes were found
    in. Where the axes do not `help` there are no heads.
    """

    axes: NDArray[np.float32]
    power: NDArray[np.float32]
    heads: Growing
    embedded: NDArray[np.bool_]
    epoch: int
    made_of: int
    helps: bool

    @classmethod
    def from_rows(cls, rows: Rows, previous: Prefix | None = None) -> Prefix | None:
        """Return the prefix of these rows, on an earlier one's axes where they still hold.

        None where there are too few vectors.
        """
        embedded = int(np.count_nonzero(rows.embedded))
        if embedded < FEWEST or rows.vectors.buffer.shape[1] <= WIDTH:
            return None
        if previous is None or previous.epoch != rows.epoch or embedded > _GROWN * previous.made_of:
            axes, power = _find_axes(rows)
            helps = bool(power[:WIDTH].sum() >= _LEAST_SEEN * power.sum())
            heads = Growing.from_array(np.zeros((0, WIDTH, _BLOCK), np.float32))
            none = np.zeros(0, np.bool_)
            previous = cls(axes, power, heads, none, rows.epoch, embedded, helps)
        return previous._extend(rows) if previous.helps else previous

    def _extend(self, rows: Rows) -> Prefix:
        """Return the prefix with the records embedded since."""
        blocks = -(-len(rows.embedded) // _BLOCK) - self.heads.size
        more = Growing.from_array(np.zeros((blocks, WIDTH, _BLOCK), np.float32))
        heads, came = self.heads.append(more), rows.embedded.copy()
        came[: len(self.embedded)] &= ~self.embedded
        positions = np.flatnonzero(came)
        for start in range(0, len(positions), _BLOCK):
            part = positions[start : start + _BLOCK]
            # In place: earlier generations know these records as not embedded, and skip them.
            turned = rows.vectors.array[part] @ self.axes[:WIDTH].T
            heads.array[part // _BLOCK, :, part % _BLOCK] = turned
        return replace(self, heads=heads, embedded=rows.embedded)

    def near(
        self, rows: Rows, vector: NDArray[np.float32], depth: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]] | None:
        """Return positions that include the nearest `depth` records, ascending, and their cosines.

        None if certainty would require scoring too many records.
        """
        if not self.helps:
            return None
        turned = self.axes @ vector
        seen = (turned[:WIDTH] @ self.heads.array).ravel()[: len(self.embedded)]
        likely = self._score_positions(rows, vector, find_top(seen, depth))
        if len(likely[0]) < depth:
            return None
        spread = self.power * turned * turned
        head, rest = float(spread[:WIDTH].sum()), float(spread[WIDTH:].sum())
        share = head / max(head + rest, 1e-12)
        least = float(find_least(likely[1], depth)) * share - _DEVIATIONS * math.sqrt(rest * share)
        positions = (seen >= least).nonzero()[0]
        return (
            self._score_positions(rows, vector, positions)
            if len(positions) <= _MOST * len(seen)
            else None
        )

    def _score_positions(
        self, rows: Rows, vector: NDArray[np.float32], positions: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        held = positions[self.embedded[positions]]
        return held, multiply_rows(rows.vectors.array, held, vector)


def multiply_rows(
    vectors: NDArray[np.float32], rows: NDArray[np.int64], vector: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the products of some rows with a vector.

    A few at a time, so that the gathered rows stay in the cache and in allocated memory.
    """
    found = np.empty(len(rows), np.float32)
    for start in range(0, len(rows), _GATHERED_AT_ONCE):
        part = slice(start, start + _GATHERED_AT_ONCE)
        np.matmul(vectors[rows[part]], vector, out=found[part])
    return found


def _find_axes(rows: Rows) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the principal axes of the vectors, a row each, and the mean square along each."""
    embedded = np.flatnonzero(rows.embedded)
    sample = rows.vectors.array[embedded[:: max(1, len(embedded) // _SAMPLED)]]
    power, axes = np.linalg.eigh(sample.T @ sample / np.float32(len(sample)))
    strongest_first = np.ascontiguousarray(axes[:, ::-1].T, np.float32)
    return strongest_first, np.maximum(power[::-1], 0).astype(np.float32)
