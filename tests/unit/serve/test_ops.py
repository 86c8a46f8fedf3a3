"""Where an operation is worked on: by the loop itself, or by a worker."""

import pytest

from irclient.wire import Request
from irdaemon.serve.ops import cost


@pytest.mark.parametrize(
    ("args", "where"),
    [
        ({}, "quick"),
        ({"rounds": None}, "quick"),
        ({"rounds": 1}, "heavy"),
        ({"where": {"team": "docs"}}, "heavy"),
        ({"related": False}, "quick"),
        ({"related": True}, "slow"),
        ({"rounds": 3, "level": "body"}, "slow"),
        ({"rounds": 3, "fresh": True}, "waiting"),
    ],
)
def test_a_query_of_several_rounds_does_not_hold_up_the_loop(args, where):
    assert cost(Request(1, "discover", {"text": "pdf", **args})) == where
