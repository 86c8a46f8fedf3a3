"""Ask an ASGI application without a socket."""

import asyncio
import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Answered:
    status: int
    headers: dict
    body: bytes

    @property
    def text(self):
        return self.body.decode()

    @property
    def data(self):
        return json.loads(self.body)


def request(path, headers, method="GET"):
    path, _, question = path.partition("?")
    named = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    return {
        **{"type": "http", "method": method, "path": path, "raw_path": path.encode()},
        **{"query_string": question.encode(), "headers": named, "http_version": "1.1"},
        **{"scheme": "http", "server": ("127.0.0.1", 80), "client": None, "root_path": ""},
        "asgi": {"version": "3.0"},
    }


async def answered(app, path, headers=(), method="GET"):
    """Return what an application answers."""
    said = []
    body = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive():
        return body.pop() if body else await asyncio.Event().wait()

    async def send(message):
        said.append(message)

    await app(request(path, dict(headers), method), receive, send)
    head = said[0]
    named = {name.decode(): value.decode() for name, value in head["headers"]}
    return Answered(head["status"], named, b"".join(each.get("body", b"") for each in said[1:]))
