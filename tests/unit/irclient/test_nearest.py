"""The nearest known word to a wrong one."""

import pytest

from irclient.nearest import did_you_mean, find_nearest


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("skils", "skills"), ("notse", "notes"), ("skills", "skills"), ("zebra", ""), ("", "")],
)
def test_the_nearest_word_is_named_and_none_where_none_is_like_it(wrong, right):
    assert find_nearest(wrong, ["skills", "notes"]) == right


def test_it_is_said_as_a_question_or_not_at_all():
    assert did_you_mean("skils", ["skills"]) == "; did you mean 'skills'?"
    assert did_you_mean("zebra", ["skills"]) == ""
    assert did_you_mean("zebra", []) == ""


def test_what_is_no_text_and_what_is_very_long_is_compared_all_the_same():
    assert find_nearest(7, ["17"]) == "17"
    assert find_nearest("skills" + "x" * 100_000, ["skills"]) == ""
