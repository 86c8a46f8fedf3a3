"""Documents that clients bring along, with the real daemon and the real clients."""

import asyncio
import contextlib
import re

import pytest
import zmq

from irclient import AsyncClient, Client, wire
from irclient.errors import LimitError, NotFound
from tests.support.clients import Awaited
from tests.support.running import ROOT, Running, until

DOCS = [
    {"text": "Descale the machine when the orange lamp blinks.", "meta": {"page": 12}},
    "The quagga tank holds 1.8 litres.",
]
# Two of these are what a client may have; sixteen, what all may.
HALF = ["tide " * (4 * 1024 * 1024 // 5)]


@pytest.fixture
def roomy(home):
    """Give a daemon that takes half of what a client may have in one message."""
    home.config.write_text('embedder = "hashing"\n[serve]\nmax_message_bytes = 5000000\n')
    with Running(home) as running:
        yield running


@pytest.mark.shared_daemon
def test_documents_of_one_request_are_ranked_and_forgotten(daemon, home):
    with home.client() as client:
        (found,) = client.discover_in(DOCS, "a blinking orange lamp")
        assert (found.position, found.text, found.meta) == (0, DOCS[0]["text"], {"page": 12})
        (full,) = client.discover_in(DOCS, "tanks", top_k=1, contract="full")
        assert full.position == 1
        with pytest.raises(NotFound):
            client.discover_in("0" * 16, "lamp")


@pytest.mark.shared_daemon
def test_a_client_asks_what_it_registered_and_another_cannot(daemon, home):
    with home.client() as mine, home.client() as other:
        handle = mine.register_docs(DOCS)
        assert mine.discover_in(handle, "orange lamp") == mine.discover_in(DOCS, "orange lamp")
        for ask in (lambda: other.discover_in(handle, "lamp"), lambda: other.drop_docs(handle)):
            with pytest.raises(NotFound, match="on this connection"):
                ask()
        assert mine.drop_docs(handle) == 2
        with pytest.raises(NotFound):
            mine.discover_in(handle, "lamp")


def test_documents_go_with_the_connection_and_with_the_daemon(daemon, home):
    with home.client() as client:
        handle = client.register_docs(DOCS)
        client.close()
        with pytest.raises(NotFound):
            client.discover_in(handle, "lamp")
        handle = client.register_docs(DOCS)
        daemon.kill()
        with Running(home), pytest.raises(NotFound, match="no documents are registered"):
            client.discover_in(handle, "lamp")


@pytest.mark.shared_daemon
def test_tasks_of_one_async_client_share_what_it_registered(daemon, home):
    async def asked():
        async with AsyncClient(str(home.socket)) as client:
            handle = await client.register_docs(DOCS)
            texts = ("orange lamp", "litres in a tank")
            found = await asyncio.gather(*(client.discover_in(handle, each) for each in texts))
            return [each[0].position for each in found], await client.drop_docs(handle)

    assert asyncio.run(asked()) == ([0, 1], 2)


@pytest.mark.parametrize("kind", [Client, Awaited])
@pytest.mark.shared_daemon
def test_a_refusal_by_a_limit_leaves_what_was_registered(daemon, home, kind):
    client = kind(str(home.socket))
    handle = client.register_docs(DOCS)
    with pytest.raises(LimitError):
        client.register_docs([""] * 10_001)
    with pytest.raises(LimitError):
        client.discover_in(["a " * 2_500_000], "a")
    assert client.drop_docs(handle) == 2
    client.close()


def test_registered_documents_are_in_nothing_else_that_the_daemon_says_or_writes(daemon, home):
    with home.client() as client, client.events(timeout=2) as events:
        handle = client.register_docs(DOCS)
        for contract in ("bm25", "full"):
            assert client.discover_in(handle, "quagga", contract=contract)
        said = [client.status(profile=True), client.artifacts(), client.search("quagga tank")]
        said += [client.failures(), *map(str, events)]
        said.append(home.irc("ls").stdout)
        for corpus in client.status().corpora:
            said.append(client.info(corpus.name))
        answered = [hit for each in said[2:3] for hit in each.results]
    assert "litres" not in str(said)
    assert "quagga" not in str(answered)
    written = [path for path in home.path.rglob("*") if path.is_file()]
    assert written
    assert [path for path in written if b"quagga" in path.read_bytes().lower()] == []
    daemon.process.terminate()
    assert "quagga" not in daemon.process.communicate(timeout=60)[1]


def test_a_client_has_eight_mebibytes_of_documents_and_no_more(roomy, home):
    with home.client(timeout=60) as client:
        client.register_docs(HALF)
        handle = client.register_docs(HALF)
        with pytest.raises(LimitError, match="bytes of documents, the limit is 8,388,608"):
            client.register_docs(["a"] * 20)
        client.drop_docs(handle)
        assert client.register_docs(["a"] * 20)


def test_all_clients_together_have_sixty_four_mebibytes_and_one_that_leaves_makes_room(roomy, home):
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(home.client(timeout=60)) for _ in range(9)]
        for client in clients[:8]:
            client.register_docs(HALF)
            client.register_docs(HALF)
        with pytest.raises(LimitError, match="the documents of all clients together"):
            clients[8].register_docs(HALF)
        clients[0].close()

        def there_is_room():
            with contextlib.suppress(LimitError):
                return bool(clients[8].register_docs(HALF))

        until(there_is_room)


@pytest.mark.shared_daemon
def test_the_example_of_the_clients_guide_runs(daemon, home, monkeypatch):
    guide = (ROOT / "docs/client.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", guide, re.S)
    (code,) = (block for block in blocks if "register_docs(" in block)
    monkeypatch.setenv("IRDAEMON_SOCKET", str(home.socket))
    told = []
    exec(code, {"print": lambda *words: told.append(words)})
    assert told[0][:2] == ("Descale the machine when the orange lamp blinks.", {"page": 12})


@pytest.mark.shared_daemon
def test_who_takes_over_the_identity_of_a_connection_does_not_get_its_documents(daemon, home):
    with zmq.Context() as context:
        with named(context, home) as dealer:
            handle = answer(dealer, "register_docs", docs=DOCS).unwrap()
            assert answer(dealer, "discover_in", docs=handle, query="lamp").unwrap()

        def is_not_found():
            # libzmq turns a second connection of an identity away until the first is gone.
            with named(context, home) as dealer:
                got = answer(dealer, "discover_in", 500, docs=handle, query="lamp")
            return got is not None and isinstance(got.error, NotFound)

        until(is_not_found)


@contextlib.contextmanager
def named(context, home):
    """Give a connection whose identity is chosen by its client."""
    with context.socket(zmq.DEALER) as dealer:
        dealer.routing_id, dealer.linger = b"chosen", 0
        dealer.connect(f"ipc://{home.socket}")
        yield dealer


def answer(dealer, op, wait_ms=10_000, **args):
    """Return the reply to a request, None where none comes in time."""
    dealer.send(wire.pack_request(wire.Request(1, op, args)))
    return wire.read_reply(dealer.recv()) if dealer.poll(wait_ms) else None
