"""A daemon for tests: it answers from a script, over a real socket, and keeps the requests.

    with FakeDaemon({"discover": selection(hit("pdf"))}) as daemon:
        answer = Client(daemon.endpoint).discover(Query("fill a form"))
    assert answer.results[0].name == "pdf"
    assert daemon.requests[0].args["text"] == "fill a form"

It needs nothing but irclient, and speaks to any client of the wire.
"""

from __future__ import annotations

import os
import queue
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import zmq

from irclient import __version__, wire
from irclient.errors import InternalError, IRError, ProtocolError, QueryError
from irclient.places import SOCKET, events_path
from irclient.types import Hit, Selection, plain_data
from irclient.wire import Request

SILENT = object()
"""An answer that never comes."""
CRASH = object()
"""Instead of an answer every connection is cut, as when the daemon is killed and started again."""

_TICK_MS = 5
_PONG = {"version": __version__, "protocol": wire.PROTOCOL, "pid": os.getpid()}


class FakeDaemon:
    """Serve a mapping of operations to answers in a thread, from `start` or `with` on.

    An answer is plain data or a type of irclient's, an IRError to send, SILENT, CRASH, or a
    function from the arguments to one of these. `ping` has one; what has none is a QueryError.
    `answers` may be changed at any time. `endpoint` is the path for a client, `environment` passes
    it to a program, `requests` are those so far. With another `protocol` it is an older or newer
    daemon, which speaks that.
    """

    def __init__(self, answers: Mapping[str, object] | None = None, protocol: int = wire.PROTOCOL):
        self.answers: dict[str, object] = {"ping": _PONG, **(answers or {})}
        self.protocol = protocol
        self.requests: list[Request] = []
        # Not pytest's own directory: a socket's address holds 107 bytes.
        self._directory = tempfile.TemporaryDirectory(prefix="ir")
        self.endpoint = os.path.join(self._directory.name, SOCKET)
        self.environment = {"IRDAEMON_SOCKET": self.endpoint}
        self._events: queue.SimpleQueue[list[bytes]] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> FakeDaemon:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()
        self._directory.cleanup()

    def start(self) -> None:
        """Begin to serve; it does when this returns."""
        serving = threading.Event()
        self._stopping.clear()
        self._events = queue.SimpleQueue()  # what was not sent before a stop never is
        self._thread = threading.Thread(target=self._run, args=(serving,), daemon=True)
        self._thread.start()
        serving.wait()

    def stop(self) -> None:
        """Stop serving, as a daemon that goes away; `start` brings it back."""
        if self._thread is not None:
            self._stopping.set()
            self._thread.join()
            self._thread = None
            for path in (self.endpoint, events_path(self.endpoint)):
                os.unlink(path)

    def publish(self, topic: str, data: Mapping[str, Any]) -> None:
        """Send an event to every subscriber."""
        self._events.put([topic.encode(), wire.pack_event(data)])

    def _run(self, serving: threading.Event) -> None:
        while not self._stopping.is_set():
            with _bound(self.endpoint) as (router, publisher):
                serving.set()
                self._serve(router, publisher)

    def _serve(self, router: zmq.Socket[bytes], publisher: zmq.Socket[bytes]) -> None:
        """Answer until it is to stop, or to crash."""
        while not self._stopping.is_set():
            while not self._events.empty():
                publisher.send_multipart(self._events.get())
            if not router.poll(_TICK_MS):
                continue
            *route, data = router.recv_multipart()
            number, answer = self._read(data)
            if answer is CRASH:
                return
            if isinstance(answer, IRError):
                reply = wire.pack_error(number, answer, self.protocol)
            elif answer is not SILENT:
                reply = wire.pack_result(number, plain_data(answer), self.protocol)
            else:
                continue
            router.send_multipart([*route, reply])

    def _read(self, data: bytes) -> tuple[int, object]:
        """Return the number of a request and its answer, and keep the request."""
        try:
            request = wire.unpack_request(data)
        except IRError as error:
            return 0, error
        if request.v != self.protocol:
            return request.id, ProtocolError(f"this daemon speaks protocol {self.protocol}")
        self.requests.append(request)
        return request.id, self._answer(request)

    def _answer(self, request: Request) -> object:
        if request.op not in self.answers:
            hint = f'FakeDaemon({{"{request.op}": ...}}) gives it one'
            return QueryError(f"no answer is scripted for {request.op!r}", hint)
        answer = self.answers[request.op]
        try:
            return answer(request.args) if callable(answer) else answer
        except IRError as error:
            return error
        except Exception as error:
            return InternalError(f"the scripted answer to {request.op!r} failed: {error!r}")


def hit(name: str, score: float = 0.8, corpus: str = "skills", summary: str = "") -> Hit:
    """Return a hit with usual values for the rest."""
    pointer = f"/skills/{name}/SKILL.md"
    scores = {"dense": score, "lexical": 10 * score, "fused": 2 * score}
    return Hit(corpus, name, name, "capability", score, scores, summary, pointer, {"name": name})


def selection(*hits: Hit, reason: str = "") -> Selection:
    """Return an answer of these hits; of none, an abstention."""
    return Selection(
        query="",
        mode="hybrid",
        results=hits,
        abstained=not hits,
        reason=reason or ("rel_threshold" if hits else "no_candidates"),
        signals={},
        n_retrieved=len(hits),
        n_selected=len(hits),
        generation=1,
        freshness={"pending": 0, "building": [], "degraded": [], "legs": ["dense", "lexical"]},
        took_ms=1.0,
        tier="hybrid",
    )


@contextmanager
def _bound(endpoint: str) -> Iterator[tuple[zmq.Socket[bytes], zmq.Socket[bytes]]]:
    """Give the two sockets of a daemon."""
    # A context of their own: when it has ended, the paths are free.
    with (
        zmq.Context() as context,
        context.socket(zmq.ROUTER) as router,
        context.socket(zmq.PUB) as publisher,
    ):
        for socket, path in ((router, endpoint), (publisher, events_path(endpoint))):
            socket.bind(f"ipc://{path}")
        yield router, publisher
