"""Evidence: from 0 to 1, out of the legs that take part."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irclient.types import MODES
from irdaemon.discovery.legs import SATURATION, compute_evidence


def one(value):
    return np.array([value], np.float32)


@given(
    st.sampled_from(MODES),
    st.floats(0, 1),
    st.floats(-1, 1, width=32),
    st.floats(0, 1e6, width=32),
)
def test_evidence_lies_between_0_and_1(mode, trust, cosine, bm25):
    assert 0 <= compute_evidence(mode, trust, one(cosine), one(bm25))[0] <= 1


def test_a_leg_that_takes_no_part_has_no_say():
    assert compute_evidence("dense", 0.0, one(0.4), one(99)) == one(0.4)
    assert compute_evidence("lexical", 1.0, one(0.4), one(SATURATION)) == one(0.5)


def test_words_alone_speak_where_the_embedder_knows_nothing_of_the_query():
    assert compute_evidence("hybrid", 0.0, one(0.9), one(SATURATION)) == one(0.5)
    both = compute_evidence("hybrid", 1.0, one(0.9), one(SATURATION))
    assert both == pytest.approx(0.5 * 0.9 + 0.5 * 0.5)


def test_no_amount_of_words_reaches_1_and_none_are_0():
    def by_words(bm25):
        return compute_evidence("lexical", 1.0, one(0.0), one(bm25))

    assert by_words(0.0) == one(0.0)
    assert by_words(SATURATION) == one(0.5)
    assert by_words(1e4) < 1


def test_a_cosine_below_0_counts_as_none():
    assert compute_evidence("hybrid", 1.0, one(-0.5), one(0.0)) == one(0.0)
