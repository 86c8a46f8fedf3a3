"""What a request may measure and ask for, and how many may come."""

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irclient import wire
from irclient.errors import LimitError
from irdaemon.config.sections import ServeConfig
from irdaemon.serve.access import Peer
from irdaemon.serve.operations import find_session
from irdaemon.serve.ops import Rates, ServeRules, check_reply, check_request, read_request


def nested(levels):
    value = 1
    for _ in range(levels):
        value = [value]
    return value


def message(**args):
    return msgpack.packb({"v": wire.PROTOCOL, "id": 1, "op": "discover", "args": args})


def request(**args):
    return wire.Request(1, "discover", args)


@pytest.mark.parametrize(
    ("data", "key"),
    [
        (message(text="x" * 200), "max_message_bytes"),
        (message(where=nested(10)), "max_depth"),
        (message(corpora=["x"] * 40), "max_items"),
        (message(corpora=[["x"] * 9] * 4), "max_items"),
        (message(where={str(n): n for n in range(40)}), "max_items"),
    ],
)
def test_a_message_over_a_limit_is_refused_by_the_name_of_the_limit(data, key):
    serve = ServeConfig(max_message_bytes=200, max_depth=8, max_items=35)
    with pytest.raises(LimitError, match=key):
        read_request(data, ServeRules(serve), Peer())


@given(st.integers(0, 40), st.integers(1, 40))
def test_exactly_what_nests_deeper_than_the_limit_is_refused(levels, limit):
    limits = wire.MessageLimits(depth=limit)
    data = message(where=nested(levels))
    if levels + 2 > limit:  # the message and its args are levels themselves
        with pytest.raises(LimitError):
            wire.unpack_request(data, limits)
    else:
        assert wire.unpack_request(data, limits).args == {"where": nested(levels)}


def test_no_limit_is_no_limit():
    data = message(corpora=["x"] * 200_000, where=nested(200))
    assert len(wire.unpack_request(data, wire.MessageLimits(0, 0, 0)).args["corpora"]) == 200_000


@pytest.mark.parametrize(
    ("args", "key"),
    [
        ({"text": "x" * 11}, "max_query_chars"),
        ({"references": ["a/b"] * 3}, "max_references"),
        ({"cases": [{}] * 3}, "max_cases"),
    ],
)
def test_a_request_for_too_much_is_refused_by_the_name_of_the_limit(args, key):
    serve = ServeConfig(max_query_chars=10, max_references=2, max_cases=2)
    with pytest.raises(LimitError, match=key):
        check_request(request(**args), serve)
    check_request(request(**args), ServeConfig(**{key: 0}))


def test_what_the_limits_allow_passes():
    serve = ServeConfig(max_query_chars=10, max_references=2, max_cases=2)
    check_request(request(text="x" * 10, references=["a/b"] * 2, cases=[{}] * 2), serve)


def test_a_reply_too_large_to_be_taken_is_refused():
    with pytest.raises(LimitError, match="max_reply_bytes"):
        check_reply(b"x" * 11, ServeConfig(max_reply_bytes=10))
    check_reply(b"x" * 10, ServeConfig(max_reply_bytes=10))


def test_a_connection_gets_its_burst_and_then_its_rate():
    rates = Rates()
    for _ in range(20):
        rates.check("a", 2, now=0.0)
    with pytest.raises(LimitError, match="requests_per_second"):
        rates.check("a", 2, now=0.0)
    rates.check("b", 2, now=0.0)
    rates.check("a", 2, now=0.5)
    with pytest.raises(LimitError):
        rates.check("a", 2, now=0.5)


def test_a_rate_of_none_counts_nothing():
    rates = Rates()
    for _ in range(100):
        rates.check("a", 0, now=0.0)


@given(st.lists(st.floats(0, 3), max_size=100), st.floats(0.5, 20))
def test_no_connection_ever_gets_more_than_its_burst_and_its_rate(pauses, per_second):
    rates, now, allowed = Rates(), 0.0, 0
    for pause in pauses:
        now += pause
        try:
            rates.check("a", per_second, now)
        except LimitError:
            continue
        allowed += 1
        assert allowed <= 10 * per_second + now * per_second + 1e-6


def test_buckets_of_connections_long_gone_are_forgotten():
    rates = Rates()
    for number in range(20_000):
        rates.check(number, 100, now=number / 10)
    assert len(rates._buckets) <= 4_096


def test_many_busy_connections_cost_a_bounded_memory():
    rates = Rates()
    for number in range(20_000):
        rates.check(number, 100, now=0.0)
    assert len(rates._buckets) <= 4_096


def test_an_endless_name_of_a_session_is_refused_before_its_query_is_run():
    with pytest.raises(LimitError, match="257 characters"):
        find_session({"client": "", "session": "s" * 257})
