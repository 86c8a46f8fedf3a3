"""Requests and replies as bytes, and the pure function between them."""

import re
import traceback
from dataclasses import replace

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irclient import wire
from irclient.errors import BY_CODE, IRError, LimitError, NotFound, ProtocolError, QueryError
from irclient.ops import OPS
from irclient.types import Disclosure, Hit, Query, RelatedItem, Round, Selection, SelectSpec
from irdaemon.engine.queue import Job
from tests.support.corpora import engine, mapped
from tests.support.serving import handled, unpack_reply

plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@pytest.fixture(scope="module")
def served():
    made = engine(mapped({"a": "fill a pdf form"}))
    made.request(Job("reconcile", "m"))
    made.drain()
    return made


def answer(served, op, args):
    return unpack_reply(handled(served, wire.pack_request(wire.Request(7, op, args))))


def test_a_request_comes_out_as_it_went_in():
    request = wire.Request(7, "discover", {"text": "ü", "k": 3})
    assert wire.unpack_request(wire.pack_request(request)) == request


def test_an_answer_carries_the_number_of_its_request(served):
    number, pong = answer(served, "ping", {})
    assert (number, pong["protocol"]) == (7, wire.PROTOCOL)


@pytest.mark.parametrize("code", BY_CODE)
def test_every_error_arrives_as_what_it_was(code):
    with pytest.raises(BY_CODE[code]) as caught:
        unpack_reply(wire.pack_error(1, BY_CODE[code]("what", "do this")))
    assert (caught.value.message, caught.value.hint) == ("what", "do this")


def test_an_error_that_is_not_caught_shows_its_hint():
    shown = "".join(traceback.format_exception(NotFound("no such thing", "look elsewhere")))
    assert "no such thing" in shown
    assert "look elsewhere" in shown
    assert str(NotFound("no such thing", "look elsewhere")) == "no such thing"
    assert not hasattr(NotFound("no such thing"), "__notes__")


def test_an_error_code_of_a_newer_daemon_keeps_its_name():
    reply = {
        "v": wire.PROTOCOL,
        "id": 1,
        "ok": False,
        "error": {"code": "novel", "message": "m", "hint": ""},
    }
    with pytest.raises(IRError) as caught:
        unpack_reply(msgpack.packb(reply))
    assert caught.value.code == "novel"


def test_what_a_newer_peer_adds_is_ignored(served):
    message = {
        "v": wire.PROTOCOL,
        "id": 3,
        "op": "discover",
        "args": {"text": "pdf", "mood": 1},
        "trace": "x",
    }
    assert unpack_reply(handled(served, msgpack.packb(message)))[0] == 3
    known = Query.from_dict({"text": "x", "mood": 1, "select": {"max_k": 2, "new": 0}})
    assert known == Query("x", select=SelectSpec(max_k=2))


UPDATE, RESTART = wire.UPDATE_CLIENT, "irdaemon restart"


@pytest.mark.parametrize(
    ("version", "hint"),
    [(None, UPDATE), (1, UPDATE), ("2", UPDATE), (True, UPDATE), (2.0, UPDATE), (3, RESTART)],
)
def test_a_request_of_another_protocol_is_told_the_daemons_and_who_is_to_be_updated(
    served, version, hint
):
    message = {"v": version, "id": 3, "op": "ping", "args": {}}
    if version is None:
        del message["v"]
    reply = wire.read_reply(handled(served, msgpack.packb(message)))
    assert (reply.id, reply.error.code, reply.error.hint) == (3, "protocol", hint)
    assert re.search(r"this daemon, irdaemon 0\..*, speaks protocol 2$", reply.error.message)


@pytest.mark.parametrize(
    ("version", "hint"),
    [(None, RESTART), (1, RESTART), ("2", RESTART), (True, RESTART), (2.0, RESTART), (3, UPDATE)],
)
def test_a_reply_of_another_protocol_is_never_read_and_says_who_is_to_be_updated(version, hint):
    reply = wire.read_reply(msgpack.packb({"v": version, "id": 3, "ok": True, "result": {}}))
    assert (reply.id, reply.error.code, reply.error.hint) == (3, "protocol", hint)
    assert re.search(r"this client, irclient 0\..*, speaks protocol 2$", reply.error.message)


def test_a_message_over_the_limit_is_refused_unread():
    with pytest.raises(LimitError):
        wire.unpack_request(b"\x81" * 200, wire.MessageLimits(bytes=100))


@given(st.binary())
def test_any_bytes_get_a_reply(served, data):
    with pytest.raises((ProtocolError, IRError)):
        unpack_reply(handled(served, data))


@given(st.sampled_from([*OPS, "nope"]).filter(lambda op: op not in ("add", "rm")), plain)
def test_any_arguments_get_a_reply_and_never_an_internal_error(served, op, args):
    reply = msgpack.unpackb(
        handled(served, wire._pack({"v": wire.PROTOCOL, "id": 1, "op": op, "args": args}))
    )
    assert reply["ok"] or reply["error"]["code"] != "internal", reply


anything = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=3) | st.sampled_from(["$and", "$in", "name"]), inner)
    ),
    max_leaves=12,
)
# What changes the corpora under the other tests is left out.
READING = [op for op in OPS if op not in ("add", "rm", "reload")]


def no_fault(reply):
    message = msgpack.unpackb(reply)
    assert message["ok"] or message["error"]["code"] != "internal", message


@given(anything)
def test_any_message_gets_a_reply_and_never_an_internal_error(served, message):
    no_fault(handled(served, msgpack.packb(message)))


