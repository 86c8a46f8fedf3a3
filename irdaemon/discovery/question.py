"""An analysed query, ready for one corpus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irdaemon.types import Tuning

UNTUNED = Tuning()


@dataclass(frozen=True, slots=True)
class Question:
    """A query in the terms of one index.

    `terms` are the ids of its known tokens, each once, `unstemmed` those of words that are known
    beside their tokens; `unknown` counts the tokens that are not known. `identifiers` are the terms
    of words that are written as names in code are, `typed` those of records that hold its plain
    words as they are typed. `vector` is None when no dense leg takes part; `trust` (0 to 1) is how
    much of the query its embedder knows.
    `weights` multiply the fused score of surfaces, by kind; `tuning` has the fusions' numbers.
    `passages` is how many records of one artifact may be candidates.
    """

    text: str
    terms: tuple[int, ...]
    vector: NDArray[np.float32] | None
    mode: str
    k: int
    where: Mapping[str, Any]
    surfaces: frozenset[str]
    fusion: str = "standard"
    weights: Mapping[str, float] = field(default_factory=dict)
    trust: float = 1.0
    unknown: int = 0
    identifiers: tuple[int, ...] = ()
    unstemmed: tuple[int, ...] = ()
    typed: tuple[int, ...] = ()
    tuning: Tuning = UNTUNED
    passages: int = 1
