"""Operations: the client's table, the daemon's, both clients, `irc` and the documents agree."""

import asyncio
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

from irclient import AsyncClient, Client, Query, ops
from irclient.cli.commands import COMMANDS
from irdaemon.engine.queue import Job
from irdaemon.serve import ops as served
from irdaemon.serve.access import WHOLE, Scope
from irdaemon.serve.loop import _WORKERS
from tests.support.corpora import engine, mapped

ROOT = Path(__file__).parents[2]
PROTOCOL = (ROOT / "docs/protocol.md").read_text("utf-8")
# Operations that another command, or an option of one, is made of.
BESIDE = {
    "evaluation": ("eval", "client.evaluation("),
    "calibrate": ("eval", "client.calibrate("),
    "failures": ("status", "client.failures()"),
    "secrets": ("status", "client.secrets()"),
    "progress": ("build", "follow("),
    "uses": ("eval", "client.uses("),
    "usage_forget": ("usage", "client.usage_forget("),
    "preview": ("add", "client.preview("),
    "usage_import": ("usage", "client.usage_import("),
    "usage_rollback": ("usage", "client.usage_rollback("),
    "doc_add": ("docs", "client.doc_add("),
    "doc_update": ("docs", "client.doc_update("),
    "doc_remove": ("docs", "client.doc_remove("),
    "doc_index": ("docs", "client.doc_index("),
}
# What no command of `irc` needs: `irdaemon reload` and the service do it by a signal, and documents
# in memory belong to a program that goes on.
NO_COMMAND = {"reload", "discover_in", "register_docs", "drop_docs"}
GIVEN = {
    "query": Query("x", fusion="rrf", passages=2, related=True),
    "cases": [{"query": "x"}],
    "references": ["c/a"],
    "reference": "c/a",
    "corpus": "c",
    "path": "/x",
    "session": "s",
    "job": 1,
    "name": "n",
    "kind": "files",
    "roots": ["/x"],
    "generation": 1,
    "docs": ["x"],
    "handle": "h",
    "title": "t",
    "content": "x",
    "directory": "/x",
    "uses": [{"prompt": "x", "gold": ["a"]}],
}


class Sent(Exception):
    """Instead of sending: the operation and its arguments."""


def sent(kind, name):
    """Return what a client's method sends when every argument without a default is given."""

    def send(op, args, extra_s):
        raise Sent(op, args)

    client = kind("/nowhere")
    client._ask = send
    method = getattr(client, name)
    parameters = inspect.signature(method).parameters.values()
    given = {each.name: GIVEN[each.name] for each in parameters if each.default is each.empty}
    try:
        asyncio.run(method(**given))
    except Sent as caught:
        return caught.args
    raise AssertionError(f"{name} sent nothing")


def section(name):
    """Return what docs/protocol.md says of an operation."""
    return PROTOCOL.partition(f"\n## {name}\n")[2].partition("\n## ")[0]


def test_both_tables_and_the_document_name_the_same_operations_in_one_order():
    documented = re.findall(r"^## ([a-z_]+)$", PROTOCOL, re.M)
    assert documented == list(ops.OPS) == list(served.OPS)
    assert all(name == op.name for name, op in ops.OPS.items())


@pytest.mark.parametrize("name", ops.OPS)
def test_a_row_names_the_type_that_it_is_annotated_with(name):
    op = ops.OPS[name]
    annotated = ops.__annotations__[name.upper()].replace("results.", "")
    assert annotated == (f"Op[list[{op.type}]]" if op.many else f"Op[{op.type}]")
    assert callable(ops._reader(op.type))


@pytest.mark.parametrize("name", ops.OPS)
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_clients_method_sends_the_arguments_of_its_row_and_no_other(kind, name):
    op, args = sent(kind, name)
    assert op is ops.OPS[name]
    assert args.keys() == op.args.keys()


@pytest.mark.parametrize("name", ops.OPS)
def test_every_argument_is_documented(name):
    told = section(name)
    if "Arguments" in told and "of `discover`" in told:
        told += section("discover")
    assert [arg for arg in ops.OPS[name].args if f"`{arg}`" not in told] == []


def test_the_guide_of_the_client_lists_every_method():
    guide = (ROOT / "docs/client.md").read_text("utf-8")
    (listed,) = re.findall(r"a method\s+for each operation of the protocol: `([a-z_\s]+)`", guide)
    assert listed.split() == list(ops.OPS)


def test_what_changes_something_or_names_a_job_is_said_to_be_never_repeated():
    never = [name for name, op in ops.OPS.items() if not op.repeatable]
    assert sorted(never) == [
        *("add", "build", "calibrate", "doc_add", "doc_index", "doc_remove", "doc_update"),
        *("drop_docs", "hint", "maintain", "progress", "reload", "rm"),
        *("usage_forget", "usage_import", "usage_rollback"),
    ]
    guide = (ROOT / "docs/client.md").read_text("utf-8")
    (said,) = re.findall(r"([^.]*) and `call` are\s+never sent a second time", guide)
    assert sorted(re.findall(r"`([a-z_]+)`", said)) == sorted(never)


@pytest.mark.parametrize("name", ops.OPS)
def test_every_operation_is_within_reach_of_a_command(name):
    if name in NO_COMMAND:
        return
    command, call = BESIDE.get(name, (name, f"client.{name}("))
    assert command in COMMANDS
    source = inspect.getsource(import_module(f"irclient.cli.commands.{command}"))
    assert call in source, f"irc {command} does not call {name}"


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
        plain = served.shown(WHOLE, served.OPS[name], served.OPS[name].run(made, args))
        read = ops.OPS[name].result(plain)
        again = [each.to_dict() for each in read] if isinstance(read, list) else read.to_dict()
        told = [set(each) for each in plain] if isinstance(plain, list) else [set(plain)]
        kept = [set(each) for each in again] if isinstance(again, list) else [set(again)]
        assert [some - all_ for some, all_ in zip(told, kept, strict=True)] == [set()] * len(told)


def test_a_limited_status_is_read_without_what_it_was_not_told():
    made = engine(mapped({"a": "fill a pdf form"}))
    op = served.OPS["status"]
    plain = served.shown(Scope("agent", frozenset({"m"})), op, op.run(made, {}))
    state = ops.STATUS.result({**plain, "version": "1", "pid": 1})
    assert state.health is None
    assert not state.to_dict().keys() & {"config", "socket", "watch", "profile", "ledger", "health"}
