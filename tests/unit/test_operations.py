"""Operations: the client's table, the daemon's, both clients, `irc` and the documents agree."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

import irclient
from irclient import Client, ops, wire
from irdaemon.config.sections import ServeConfig
from irdaemon.engine.queue import Job
from irdaemon.serve import access, operations
from irdaemon.serve import ops as served
from irdaemon.serve.access import WHOLE, Scope
from irdaemon.serve.loop import _WORKERS
from tests.golden.tables import with_tables
from tests.support.corpora import engine, mapped
from tests.support.serving import run

PROTOCOL = (Path(__file__).parents[2] / "docs/protocol.md").read_text("utf-8")
# What no command of `irc` needs: `irdaemon reload` and the service do it by a signal, and documents
# in memory belong to a program that goes on. The hook sends what moments need.
NO_COMMAND = {"reload", "discover_in", "register_docs", "drop_docs"}
NO_COMMAND |= {"resume_session", "expect_subagent", "discover_task", "note_moment", "find_cure"}


def section(name):
    """Return what docs/protocol.md says of an operation."""
    return PROTOCOL.partition(f"\n## {name}\n")[2].partition("\n## ")[0]


def test_both_tables_and_the_document_name_the_same_operations_in_one_order():
    documented = re.findall(r"^## ([a-z_]+)$", PROTOCOL, re.M)
    assert documented == list(ops.OPS) == list(served.OPS)


@pytest.mark.parametrize("name", ops.OPS)
def test_every_argument_is_documented(name):
    told = section(name)
    if "Arguments" in told and "of `discover`" in told:
        told += section("discover")
    assert [arg for arg in ops.OPS[name].args if f"`{arg}`" not in told] == []


def test_the_tables_of_the_document_are_made_of_the_rows_and_the_types_of_results():
    assert with_tables(PROTOCOL) == PROTOCOL, "python -m tests.golden.protocol writes them again"
    for mine, wrong in (
        ("| `k` | whole number | 10 |", "| `k` | whole number | 12 |"),
        ("`limit`: whole number = 100", "`limit`: whole number = 10"),
        ("| `took_ms` | number |", "| `took` | number |"),
    ):
        assert mine in PROTOCOL
        assert with_tables(PROTOCOL.replace(mine, wrong)) == PROTOCOL


@pytest.mark.parametrize("name", ops.OPS)
def test_the_document_says_what_is_sent_once(name):
    assert ("*Sent once.*" in section(name)) == (not ops.OPS[name].repeatable)


def test_every_operation_is_within_reach_of_a_command():
    sources = (Path(irclient.__file__).parent / "cli").rglob("*.py")
    called = {name for path in sources for name in re.findall(r"client\.(\w+)\(", path.read_text())}
    assert ops.OPS.keys() - called == NO_COMMAND


@pytest.mark.parametrize("name", served.OPS)
def test_every_operation_has_a_rule_for_limited_clients_and_a_worker_for_its_cost(name):
    op = served.OPS[name]
    assert callable(op.rule)
    assert op.cost == "quick" or op.cost in _WORKERS


def test_the_status_and_info_that_a_client_reads_have_all_that_the_daemon_tells():
    made = engine(mapped({"a": "fill a pdf form"}))
    made.request(Job("reconcile", "m"))
    made.drain()
    for name, args in (
        ("status", {"profile": True}),
        ("info", {"corpus": "m"}),
        ("records", {"reference": "m/a"}),
        ("artifacts", {}),
        ("explain", {"text": "pdf", "item": "m/a"}),
        ("eval", {"cases": [{"query": "pdf", "gold": ["a"]}], "baseline": True, "curve": True}),
        ("evaluation", {"corpus": "m"}),
        ("progress", {"job": 1}),
        ("wait", {"generation": 1, "wait_ms": 0}),
        ("ping", {}),
        ("discover_in", {"docs": ["fill a pdf form"], "query": "pdf"}),
    ):
        plain = served.filter_result(WHOLE, served.OPS[name], run(name, made, args))
        read = ops.OPS[name].read_result(plain)
        again = [each.to_dict() for each in read] if isinstance(read, list) else read.to_dict()
        told = [set(each) for each in plain] if isinstance(plain, list) else [set(plain)]
        kept = [set(each) for each in again] if isinstance(again, list) else [set(again)]
        assert [some - all_ for some, all_ in zip(told, kept, strict=True)] == [set()] * len(told)


def test_a_limited_status_is_read_without_what_it_was_not_told():
    made = engine(mapped({"a": "fill a pdf form"}))
    op = served.OPS["status"]
    plain = served.filter_result(Scope("agent", frozenset({"m"})), op, run("status", made, {}))
    state = ops.OPS["status"].read_result({**plain, "version": "1", "pid": 1})
    assert state.health is None
    assert not state.to_dict().keys() & {"config", "socket", "watch", "profile", "ledger", "health"}


def test_a_method_and_a_function_are_all_that_an_operation_is_made_of(monkeypatch):
    class Greeter(Client):
        @ops.operation()
        def greet(self, names: "Sequence[str]", times: "int" = 1) -> "list[str]":
            """Return greetings."""

        def _ask(self, op, args, extra_s):
            request = wire.Request(1, op.name, args)
            made = engine(mapped({"a": "x"}))
            return wire.read_reply(served.handle(made, request, WHOLE, ServeConfig())).unwrap()

    monkeypatch.setattr(operations, "SERVED", {})

    @operations.serves("greet", "quick", access.refuse)
    def greet(made, names, times):
        return [f"hello {name}" for name in names * times]

    monkeypatch.setitem(ops.OPS, "greet", Greeter.greet.op)
    monkeypatch.setattr(served, "OPS", operations.SERVED)
    client = Greeter("/nowhere")
    assert client.greet(("ann",), times=2) == ["hello ann", "hello ann"]
    assert client._ask(Greeter.greet.op, {}, 0) == []  # what is left out is empty, or its default
    with pytest.raises(TypeError, match="name"):
        client.greet()
    with pytest.raises(irclient.QueryError, match="times is of the wrong type"):
        client.greet(["ann"], times="2")
