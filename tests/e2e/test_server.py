"""The server's loop in this process, around operations that are made to be slow."""

import threading
import time
from contextlib import contextmanager

import pytest
import zmq

from irclient import Client, wire
from irclient.errors import NotFound, Timeout, Unavailable
from irdaemon.config.sections import ServeConfig
from irdaemon.contrib.documents.operations import DocumentLimits, DocumentStore
from irdaemon.runtime.deadline import check_clock
from irdaemon.serve import access as allowed
from irdaemon.serve import ops as serve
from irdaemon.serve.endpoints import bind_private
from irdaemon.serve.loop import RequestLoop
from irdaemon.serve.ops import ServedOp, ServeRules
from tests.support.corpora import engine, mapped
from tests.support.running import until
from tests.support.serving import unpack_reply


@contextmanager
def serving(path, **limits):
    """Run a server at a path in a thread until the end; yield it."""
    rules = ServeRules(ServeConfig(**limits))
    server = RequestLoop(engine(mapped({"a": "fill a pdf form"})), rules, 2**20)
    server.add(bind_private(server.make_router(), path, 100))
    ended = threading.Event()

    def run():
        while not ended.is_set():
            server.tick(0.02)
        server.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield server
    finally:
        ended.set()
        thread.join(10)
        assert not thread.is_alive(), "the server did not stop"


@pytest.fixture
def path(home):
    return str(home.path / "s")


@pytest.fixture
def stuck(monkeypatch):
    """Make `info` an operation that hangs until the end of the test, deaf to its clock."""
    released = threading.Event()
    hanging = ServedOp(lambda engine, args: released.wait(20), "slow", allowed.allow)
    nothing = ServedOp(lambda engine, args: [], "slow", allowed.allow)
    monkeypatch.setattr(serve, "OPS", {**serve.OPS, "info": hanging, "failures": nothing})
    yield
    released.set()


def test_operations_that_hang_are_given_up_and_their_places_are_free_for_others(path, stuck):
    with serving(path, max_request_s=0.2), Client(path) as client:
        clients = [Client(path, timeout=5.0) for _ in range(3)]
        threads = [threading.Thread(target=gives_up, args=(each,)) for each in clients]
        for each in threads:
            each.start()
        for each in threads:
            each.join(10)
        assert client.failures() == []


def gives_up(client):
    with pytest.raises(Unavailable, match="gave this request up"):
        client.info("m")
    client.close()


def test_an_operation_that_hangs_does_not_keep_the_server_from_stopping(path, stuck):
    with serving(path), Client(path, timeout=0.3) as client:
        with pytest.raises((Timeout, Unavailable)):
            client.info("m")
        client.ping()


def test_long_work_that_looks_at_its_clock_ends_with_its_clients_patience(path, monkeypatch):
    ended = threading.Event()

    def work(engine, args):
        try:
            while True:
                check_clock()
                time.sleep(0.01)
        finally:
            ended.set()

    monkeypatch.setattr(serve, "OPS", {**serve.OPS, "info": ServedOp(work, "slow", allowed.allow)})
    with serving(path), Client(path, timeout=0.2) as client:
        with pytest.raises((Timeout, Unavailable)):
            client.info("m")
        assert ended.wait(10)


def test_documents_of_a_client_that_asks_nothing_for_long_are_forgotten(path):
    with serving(path) as server, Client(path) as client:
        server._documents = DocumentStore(DocumentLimits(idle_s=0.01))
        handle = client.register_docs(["red fish"])
        until(lambda: not server._documents.bytes)
        with pytest.raises(NotFound, match="after ten idle minutes"):
            client.discover_in(handle, "fish")


def test_what_waits_while_the_server_stops_is_told_so_and_what_comes_too_much_is_turned_away(
    path, stuck
):
    replies = []
    with zmq.Context() as context, context.socket(zmq.DEALER) as dealer:
        dealer.linger = 0
        dealer.connect(f"ipc://{path}")
        with serving(path, max_waiting=4):
            for number in range(6):
                dealer.send(wire.pack_request(wire.Request(number, "info", {})))
            replies += [said(dealer), said(dealer)]
        replies += [said(dealer), said(dealer)]
    assert replies == ["the daemon is busy"] * 2 + ["the daemon is stopping"] * 2


def said(dealer):
    assert dealer.poll(10_000)
    with pytest.raises(Unavailable) as caught:
        unpack_reply(dealer.recv())
    return caught.value.message
