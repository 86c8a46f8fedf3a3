"""The best of a large corpus are those that scoring every record gives, to the last bit."""

from dataclasses import replace

import numpy as np
import pytest

from irdaemon.index import leading as leading_module
from irdaemon.index.leading import leading, scores_at
from irdaemon.index.lexical import Lexical
from irdaemon.index.rows import Rows
from irdaemon.index.top import top

TERMS = 60


def rows_of(size, seed, first=1):
    """Return the rows of records that hold terms as unevenly as texts do, some counted zero."""
    chance = np.random.default_rng(seed)
    weights = 1 / (np.arange(TERMS) + 1)
    artifacts, records = [], []
    for number in range(first, first + size):
        held = chance.choice(TERMS, 6, replace=False, p=weights / weights.sum())
        ids = np.sort(held).astype(np.int32)
        counts = chance.integers(0, 4, 6).astype(np.float32)
        artifacts.append((number, f"id-{number}", "", "", b"\x80", "", b""))
        records.append((number, "document", 0, "", b"\x80", b"", ids.tobytes(), counts.tobytes()))
    return Rows.built(artifacts, records, 4, {})


@pytest.fixture(scope="module")
def lexical():
    """Return an index with a base, a tail, and records that are gone from both."""
    rows = rows_of(3_000, seed=1)
    base = Lexical.of(rows)
    grown = rows._append(replace(rows_of(200, seed=2, first=3_001), last=3_200))
    return Lexical.of(grown._without([5, 77, 78, 3_100]), base)


QUERIES = [
    [59],
    [0],
    [0, 1, 2],
    [58, 0, 31, 2],
    [3, 3],
    [40, 41, 42, 43, 44, 45],
    [TERMS + 7, 12],
    [],
]


@pytest.mark.parametrize("looked_through", [0, 50_000])
@pytest.mark.parametrize("depth", [1, 20, 100, 5_000])
@pytest.mark.parametrize("terms", QUERIES, ids=str)
def test_the_best_are_those_of_all(lexical, terms, depth, looked_through, monkeypatch):
    monkeypatch.setattr(leading_module, "_MOST_LOOKED_THROUGH", looked_through)
    every = lexical.ranked(terms)
    expected = top(every, depth, above=0)
    positions, scores = leading(lexical, terms, depth)
    assert positions.tolist() == expected.tolist()
    assert scores.tobytes() == every[expected].tobytes()


@pytest.mark.parametrize("terms", QUERIES, ids=str)
def test_the_scores_of_some_are_those_of_all(lexical, terms):
    positions = np.flatnonzero(lexical.rows.present)[::7]
    assert (
        scores_at(lexical, terms, positions).tobytes() == lexical.ranked(terms)[positions].tobytes()
    )
