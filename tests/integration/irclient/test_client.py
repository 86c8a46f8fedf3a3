"""Client and AsyncClient against a scripted daemon: the same operations, the same behaviour."""

import asyncio
import inspect
import os
import threading
import time
from pathlib import Path

import pytest

from irclient import AsyncClient, Client, Query, wire
from irclient.errors import (
    InternalError,
    LimitError,
    Lost,
    NotFound,
    ProtocolError,
    QueryError,
    Timeout,
    Unreachable,
)
from irclient.fast.zmtp import exchange
from irclient.results import CorpusInfo
from irclient.testing import CRASH, SILENT, FakeDaemon, hit, selection
from tests.support.clients import Awaited


@pytest.fixture
def daemon():
    with FakeDaemon({"discover": selection(hit("pdf"))}) as running:
        yield running


@pytest.fixture(params=[Client, Awaited])
def client(request, daemon):
    made = request.param(daemon.endpoint, 5.0)
    yield made
    made.close()


def until_noticed(client):
    """Wait until a client's connection has ended on its side too: a moment later."""

    async def noticed():
        while not client.client._link.ended:
            await asyncio.sleep(0.001)

    if isinstance(client, Awaited):
        client.runner.run(noticed())
    while isinstance(client, Client) and not client._link.lost:
        time.sleep(0.001)


def asked(daemon):
    return [request.op for request in daemon.requests]


def public(kind):
    return {name: getattr(kind, name) for name in dir(kind) if not name.startswith("_")}


def test_both_clients_have_the_same_methods_arguments_and_words():
    assert public(Client).keys() == public(AsyncClient).keys()
    for name in public(Client).keys() - {"close", "events"}:
        one, other = getattr(Client, name), getattr(AsyncClient, name)
        assert inspect.signature(one) == inspect.signature(other), name
        assert inspect.getdoc(one) == inspect.getdoc(other), name
        assert inspect.iscoroutinefunction(other), name
    one, other = inspect.signature(Client.events), inspect.signature(AsyncClient.events)
    assert one.parameters == other.parameters


def test_an_answer_arrives_as_a_type(client, daemon):
    assert client.discover(Query("fill a form")) == selection(hit("pdf"))
    assert daemon.requests[0].args["text"] == "fill a form"


def test_plain_data_is_asked_as_the_query_of_that_data(client, daemon):
    client.discover({"text": "fill a form", "k": 3})
    client.discover(Query("fill a form", k=3))
    plain, typed = daemon.requests
    assert plain.args.items() <= typed.args.items()


def test_a_text_is_asked_as_the_query_of_that_text(client, daemon):
    client.discover("fill a form", "session")
    client.discover(Query("fill a form"), "session")
    first, second = daemon.requests
    assert first.args == second.args
    with pytest.raises(QueryError, match="a query is a text or a Query, not 3"):
        client.discover(3)


def test_an_error_arrives_as_itself_and_the_connection_goes_on(client, daemon):
    daemon.answers["info"] = NotFound("no such corpus", "irc ls")
    with pytest.raises(NotFound, match="no such corpus"):
        client.info("skils")
    assert client.discover(Query("x")).results


def test_a_reply_of_another_form_is_a_protocol_error(client, daemon):
    daemon.answers |= {"discover": {"results": 3}, "status": [1], "build": [None]}
    for ask in (lambda: client.discover(Query("x")), client.status, client.build):
        with pytest.raises(ProtocolError, match="wrong form"):
            ask()


def test_without_a_daemon_both_say_so_at_once(client, daemon):
    daemon.stop()
    with pytest.raises(Unreachable, match="no daemon at"):
        client.ping()
    with pytest.raises(Unreachable, match="no daemon at"):
        client.build()


def test_a_kept_client_goes_on_after_a_restart_even_with_what_is_never_repeated(client, daemon):
    daemon.answers["build"] = [1]
    assert client.build() == [1]
    daemon.stop()
    until_noticed(client)
    daemon.start()
    assert client.build() == [1]
    assert asked(daemon) == ["build", "build"]


def test_a_question_to_a_daemon_that_crashes_is_asked_once_more(client, daemon):
    said = iter([CRASH, selection(hit("csv"))])
    daemon.answers["discover"] = lambda args: next(said)
    assert client.discover(Query("x")).results[0].name == "csv"
    assert asked(daemon) == ["discover", "discover"]


def test_it_is_asked_no_third_time(client, daemon):
    daemon.answers["discover"] = CRASH
    with pytest.raises(Lost):
        client.discover(Query("x"))
    assert asked(daemon) == ["discover", "discover"]


@pytest.mark.parametrize(
    ("op", "args"),
    [
        ("add", ("n", "files", [])),
        ("rm", ("n",)),
        ("build", ()),
        ("reload", ()),
        ("progress", (1,)),
        ("call", ("novel", {})),
    ],
)
def test_what_changes_something_is_never_asked_twice(client, daemon, op, args):
    daemon.answers |= dict.fromkeys(("add", "rm", "build", "reload", "progress", "novel"), CRASH)
    with pytest.raises(Lost, match="went away"):
        getattr(client, op)(*args)
    assert len(daemon.requests) == 1


