"""The dense leg: cosines of a query with the records' vectors.

Exact by matrix product; above a configurable number of vectors an HNSW graph (hnswlib) proposes
candidates, which are scored exactly, together with every vector newer than the graph. A graph is
never changed once published. Filtered queries are always exact: hnswlib's filters cost more than
the product over what passes.
"""

from __future__ import annotations

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


@dataclass(frozen=True, slots=True)
class Graph:
    """A published HNSW graph over the vectors of some records, and their keys.

    A key is (ledger row number of the artifact, surface index), which stays while its record does.
    """

    index: hnswlib.Index
    keys: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Dense:
    """Score a query vector against the embedded records of `rows`."""

    rows: Rows
    graph: Graph | None = None
    position_of: NDArray[np.int64] | None = None
    newer: NDArray[np.int64] | None = None

    def scores(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the cosine with every record, in row order; 0 where there is no vector."""
        scores: NDArray[np.float32] = self.rows.vectors @ vector
        return scores

    def scores_of(
        self, vector: NDArray[np.float32], positions: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return the cosine with the records at `positions`."""
        scores: NDArray[np.float32] = self.rows.vectors[positions] @ vector
        return scores

    def candidates(self, vector: NDArray[np.float32], depth: int) -> NDArray[np.int64]:
        """Return positions that hold the nearest `depth` records: all of them, without a graph."""
        if self.graph is None or self.position_of is None or self.newer is None:
            return np.flatnonzero(self.rows.embedded)
        wanted = min(2 * depth, len(self.graph.keys))
        self.graph.index.set_ef(max(_EF_SEARCH, wanted))
        labels, _ = self.graph.index.knn_query(vector, k=wanted, num_threads=1)
        found = self.position_of[labels[0].astype(np.int64)]
        return np.concatenate([found[found >= 0], self.newer])


def make_dense(rows: Rows, previous: Dense | None, above: int) -> Dense:
    """Return the dense leg of `rows`, reusing the previous one's graph while it still fits.

    A graph is used from `above` embedded records on (0: never), and built anew when too much has
    changed since.
    """
    embedded = np.flatnonzero(rows.embedded)
    if not above or len(embedded) < above:
        return Dense(rows)
    keys = _keys(rows)
    graph = previous.graph if previous else None
    if graph is None or _drift(graph, keys[embedded]) > _DRIFT:
        graph = _build(rows, keys, embedded)
    return _placed(rows, graph, keys, embedded)


def _placed(
    rows: Rows, graph: Graph, keys: NDArray[np.int64], embedded: NDArray[np.int64]
) -> Dense:
    order = np.argsort(keys)
    at = np.searchsorted(keys, graph.keys, sorter=order)
    at = order[np.minimum(at, len(order) - 1)]
    position_of = np.where(keys[at] == graph.keys, at, -1)
    newer = embedded[~np.isin(keys[embedded], graph.keys)]
    return Dense(rows, graph, position_of, newer)


def _keys(rows: Rows) -> NDArray[np.int64]:
    surfaces = np.array([shown.surface_index for shown in rows.shown], np.int64)
    keys: NDArray[np.int64] = (rows.numbers[rows.artifact_of] << 20) + surfaces
    return keys


def _drift(graph: Graph, keys: NDArray[np.int64]) -> float:
    common = len(np.intersect1d(graph.keys, keys, assume_unique=True))
    return 1 - common / max(len(graph.keys), len(keys), 1)


def _build(rows: Rows, keys: NDArray[np.int64], embedded: NDArray[np.int64]) -> Graph:
    index = hnswlib.Index(space="ip", dim=rows.vectors.shape[1])
    index.init_index(len(embedded), ef_construction=_EF_CONSTRUCTION, M=_M, random_seed=0)
    index.add_items(rows.vectors[embedded], np.arange(len(embedded)), num_threads=1)
    return Graph(index, keys[embedded])
