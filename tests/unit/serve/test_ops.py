"""Where an operation is worked on: by the loop itself, or by a worker."""

import pytest

from irclient.terminal.tables import describe_mismatch
from irclient.wire import Request, read_reply
from irdaemon.config.sections import ServeConfig
from irdaemon.serve.access import WHOLE
from irdaemon.serve.ops import choose_cost, handle
from tests.support.corpora import engine, mapped


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
    assert choose_cost(Request(1, "discover", {"text": "pdf", **args})) == where


def test_a_request_of_another_protocol_is_refused_and_the_status_tells_of_it():
    made = engine(mapped({"a": "fill in pdf forms"}, "m"))
    for v in (1, 99):
        request = Request(1, "discover", {"text": "pdf"}, v=v)
        assert read_reply(handle(made, request, WHOLE, ServeConfig())).error.code == "protocol"
    told = {each["protocol"]: each for each in made.status()["mismatched"]}
    assert {name: each["op"] for name, each in told.items()} == {"1": "discover", "99": "discover"}
    assert told["1"]["fix"] != told["99"]["fix"] == "irdaemon restart"
    assert "irc install AGENT --hooks" in "\n".join(map(describe_mismatch, told.values()))
