"""Arrays that grow behind what an older snapshot sees."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from irdaemon.index.growing import Growing, Ragged

parts = st.lists(st.lists(st.integers(0, 99), max_size=5), max_size=6)
rows = st.lists(st.lists(st.integers(0, 99), max_size=4), max_size=6)


def array(values):
    return np.array(values, np.int64)


def ragged(held):
    return Ragged.from_lengths(
        array([len(row) for row in held]), array([v for row in held for v in row])
    )


def read(made):
    return [made.values[0].array[made.find_row(n)].tolist() for n in range(len(made.lengths))]


@given(parts)
def test_what_was_seen_never_changes_whatever_is_appended(more):
    grown, seen, whole = Growing.from_array(array([])), [], []
    for part in more:
        grown = grown.append(Growing.from_array(array(part)))
        whole = whole + part
        seen.append((grown, whole))
    assert all(each.array.tolist() == held for each, held in seen)


@given(rows, rows)
def test_rows_of_any_length_are_read_back_and_appended(held, more):
    made = ragged(held)
    assert read(made) == held
    assert read(made.append(ragged(more))) == held + more
    assert read(made) == held


@given(rows.filter(len), st.data())
def test_several_rows_are_read_at_once_as_they_are_one_by_one(held, data):
    made = ragged(held)
    wanted = data.draw(st.lists(st.integers(0, len(held) - 1)))
    places, of = made.locate_rows(array(wanted))
    values = made.values[0].array[places].tolist()
    expected = [(at, value) for at, n in enumerate(wanted) for value in held[n]]
    assert list(zip(of.tolist(), values, strict=True)) == expected


@given(rows, st.data())
def test_neighbouring_rows_lie_together(held, data):
    made = ragged(held)
    start = data.draw(st.integers(0, len(held)))
    end = data.draw(st.integers(start, len(held)))
    where, of = made.number_rows(start, end)
    assert made.values[0].array[where].tolist() == [v for row in held[start:end] for v in row]
    assert of.tolist() == [n for n in range(start, end) for _ in held[n]]


@given(rows, st.data())
def test_only_the_rows_that_are_kept_stay(held, data):
    kept = data.draw(st.lists(st.booleans(), min_size=len(held), max_size=len(held)))
    made = ragged(held).keep(np.array(kept, np.bool_))
    assert read(made) == [row for row, keep in zip(held, kept, strict=True) if keep]
