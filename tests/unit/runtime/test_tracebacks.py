import logging

from irclient import wire
from irdaemon.runtime.tracebacks import describe_error
from irdaemon.serve import access, operations
from irdaemon.serve import ops as serve
from irdaemon.serve.ops import ServedOp
from tests.support.corpora import engine, mapped
from tests.support.serving import handled

SAID = "the words of a document"


def failing():
    try:
        raise KeyError(SAID)
    except KeyError as error:
        raise ValueError(SAID) from error


def test_a_fault_is_told_by_its_kinds_and_places_without_its_words():
    try:
        failing()
    except ValueError as error:
        told = describe_error(error)
    assert "KeyError in" in told
    assert told.index("KeyError") < told.index("ValueError in")
    assert "in failing" in told
    assert SAID not in told


def test_neither_a_fault_nor_a_slow_query_brings_words_into_the_log(monkeypatch, caplog):
    made = engine(mapped({"a": SAID}))
    monkeypatch.setattr(operations, "_SLOW_MS", 0.0)
    broken = ServedOp(lambda engine, args: failing(), "quick", access.allow)
    monkeypatch.setattr(serve, "OPS", {**serve.OPS, "ping": broken})
    with caplog.at_level(logging.DEBUG):
        for request in (wire.Request(1, "ping", {}), wire.Request(2, "discover", {"text": SAID})):
            handled(made, wire.pack_request(request))
    assert "ValueError in" in caplog.text
    assert "slow query" in caplog.text
    assert SAID not in caplog.text
