"""HNSW graphs of vectors, by hnswlib: built in the background, then published and never changed.

hnswlib has no wheels and is therefore an extra, `graph`. Only this module imports it, and only for
corpora with enough vectors. Without it the dense leg scores exactly (see `dense`).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irdaemon.index.rows import Rows

_M = 16
_EF_CONSTRUCTION = 200
_ADDED_AT_ONCE = 250


@dataclass(frozen=True, slots=True)
class Graph:
    """A published HNSW graph over the vectors of some records, and their keys.

    `index` is hnswlib's. A key is (ledger row number of the artifact, surface index) and does not
    change while its record exists. `kept`: it is also in a file.
    """

    index: Any
    keys: NDArray[np.int64]
    kept: bool = False


def is_available() -> bool:
    """Return whether hnswlib is installed; checked at each call."""
    try:
        _import_library()
    except ImportError:
        return False
    return True


def build_graph(rows: Rows, pause: Callable[[int, int], None] = lambda done, todo: None) -> Graph:
    """Build the graph of all embedded records, calling `pause(done, todo)` every few vectors."""
    embedded = np.flatnonzero(rows.embedded)
    index = _import_library().Index(space="ip", dim=rows.vectors.buffer.shape[1])
    index.init_index(len(embedded), ef_construction=_EF_CONSTRUCTION, M=_M, random_seed=0)
    for start in range(0, len(embedded), _ADDED_AT_ONCE):
        pause(start, len(embedded))
        part = embedded[start : start + _ADDED_AT_ONCE]
        labels = np.arange(start, start + len(part))
        index.add_items(rows.vectors.array[part], labels, num_threads=1)
    return Graph(index, make_keys(rows)[embedded])


def save_graph(graph: Graph, path: str) -> None:
    """Write a graph to a new file and sync it to disk. Raises OSError."""
    try:
        graph.index.save_index(path)
    except RuntimeError as error:  # hnswlib knows no other
        raise OSError(f"{path}: {error}") from error
    with open(path, "rb") as file:
        os.fsync(file.fileno())


def load_graph(path: str, dim: int, keys: NDArray[np.int64]) -> Graph | None:
    """Read the graph of these keys; None if the file holds another or hnswlib is missing."""
    if not is_available():
        return None
    index = _import_library().Index(space="ip", dim=dim)
    try:
        index.load_index(path)
    except RuntimeError:
        return None
    return Graph(index, keys, kept=True) if index.get_current_count() == len(keys) else None


def make_keys(rows: Rows) -> NDArray[np.int64]:
    """Return the records' keys, which ascend as the records do."""
    numbers = rows.numbers.array[rows.artifact_of.array]
    keys: NDArray[np.int64] = (numbers << 20) + rows.surfaces.array
    return keys


def _import_library() -> Any:
    """Return hnswlib. Raises ImportError."""
    import hnswlib

    return hnswlib
