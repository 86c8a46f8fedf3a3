"""A first look by the strongest axes gives what scoring every vector gives."""

from dataclasses import replace

import numpy as np
import pytest

from irdaemon.index import dense
from irdaemon.index.dense import (
    WIDTH,
    Dense,
    Prefix,
    find_top,
    graph_is_due,
    lacks_graph,
    make_dense,
)
from irdaemon.index.growing import Growing
from irdaemon.index.rows import Rows
from tests.support.graphs import hide_library

DIM = 256
SIZE = 9_000
DEPTH = 100


def rows_of(vectors):
    """Return the rows of records, one an artifact, that have these vectors."""
    size = len(vectors)
    empty = np.array([], np.int32).tobytes()
    artifacts = [(n + 1, f"id-{n}", "", "", b"\x80", "", empty) for n in range(size)]
    records = [(n + 1, "document", 0, "", b"\x80", b"", empty, empty) for n in range(size)]
    rows = Rows.build(artifacts, records, DIM, {})
    rows.vectors.array[:] = vectors
    rows.embedded[:] = True
    return rows


def unit(vectors):
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def clustered(size, seed=0):
    """Return vectors in clusters, most of whose length lies along few axes, as of texts."""
    chance = np.random.default_rng(seed)
    strength = 1 / np.sqrt(1 + np.arange(DIM))
    centres = chance.standard_normal((60, DIM)) * strength
    return unit(
        centres[chance.integers(0, 60, size)] + chance.standard_normal((size, DIM)) * strength
    )


def scattered(size, seed=0):
    return unit(np.random.default_rng(seed).standard_normal((size, DIM)))


def best(dense, vector):
    """Return the positions of the nearest, and their cosines."""
    positions, cosines = dense.nearest(vector, DEPTH)
    order = np.argsort(-cosines, kind="stable")
    return positions[order].tolist(), cosines[order]


def share_found(dense, exact, vectors):
    shares = []
    for vector in vectors:
        found, wanted = best(dense, vector)[0], best(exact, vector)[0][:10]
        shares.append(len(set(found[:10]) & set(wanted)) / 10)
    return np.mean(shares)


def test_vectors_of_texts_have_axes_and_scattered_ones_are_scored_whole():
    assert make_dense(rows_of(clustered(SIZE))).prefix.helps
    rows = rows_of(scattered(SIZE))
    dense = make_dense(rows)
    assert not dense.prefix.helps
    assert make_dense(rows, previous=dense).prefix is dense.prefix, "nor is that found out again"


def test_a_few_vectors_are_scored_whole():
    assert make_dense(rows_of(clustered(500))).prefix is None


@pytest.mark.parametrize("made", [clustered, scattered])
def test_the_nearest_are_those_of_the_whole_product(made):
    rows = rows_of(made(SIZE))
    asked = np.concatenate([made(SIZE)[:20], made(20, seed=5), scattered(20, seed=6)])
    assert share_found(make_dense(rows), Dense(rows), asked) >= 0.99


def test_cosines_are_exact():
    rows = rows_of(clustered(SIZE))
    dense, vector = make_dense(rows), clustered(1, seed=8)[0]
    positions, cosines = dense.nearest(vector, DEPTH)
    assert np.allclose(cosines, rows.vectors.array[positions] @ vector, atol=1e-6)


def test_all_that_tie_are_found():
    vectors = clustered(SIZE)
    vectors[1_000:1_300] = vectors[5]
    dense = make_dense(rows_of(vectors))
    positions, _ = dense.nearest(vectors[5], DEPTH)
    assert set(positions.tolist()) == {5, *range(1_000, 1_300)}


def test_what_is_gone_or_not_embedded_yet_is_not_found():
    rows = rows_of(clustered(SIZE))
    dense, vector = make_dense(rows), clustered(1, seed=3)[0]
    nearest = best(dense, vector)[0][:50]
    embedded = rows.embedded.copy()
    embedded[nearest] = False
    left = replace(rows, embedded=embedded)
    after = make_dense(left, previous=dense)
    assert after.prefix is not None
    assert after.prefix.axes is dense.prefix.axes
    found = best(after, vector)[0]
    assert not set(found) & set(nearest)
    assert share_found(after, Dense(left), [vector]) == 1


def test_what_comes_later_is_found_by_the_same_axes_and_changes_nothing_before(monkeypatch):
    vectors = clustered(2 * SIZE)
    rows = rows_of(vectors[:SIZE])
    dense, vector = make_dense(rows), vectors[SIZE + 7]
    before = best(dense, vector)
    more = rows._append(replace(rows_of(vectors[SIZE:]), last=2 * SIZE))
    grown = make_dense(more, previous=dense)
    assert grown.prefix.axes is dense.prefix.axes
    assert best(grown, vector)[0][0] == SIZE + 7
    assert share_found(grown, Dense(more), vectors[SIZE : SIZE + 20]) >= 0.99
    assert best(dense, vector)[0] == before[0]


def test_axes_are_found_anew_when_there_are_twice_as_many_vectors():
    vectors = clustered(3 * SIZE)
    first = Prefix.from_rows(rows_of(vectors[:SIZE]))
    later = Prefix.from_rows(rows_of(vectors), first)
    assert later.axes is not first.axes
    assert later.made_of == 3 * SIZE
    assert len(later.embedded) == 3 * SIZE


def test_positions_that_change_are_turned_anew():
    rows = rows_of(clustered(SIZE))
    first = Prefix.from_rows(rows)
    moved = replace(rows, epoch=1, vectors=Growing.from_array(rows.vectors.array[::-1].copy()))
    assert np.allclose(
        Prefix.from_rows(moved, first).heads.array[0, :, 0] ** 2 @ np.ones(WIDTH),
        (Prefix.from_rows(moved).axes[:WIDTH] @ moved.vectors.array[0]) ** 2 @ np.ones(WIDTH),
    )


def test_too_many_that_may_be_near_are_left_to_the_whole_product(monkeypatch):
    monkeypatch.setattr(dense, "_MOST", 0.0)
    rows = rows_of(clustered(SIZE))
    whole, vector = make_dense(rows), clustered(1, seed=4)[0]
    assert whole.prefix.near(rows, vector, DEPTH) is None
    expected = find_top(rows.vectors.array @ vector, DEPTH).tolist()
    assert sorted(best(whole, vector)[0]) == expected


def test_a_first_look_answers_where_a_graph_would_and_none_can_be_built(monkeypatch):
    hide_library(monkeypatch)
    rows = rows_of(clustered(SIZE))
    dense = make_dense(rows)
    assert lacks_graph(dense, SIZE)
    assert not lacks_graph(dense, SIZE + 1)
    assert not graph_is_due(dense, SIZE)
    assert dense.prefix.helps
    assert share_found(dense, Dense(rows), clustered(20, seed=3)) >= 0.99
