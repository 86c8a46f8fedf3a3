"""How many records hold a term is the same however few of the vocabulary's terms an index has."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from irdaemon.index.lexical import FewTermCounts, JoinedTermCounts, Postings, TermCounts

ids = st.lists(st.integers(0, 5_000), min_size=1, max_size=30)
ASKED = np.array([*range(0, 5_002, 7), 5_000, 2**31 - 1], np.int64)


def dense(terms):
    return TermCounts(np.bincount(terms).astype(np.int64))


def few(terms):
    return FewTermCounts.from_term_ids(np.array(terms, np.int32))


@given(ids)
def test_few_terms_are_counted_as_all_are(terms):
    asked = np.concatenate([ASKED, np.array(terms, np.int64)])
    assert few(terms).count(asked).tolist() == dense(terms).count(asked).tolist()
    assert few(terms).dense.tolist() == dense(terms).dense.tolist()
    for term in (*terms, -1, 5_001):
        assert few(terms).count_one(term) == dense(terms).count_one(term)


@given(ids, ids)
def test_two_indexes_together_count_what_each_does(one, other):
    asked = np.concatenate([ASKED, np.array(one + other, np.int64)])
    joined = JoinedTermCounts(dense(one).values, dense(one), few(other))
    assert joined.count(asked).tolist() == dense(one + other).count(asked).tolist()
    assert joined.dense.tolist() == dense(one + other).dense.tolist()
    assert joined.count_one(other[0]) == dense(one + other).count_one(other[0])


def test_an_index_of_few_words_in_a_large_vocabulary_takes_room_for_its_own_alone():
    places = np.array([3, 900_000], np.int32), np.array([0, 1], np.int32), np.ones(2, np.float32)
    postings = Postings.from_places(*places)
    assert postings.starts.nbytes < 100
    assert postings.get_postings(900_000)[0].tolist() == [1]
    assert len(postings.dense_starts) == 900_002
