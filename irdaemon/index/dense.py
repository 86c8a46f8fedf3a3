"""The dense leg: cosines of a query with the records' vectors.

Exact by matrix product; above a configurable number of vectors an HNSW graph (hnswlib) proposes
candidates, which are scored exactly, together with every vector that the graph has not. A graph is
built aside, a few vectors at a time, published whole and never changed then. Filtered queries are
always exact: hnswlib's filters cost more than the product over what passes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import hnswlib
import numpy as np
from numpy.typing import NDArray

from irdaemon.index.rows import Rows

_M = 16
_EF_CONSTRUCTION = 200
_EF_SEARCH = 200
# Rebuild once this share of the vectors is newer than the graph, or gone from it.
_DRIFT = 0.2
_ADDED_AT_ONCE = 250


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

    With a graph, `position_of` gives where its vectors are now (-1: gone) and `newer` lists the
    positions that it has not.
    """

    rows: Rows
    graph: Graph | None = None
    position_of: NDArray[np.int64] | None = None
    newer: NDArray[np.int64] | None = None

    def scores(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the cosine with every record, in row order; 0 where there is no vector."""
        scores: NDArray[np.float32] = self.rows.vectors.array @ vector
        return scores if self.rows.embedded.all() else np.where(self.rows.embedded, scores, 0)

    def scores_of(
        self, vector: NDArray[np.float32], positions: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return the cosine with the records at `positions`; 0 where there is no vector."""
        scores: NDArray[np.float32] = self.rows.vectors.array[positions] @ vector
        embedded = self.rows.embedded[positions]
        return scores if embedded.all() else np.where(embedded, scores, 0)

    def candidates(self, vector: NDArray[np.float32], depth: int) -> NDArray[np.int64]:
        """Return positions that hold the nearest `depth` records: all of them, without a graph."""
        if self.graph is None or self.position_of is None or self.newer is None:
            return np.flatnonzero(self.rows.embedded)
        wanted = min(2 * depth, len(self.graph.keys))
        self.graph.index.set_ef(max(_EF_SEARCH, wanted))
        labels, _ = self.graph.index.knn_query(vector, k=wanted, num_threads=1)
        found = self.position_of[labels[0].astype(np.int64)]
        return np.concatenate([found[found >= 0], self.newer])


def make_dense(rows: Rows, graph: Graph | None = None) -> Dense:
    """Return the dense leg of `rows`, with a graph of them or of an earlier generation."""
    if graph is None or not len(rows.present):
        return Dense(rows)
    keys = _keys(rows)
    at = np.minimum(np.searchsorted(keys, graph.keys), len(keys) - 1)
    held = (keys[at] == graph.keys) & rows.embedded[at]
    elsewhere = rows.embedded.copy()
    elsewhere[at[held]] = False
    return Dense(rows, graph, np.where(held, at, -1), np.flatnonzero(elsewhere))


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
