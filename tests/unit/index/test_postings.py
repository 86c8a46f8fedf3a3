"""Postings: for each term the records that hold it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from irdaemon.index.lexical import Postings, count_terms

# Some terms need more than 16 bits: they are sorted in two steps.
places = st.dictionaries(
    st.tuples(st.integers(0, 30) | st.integers(65_530, 65_540), st.integers(0, 8)),
    st.integers(1, 9),
    max_size=40,
)


def postings(held):
    """Build postings of {(term, record): value}."""
    each = sorted(held, key=lambda place: place[1])
    return Postings.from_places(
        np.array([term for term, _ in each], np.int32),
        np.array([record for _, record in each], np.int32),
        np.array([held[place] for place in each], np.float32),
    )


@given(places)
def test_each_term_gives_just_its_records_ascending_with_their_values(held):
    made = postings(held)
    for term in {term for term, _ in held} | {0, 31, 65_536, 70_000}:
        records, values = made.get_postings(term)
        expected = {record: value for (each, record), value in held.items() if each == term}
        assert records.tolist() == sorted(expected)
        assert dict(zip(records.tolist(), values.tolist(), strict=True)) == expected


def test_without_records_no_term_has_any():
    records, values = postings({}).get_postings(0)
    assert (len(records), len(values)) == (0, 0)


@given(places, st.integers(1, 9))
def test_made_in_parts_they_are_the_same(held, at_once):
    each = sorted(held, key=lambda place: place[1])

    def parts():
        for start in range(0, 9, at_once):
            part = [place for place in each if start <= place[1] < start + at_once]
            yield (
                np.array([term for term, _ in part], np.int32),
                np.array([record for _, record in part], np.int32),
                np.array([held[place] for place in part], np.float32),
            )

    counts = count_terms(term_ids for term_ids, _, _ in parts())
    whole, made = postings(held), Postings.in_parts(counts, parts())
    for one, other in (
        (whole.dense_starts, made.dense_starts),
        (whole.records, made.records),
        (whole.values, made.values),
    ):
        assert one.tolist() == other.tolist()
