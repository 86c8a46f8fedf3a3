"""Verdicts in a few words."""

import pytest

from irclient.verdicts import describe_verdict


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        (None, ""),
        ({}, ""),
        ({"state": "holds", "files": 1}, "its file is as it was"),
        ({"state": "holds", "files": 3}, "its 3 files are as they were"),
        ({"state": "changed", "files": 1, "changed": ["a"]}, "its file changed since"),
        ({"state": "changed", "files": 3, "changed": ["a", "b"]}, "2 of its 3 files changed since"),
        ({"state": "gone", "files": 1, "gone": ["a"]}, "its file is gone"),
        ({"state": "changed", "files": 3, "gone": ["a"]}, "1 of its 3 files is gone"),
        ({"state": "gone", "files": 2, "gone": ["a", "b"]}, "2 of its 2 files are gone"),
        (
            {"state": "changed", "files": 3, "changed": ["a"], "gone": ["b"]},
            "1 of its 3 files changed since, 1 is gone",
        ),
        (
            {"state": "changed", "files": 1, "changed": ["a"], "lost_symbols": ["f", "g"]},
            "its file changed since; f, g no longer in what it touched",
        ),
        ({"state": "changed", "lost_commits": ["0a1b2c3d4e5f"]}, "0a1b2c3d4e on no branch"),
    ],
)
def test_a_verdict_is_a_clause(verdict, said):
    assert describe_verdict(verdict) == said


def test_without_names_no_word_of_the_session_is_in_it():
    verdict = {"state": "changed", "files": 1, "changed": ["a"], "lost_symbols": ["obey_me"]}
    assert describe_verdict(verdict, names=False) == "its file changed since"
