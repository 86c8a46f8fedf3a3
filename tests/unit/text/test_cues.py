"""A cue that stands in a text is never ruled out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irdaemon.text.cues import CueTable

CUES = [("pip install", "uv add"), ("sk-", "AKIA"), ("` package",)]
TABLE = CueTable(CUES)
LONG = "words of a text that is long enough " * 40


@given(st.text(), st.lists(st.sampled_from([cue for group in CUES for cue in group])), st.text())
def test_no_cue_that_stands_in_a_text_is_ruled_out(before, cues, after):
    text = LONG + before + "".join(cues) + after
    holds = [any(cue in text for cue in group) for group in CUES]
    possible = TABLE.find_possible(text)
    assert [held and not told for held, told in zip(holds, possible, strict=True)] == [False] * 3


def test_what_a_long_text_does_not_hold_is_ruled_out():
    assert TABLE.find_possible(LONG) == [False, False, False]
    assert TABLE.find_possible(LONG + "uv add") == [True, False, False]


def test_of_a_short_text_nothing_is_told():
    assert TABLE.find_possible("") == [True, True, True]


def test_a_text_with_half_a_surrogate_pair_is_looked_through():
    assert TABLE.find_possible(f"{LONG}\ud800AKIA") == [False, True, False]


def test_a_cue_that_is_too_short_to_be_told_is_refused():
    with pytest.raises(ValueError, match="fewer than 3 bytes"):
        CueTable([("long enough",), ("` ",)])
