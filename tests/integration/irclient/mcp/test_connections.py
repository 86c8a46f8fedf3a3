"""HTTP for MCP with real sockets: no client without the token can keep out one that has it."""

import asyncio
import contextlib
import socket
import threading
import time

import pytest
from starlette.responses import PlainTextResponse

from irclient.mcp.http import Beside, Guarded
from irclient.mcp.listening import Admission, bind_port, make_http_server
from tests.support.asgi import answered

TOKEN = "a-token-of-some-length"
HEAD = f"POST /mcp HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n"
LENGTH = "Content-Length: 4\r\n\r\n"
UNTIL_CUT = 10.0


async def answering(scope, receive, send):
    """Answer with the body; under /slow with a stream that lasts, under /held when told to."""
    if scope["type"] != "http":
        return
    body = (await receive())["body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    if scope["path"] == "/slow":
        for _ in range(8):
            await send({"type": "http.response.body", "body": b"tick ", "more_body": True})
            await asyncio.sleep(0.1)
    if scope["path"] == "/held":
        await receive()
    await send({"type": "http.response.body", "body": b"<" + body + b">"})


@pytest.fixture
def serving(monkeypatch):
    """Return a function that serves with limits and returns the address."""
    monkeypatch.setattr("irclient.mcp.listening._LOOKS_EVERY_S", 0.02)
    with contextlib.ExitStack() as ends:

        def serve(admission, at_once=4):
            listener = ends.enter_context(bind_port(0))
            running = make_http_server(Guarded(answering, TOKEN, at_once), admission)
            thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]})
            thread.start()
            ends.callback(thread.join)
            ends.callback(setattr, running, "should_exit", True)
            while not running.started:
                time.sleep(0.005)
            return listener.getsockname()

        yield serve


def connected(address, said=""):
    made = socket.create_connection(address, timeout=UNTIL_CUT)
    made.sendall(said.encode())
    return made


def told(connection):
    """Return all that is said until the connection ends."""
    parts = []
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(65_536):
            parts.append(part)
    return b"".join(parts).decode()


def asked(address, path="/mcp"):
    """Ask as who has the token does; return the answer."""
    head = HEAD.replace("/mcp", path) + "Connection: close\r\n"
    with connected(address, head + LENGTH + "ping") as connection:
        return told(connection)


STRANGERS = {
    "nothing said": "",
    "half a head": "POST /mcp HTTP/1.1\r\nHost: x\r\n",
    "half a body": "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\nhalf",
    "the wrong token": f"POST /mcp HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer no\r\n{LENGTH}ping",
}


@pytest.mark.parametrize("said", STRANGERS.values(), ids=STRANGERS)
@pytest.mark.parametrize("many", [80, 500])
def test_however_many_connect_without_the_token_the_token_is_answered(serving, said, many):
    address = serving(Admission(within=60.0))
    with contextlib.ExitStack() as held:
        for number in range(many):
            held.enter_context(connected(address, said))
            if number % 100 == 79:
                assert "<ping>" in asked(address)
        assert "<ping>" in asked(address)


def test_the_oldest_of_too_many_without_the_token_is_cut_and_who_showed_the_token_is_not(serving):
    address = serving(Admission(within=60.0, unauthenticated=3))
    with contextlib.ExitStack() as held:
        known = held.enter_context(connected(address, HEAD + LENGTH + "ping"))
        assert "200 OK" in known.recv(65_536).decode()
        silent = [held.enter_context(connected(address)) for _ in range(4)]
        assert told(silent[0]) == ""
        known.sendall((HEAD + "Connection: close\r\n" + LENGTH + "more").encode())
        assert "<more>" in told(known)
        silent[3].sendall((HEAD + "Connection: close\r\n" + LENGTH + "late").encode())
        assert "<late>" in told(silent[3])


LATE = {
    "nothing": "",
    "half a head": HEAD,
    "half a body": HEAD + LENGTH + "pi",
    "half a second head": HEAD + LENGTH + "ping" + HEAD,
}


@pytest.mark.parametrize("said", LATE.values(), ids=LATE)
def test_a_request_that_does_not_arrive_in_time_is_cut(serving, said):
    address = serving(Admission(within=0.2))
    with connected(address, said) as connection:
        assert "ping" not in told(connection).replace("<ping>", "")


def test_a_head_that_comes_byte_by_byte_is_cut_all_the_same(serving):
    address = serving(Admission(within=0.3))
    with connected(address) as connection, contextlib.suppress(OSError):
        for byte in HEAD.encode() * 100:
            connection.sendall(bytes([byte]))
            time.sleep(0.01)
        pytest.fail("it was never cut")


def test_an_answer_that_lasts_longer_than_a_request_may_take_is_not_cut(serving):
    address = serving(Admission(within=0.2))
    assert "<ping>" in asked(address, "/slow")


def test_as_many_as_may_ask_at_once_is_counted_behind_the_token(serving):
    address = serving(Admission(within=60.0), at_once=1)
    with connected(address, HEAD.replace("/mcp", "/held") + LENGTH + "ping") as first:
        assert "200 OK" in first.recv(65_536).decode()
        for _ in range(5):
            with connected(
                address, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
            ) as one:
                assert "401" in told(one)
        assert "503" in asked(address)
    end = time.monotonic() + UNTIL_CUT
    while "503" in asked(address):
        assert time.monotonic() < end


def test_the_page_beside_mcp_gets_all_requests_but_those_at_its_path():
    def naming(name):
        return PlainTextResponse(name)

    app = Beside(naming("mcp"), naming("page"))
    told = {path: asyncio.run(answered(app, path)).text for path in ("/mcp", "/mcp/", "/now", "/")}
    assert told == {"/mcp": "mcp", "/mcp/": "mcp", "/now": "page", "/": "page"}
    assert asyncio.run(answered(app, "/mcpx")).text == "page"


def test_a_server_that_nobody_asks_looks_once_a_second_whether_it_is_to_end(monkeypatch):
    running, slept = make_http_server(answering, Admission()), []

    async def sleep(seconds):
        slept.append(seconds)
        running.should_exit = len(slept) == 3

    monkeypatch.setattr("irclient.mcp.listening.asyncio.sleep", sleep)
    running.config.load()
    asyncio.run(running.main_loop())
    assert slept == [1.0, 1.0, 1.0]