@given(
    st.sampled_from(READING),
    st.dictionaries(
        st.sampled_from(sorted({name for op in OPS.values() for name in op.args} - {"fresh"})),
        anything | st.lists(anything, min_size=1, max_size=2),
        max_size=3,
    ),
    st.dictionaries(st.sampled_from(["id", "v", "token", "timeout_ms"]), anything, max_size=1),
)
def test_a_good_request_with_a_few_odd_values_gets_a_reply(served, op, odd, beside):
    good = {"text": "pdf", "references": ["m/a"], "reference": "m/a", "corpus": "m", "wait_ms": 0}
    args = {**good, **odd, "wait_ms": 0}
    no_fault(
        handled(
            served, msgpack.packb({"v": wire.PROTOCOL, "id": 1, "op": op, "args": args, **beside})
        )
    )


@given(
    st.sampled_from(READING),
    st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=8),
    st.integers(0, 200),
)
def test_a_valid_request_that_was_damaged_on_its_way_gets_a_reply(served, op, changes, cut):
    args = {"text": "pdf", "corpora": ["m"], "references": ["m/a"], "where": {"name": {"$in": []}}}
    data = bytearray(wire.pack_request(wire.Request(7, op, {**args, "wait_ms": 0}, 1000.0, "t")))
    for place, value in changes:
        data[place % len(data)] = value
    no_fault(handled(served, bytes(data[: cut or len(data)])))


@given(st.dictionaries(st.sampled_from(list(OPS["discover"].args)), plain))
def test_any_query_gets_a_reply_and_never_an_internal_error(served, args):
    reply = msgpack.unpackb(
        handled(served, wire._pack({"v": wire.PROTOCOL, "id": 1, "op": "discover", "args": args}))
    )
    assert reply["ok"] or reply["error"]["code"] != "internal", reply


def test_public_types_survive_the_wire():
    disclosed = Disclosure("c", "a", "body", "n", "/p", body="text", note="changed", stale=True)
    hit = Hit("c", "a", "n", "k", 0.5, {"dense": 0.5}, "s", "/p", {"x": 1}, ("c/b",), disclosed)
    found = Selection("q", "hybrid", (hit,), False, "single", {}, 1, 1, 3, {"legs": []}, 0.1)
    assert Selection.from_dict(wire.unpack_event(wire.pack_event(found.to_dict()))) == found
    again = replace(
        found, rounds=(Round("q", 10, 3, 1, error="x"), Round("r", 20, sufficient=True))
    )
    assert Selection.from_dict(wire.unpack_event(wire.pack_event(again.to_dict()))) == again


def test_an_answer_says_whether_it_is_sufficient_and_tells_rounds_where_there_were_some():
    told = Selection("q", "hybrid", (), True, "below_floor", {}, 0, 0, 3, {}, 0.1)
    assert told.to_dict()["sufficient"] is False
    assert "rounds" not in told.to_dict()
    hit = Hit("c", "a", "n", "k", 0.5, {}, "s", "/p", {})
    found = replace(told, results=(hit,), abstained=False)
    assert found.to_dict()["sufficient"] is True
    insufficient = replace(found, rounds=(Round("q", 10),))
    assert insufficient.to_dict()["sufficient"] is False
    assert insufficient.to_dict()["rounds"][0]["top_k"] == 10


def test_what_belongs_to_a_hit_arrives_as_it_was_and_is_left_out_where_it_was_not_asked_for():
    plain = Hit("c", "a", "name", "k", 0.5, {}, "sum", "/p", {})
    assert "related" not in plain.to_dict()
    item = RelatedItem("packages", "p", "P", "package", "names", "/p", "skill", "2026-09-01")
    for related in ((item,), ()):
        hit = replace(plain, related=related)
        told = hit.to_dict()
        assert Hit.from_dict(told) == hit
        newer = [{**each, "mood": "good"} for each in told["related"]]
        assert Hit.from_dict({**told, "related": newer}) == hit


def test_a_related_that_cannot_be_is_a_query_error_and_a_daemon_says_what_it_found(served):
    with pytest.raises(QueryError, match="related"):
        answer(served, "discover", {"text": "pdf", "related": "yes"})
    _, told = answer(served, "discover", {"text": "fill a pdf form", "related": True})
    assert [hit["related"] for hit in told["results"]] == [[]]


def test_a_client_or_a_daemon_that_knows_no_rounds_is_served_as_ever(served):
    asked = Query("pdf", rounds=3).to_dict()
    older = {name: value for name, value in asked.items() if name != "rounds"}
    assert Query.from_dict(older) == Query("pdf")
    assert "rounds" not in answer(served, "discover", older)[1]
    _, told = answer(served, "discover", asked)
    newer = {**told, "rounds": [{**told["rounds"][0], "mood": "good"}]}
    assert Selection.from_dict(newer) == Selection.from_dict(told)
    without = {name: told[name] for name in told if name not in ("rounds", "sufficient")}
    assert Selection.from_dict(without).rounds == ()


@pytest.mark.parametrize("rounds", [0, 9, True, "3", 2.5])
def test_rounds_that_cannot_be_are_a_query_error(served, rounds):
    with pytest.raises(QueryError, match="rounds"):
        answer(served, "discover", {"text": "pdf", "rounds": rounds})


def test_an_unknown_job_is_not_found(served):
    with pytest.raises(NotFound):
        answer(served, "progress", {"job": 10**9})
