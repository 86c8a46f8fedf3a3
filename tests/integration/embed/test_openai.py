"""An embedder that is an endpoint over HTTP."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import ClassVar

import pytest

from irclient.errors import QueryError, Unavailable
from irdaemon.embed import make_embedder


class Endpoint(BaseHTTPRequestHandler):
    seen: ClassVar[list] = []
    fails: ClassVar[list] = []

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        type(self).seen.append((self.path, body, self.headers.get("Authorization")))
        if type(self).fails:
            return self.send_error(type(self).fails.pop())
        rows = [{"index": n, "embedding": [n + 1.0, 0, 0, 0]} for n in range(len(body["input"]))]
        content = json.dumps({"data": rows[::-1]}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


@pytest.fixture
def address():
    Endpoint.seen, Endpoint.fails = [], []
    server = HTTPServer(("127.0.0.1", 0), Endpoint)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"openai:http://127.0.0.1:{server.server_port}/v1#nomic"
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_endpoint_is_asked_in_batches_and_its_rows_are_put_in_order(address, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    embedder = make_embedder(address)
    assert (embedder.id, embedder.dim) == ("openai-nomic-4", 4)
    assert embedder.embed(["a"] * 70).shape == (70, 4)
    path, body, key = Endpoint.seen[-1]
    assert (path, body["model"], len(body["input"]), key) == (
        "/v1/embeddings",
        "nomic",
        6,
        "Bearer secret",
    )


def test_a_busy_endpoint_is_asked_again_and_a_refusal_says_what_to_do(address):
    embedder = make_embedder(address)
    Endpoint.fails = [503]
    assert len(embedder.embed(["a"])) == 1
    Endpoint.fails = [401]
    with pytest.raises(Unavailable) as raised:
        embedder.embed(["a"])
    assert "OPENAI_API_KEY" in raised.value.hint


def test_an_endpoint_that_is_not_there_or_not_an_address_is_an_error():
    with pytest.raises(Unavailable, match="cannot be reached"):
        make_embedder("openai:http://127.0.0.1:9/v1#m")
    with pytest.raises(QueryError, match="is not an embedder"):
        make_embedder("openai:text-embedding-3-small")
