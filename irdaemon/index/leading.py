"""The best of a large corpus by BM25, without scoring every record that holds a common word.

Terms are taken from the rarest on. Once those that are left could not lift a record without any of
the others to the place that is wanted, they are looked up for the few records that matter
(MaxScore: Turtle and Flood 1995). What comes out is what `Lexical.ranked` gives, to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from irdaemon.index.lexical import K1, Lexical
from irdaemon.index.top import least_of, top

# Below so many records a pass over all costs less than a few over some.
FEWEST = 50_000
# The largest value of so many postings is looked for; of more it is taken to be the largest there
# can be.
_MOST_LOOKED_THROUGH = 50_000
# More than sums of 32-bit numbers in another order differ by.
_SLACK = 1e-3

Positions = NDArray[np.int64]
Scores = NDArray[np.float32]


def leading(lexical: Lexical, terms: Sequence[int], depth: int) -> tuple[Positions, Scores]:
    """Return the positions of the `depth` best records that match, ascending, and their scores.

    And of all that tie with the last of them.
    """
    likely = np.sort(_likely(lexical, terms, depth)).astype(np.int64)
    scores = scores_at(lexical, terms, likely)
    best = top(scores, depth, above=0)
    return likely[best], scores[best]


def scores_at(lexical: Lexical, terms: Sequence[int], positions: Positions) -> Scores:
    """Return the scores of some records against the ids of a query's terms."""
    scores = np.zeros(len(positions), np.float32)
    wanted = positions.astype(np.int32)
    for term, weight in zip(terms, lexical.weights(np.array(terms, np.int64)), strict=True):
        for postings in (lexical.base, lexical.tail):
            records, values = postings.of_term(term)
            if len(records):
                places = np.minimum(np.searchsorted(records, wanted), len(records) - 1)
                scores += np.where(records[places] == wanted, weight * values[places], 0)
    return scores


def _likely(lexical: Lexical, terms: Sequence[int], depth: int) -> NDArray[np.int32]:
    """Return positions that hold the best, each once, in no order."""
    present = lexical.rows.present
    scores = np.zeros(len(present), np.float32)
    weights = lexical.weights(np.array(terms, np.int64))
    order = np.argsort(-weights, kind="stable").tolist()
    most = [_most(lexical, terms[at], float(weights[at])) for at in order]
    found = np.empty(0, np.int32)
    least = 0.0
    for place, at in enumerate(order):
        left = sum(most[place:])
        if len(found) >= depth:
            least = float(least_of(scores[found], depth)) - left - _SLACK
            if least > 0:
                return found[scores[found] >= least]
        for postings in (lexical.base, lexical.tail):
            records, values = postings.of_term(terms[at])
            new = records[(scores[records] == 0) & present[records] & (values > 0)]
            scores[records] += weights[at] * values
            found = np.concatenate([found, new])
    if len(found) > depth:
        found = found[scores[found] >= float(least_of(scores[found], depth)) - _SLACK]
    return found


def _most(lexical: Lexical, term: int, weight: float) -> float:
    """Return what a term can add to a record's score at the most."""
    largest = 0.0
    for postings in (lexical.base, lexical.tail):
        _, values = postings.of_term(term)
        if len(values):
            short = len(values) <= _MOST_LOOKED_THROUGH
            largest = max(largest, float(values.max()) if short else K1 + 1)
    return weight * largest