def test_a_timeout_is_waited_for_once(client, daemon):
    daemon.answers["discover"] = SILENT
    getattr(client, "client", client).timeout = 0.05
    with pytest.raises(Timeout, match=r"within 0\.05 s"):
        client.discover(Query("x"))
    assert asked(daemon) == ["discover"]


def test_a_late_reply_is_not_taken_for_the_next_one(client, daemon):
    late = threading.Event()
    daemon.answers["info"] = lambda args: late.wait(5) and {"name": "late"}
    getattr(client, "client", client).timeout = 0.05
    with pytest.raises(Timeout):
        client.info("x")
    late.set()
    getattr(client, "client", client).timeout = 5.0
    assert client.ping().version


def test_a_refusal_that_names_no_request_ends_the_one_that_was_too_large(client, daemon):
    daemon.answers["disclose"] = lambda args: NotFound("never seen")
    daemon._read = lambda data: (0, LimitError("too large"))
    with pytest.raises(LimitError):
        client.disclose(["a"])


def test_what_is_not_scripted_or_fails_in_the_script_is_said_in_words(client, daemon):
    with pytest.raises(QueryError, match="no answer is scripted for 'status'"):
        client.status()
    daemon.answers["status"] = lambda args: 1 / 0
    with pytest.raises(InternalError, match="ZeroDivisionError"):
        client.status()


def test_bytes_that_are_no_request_are_answered_too(daemon):
    refusal = wire.read_reply(exchange(daemon.endpoint, b"\xc1", 5))
    assert isinstance(refusal.error, ProtocolError)
    with Client(daemon.endpoint) as client:
        assert client.ping().protocol == wire.PROTOCOL


def in_a_loop(work):
    """Run `work(client)` on an AsyncClient of the daemon it was given."""

    async def run(endpoint, timeout=5.0):
        async with AsyncClient(endpoint, timeout) as client:
            return await work(client)

    return lambda endpoint, timeout=5.0: asyncio.run(run(endpoint, timeout))


def test_calls_at_the_same_time_each_get_their_own_reply(daemon):
    daemon.answers["info"] = lambda args: {"name": args["corpus"]}
    names = [f"corpus-{number}" for number in range(200)]

    @in_a_loop
    async def told(client):
        return await asyncio.gather(*map(client.info, names))

    assert [each.name for each in told(daemon.endpoint)] == names


def test_an_error_for_one_of_many_calls_is_only_that_ones(daemon):
    daemon.answers["info"] = lambda args: NotFound("b") if args["corpus"] == "b" else {"name": "a"}

    @in_a_loop
    async def told(client):
        calls = (client.info(name) for name in "aba")
        return await asyncio.gather(*calls, return_exceptions=True)

    one, other, third = told(daemon.endpoint)
    assert one == third == CorpusInfo("a")
    assert isinstance(other, NotFound)


def test_many_calls_survive_a_crash_together(daemon):
    crashed = []

    def once(args):
        if len(crashed) < 1:
            crashed.append(args)
            return CRASH
        return {"name": args["corpus"]}

    daemon.answers["info"] = once

    @in_a_loop
    async def told(client):
        return await asyncio.gather(*map(client.info, "abcdef"))

    assert [each.name for each in told(daemon.endpoint)] == list("abcdef")


def test_a_cancelled_call_leaves_the_others_and_the_connection_alone(daemon):
    held = threading.Event()
    daemon.answers["info"] = lambda args: held.wait(5) and {"name": args["corpus"]}

    @in_a_loop
    async def told(client):
        gone, kept = (asyncio.create_task(client.info(name)) for name in ("gone", "kept"))
        await asyncio.sleep(0.02)
        gone.cancel()
        held.set()
        with pytest.raises(asyncio.CancelledError):
            await gone
        return (await kept).name, (await client.info("after")).name

    assert told(daemon.endpoint) == ("kept", "after")


def test_a_call_cancelled_before_there_is_a_connection_is_never_sent(daemon):
    daemon.stop()
    Path(daemon.endpoint).touch()  # as a daemon leaves it that was killed

    @in_a_loop
    async def cancelled(client):
        task = asyncio.create_task(client.build())
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        os.unlink(daemon.endpoint)
        daemon.start()
        await client.ping()

    cancelled(daemon.endpoint)
    assert asked(daemon) == ["ping"]


def test_closing_ends_the_calls_under_way(daemon):
    daemon.answers["info"] = SILENT

    @in_a_loop
    async def ended(client):
        under_way = asyncio.create_task(client.info("x"))
        await asyncio.sleep(0.02)
        await client.close()
        with pytest.raises(Unreachable, match="closed"):
            await under_way
        return await client.ping()

    assert ended(daemon.endpoint).protocol == wire.PROTOCOL


def test_a_client_can_be_used_in_one_loop_after_another_if_closed_between(daemon):
    client = AsyncClient(daemon.endpoint)

    async def once():
        async with client:
            return await client.ping()

    assert asyncio.run(once()) == asyncio.run(once())
