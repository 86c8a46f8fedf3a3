"""The dense leg: cosines of a query with the records' vectors.

Exact by matrix product; of thousands of vectors a prefix tells first which to score (see `prefix`);
above a configurable number an HNSW graph (hnswlib) proposes candidates, which are scored exactly,
together with every vector that the graph has not. A graph is built aside, a few vectors at a time,
published whole and never changed then. Filtered queries are always exact: hnswlib's filters cost
more than the product over what passes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import hnswlib
import numpy as np
from numpy.typing import NDArray

from irdaemon.index.prefix import Prefix, products
from irdaemon.index.rows import Rows
from irdaemon.index.top import top

_M = 16
_EF_CONSTRUCTION = 200
# Of the nearest ten of 100,000 sentences 200 misses one in fourteen, 400 one in forty.
_EF_SEARCH = 400
# Rebuild once this share of the vectors is newer than the graph, or gone from it.
_DRIFT = 0.2
_ADDED_AT_ONCE = 250

# Positions of records, and their cosines.
Scored = tuple[NDArray[np.int64], NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Graph:
    """A published HNSW graph over the vectors of some records, and their keys.

    A key is (ledger row number of the artifact, surface index), which stays while its record does.
    `kept`: it is in a file, too.
    """

    index: hnswlib.Index
    keys: NDArray[np.int64]
    kept: bool = False


@dataclass(frozen=True, slots=True)
class Dense:
    """Score a query vector against the embedded records of `rows`.

    With a graph, `position_of` gives where its vectors lie since the rows were last laid out (-1:
    nowhere), `in_graph` tells of the records that there were then which it has, and `newer` lists
    the positions that it has not. Without one there may be a `prefix`.
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

    def scores_of(
        self, vector: NDArray[np.float32], positions: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return the cosine with the records at `positions`; 0 where there is no vector."""
        scores = products(self.rows.vectors.array, positions, vector)
        embedded = self.rows.embedded[positions]
        return scores if embedded.all() else np.where(embedded, scores, 0)

    def nearest(self, vector: NDArray[np.float32], depth: int) -> Scored:
        """Return the positions of the nearest `depth` records, and their exact cosines.

        And of all that tie with the last of them.
        """
        positions, cosines = self._near(vector, depth)
        best = top(cosines, depth)
        return positions[best], cosines[best]

    def _near(self, vector: NDArray[np.float32], depth: int) -> Scored:
        """Return positions that hold the nearest, and their cosines; else those of all records."""
        if self.graph is not None:
            positions = self.candidates(vector, depth)
            return positions, self.scores_of(vector, positions)
        near = self.prefix.near(self.rows, vector, depth) if self.prefix else None
        if near is not None:
            return near
        embedded, cosines = self.rows.embedded, self.rows.vectors.array @ vector
        positions = np.flatnonzero(embedded)
        return positions, cosines if len(positions) == len(embedded) else cosines[positions]

    def candidates(self, vector: NDArray[np.float32], depth: int) -> NDArray[np.int64]:
        """Return positions that hold the nearest `depth` records: all of them, without a graph."""
        if self.graph is None or self.position_of is None or self.newer is None:
            return np.flatnonzero(self.rows.embedded)
        wanted = min(2 * depth, len(self.graph.keys))
        self.graph.index.set_ef(max(_EF_SEARCH, wanted))
        labels, _ = self.graph.index.knn_query(vector, k=wanted, num_threads=1)
        found = self.position_of[labels[0].astype(np.int64)]
        found = found[found >= 0]
        return np.concatenate([found[self.rows.embedded[found]], self.newer])


def make_dense(rows: Rows, graph: Graph | None = None, previous: Dense | None = None) -> Dense:
    """Return the dense leg of `rows`, with a graph of them or of an earlier generation.

    Of `previous`, an earlier generation's, is taken what still holds.
    """
    if graph is None or not len(rows.present):
        return Dense(rows, prefix=Prefix.of(rows, previous.prefix if previous else None))
    if previous is not None and previous.graph is graph and previous.rows.epoch == rows.epoch:
        position_of, in_graph = previous.position_of, previous.in_graph
    else:
        position_of, in_graph = _placed(rows, graph)
    elsewhere = rows.embedded.copy()
    if in_graph is not None:
        elsewhere[: len(in_graph)] &= ~in_graph
    return Dense(rows, graph, position_of, in_graph, np.flatnonzero(elsewhere))


def _placed(rows: Rows, graph: Graph) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return where the vectors of a graph lie, -1 for those that are gone, and which it has."""
    keys = _keys(rows)
    at = np.minimum(np.searchsorted(keys, graph.keys), len(keys) - 1)
    held = (keys[at] == graph.keys) & rows.embedded[at]
    in_graph = np.zeros(len(keys), np.bool_)
    in_graph[at[held]] = True
    return np.where(held, at, -1), in_graph


def graph_is_due(dense: Dense, above: int) -> bool:
    """Return whether a new graph would help: there are enough vectors, and it lacks many."""
    embedded = int(np.count_nonzero(dense.rows.embedded))
    if not above or embedded < above:
        return False
    if dense.graph is None or dense.newer is None:
        return True
    common = embedded - len(dense.newer)
    return 1 - common / max(len(dense.graph.keys), embedded) > _DRIFT


def build_graph(rows: Rows, pause: Callable[[int, int], None] = lambda done, todo: None) -> Graph:
    """Build the graph of all embedded records, calling `pause(done, todo)` every few vectors."""
    embedded = np.flatnonzero(rows.embedded)
    index = hnswlib.Index(space="ip", dim=rows.vectors.buffer.shape[1])
    index.init_index(len(embedded), ef_construction=_EF_CONSTRUCTION, M=_M, random_seed=0)
    for start in range(0, len(embedded), _ADDED_AT_ONCE):
        pause(start, len(embedded))
        part = embedded[start : start + _ADDED_AT_ONCE]
        labels = np.arange(start, start + len(part))
        index.add_items(rows.vectors.array[part], labels, num_threads=1)
    return Graph(index, _keys(rows)[embedded])


def save_graph(graph: Graph, path: str) -> None:
    """Write a graph to a new file, and have it on the disk. Raises OSError."""
    try:
        graph.index.save_index(path)
    except RuntimeError as error:  # hnswlib knows no other
        raise OSError(f"{path}: {error}") from error
    with open(path, "rb") as file:
        os.fsync(file.fileno())


def load_graph(path: str, dim: int, keys: NDArray[np.int64]) -> Graph | None:
    """Read the graph of these keys; None if the file does not hold it."""
    index = hnswlib.Index(space="ip", dim=dim)
    try:
        index.load_index(path)
    except RuntimeError:
        return None
    return Graph(index, keys, kept=True) if index.get_current_count() == len(keys) else None


def _keys(rows: Rows) -> NDArray[np.int64]:
    """Return the records' keys, which ascend as the records do."""
    numbers = rows.numbers.array[rows.artifact_of.array]
    keys: NDArray[np.int64] = (numbers << 20) + rows.surfaces.array
    return keys
