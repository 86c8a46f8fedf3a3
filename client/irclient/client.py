"""The client: one method for each operation of the wire.

    with Client() as client:
        answer = client.discover(Query("fill a pdf form"))

A call sends one request on a kept socket and waits for its reply until the deadline. Where nothing
accepts a connection it gives up sooner.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any

import zmq

from irclient import places, wire
from irclient.errors import ProtocolError, Timeout, Unavailable, Unreachable
from irclient.keys import Keys, read_keys, read_private
from irclient.places import events_path, is_remote
from irclient.types import Disclosure, Query, Selection

_CONNECT_S = 2.0


class Client:
    """Talk to the daemon at `endpoint` (a socket path; the usual one by default).

    `tcp://HOST:PORT` needs a file of `keys` (else IRDAEMON_KEYS names it). `token` is the file of a
    token to ask with (else IRDAEMON_TOKEN). `timeout` is in seconds and holds for each call. Not to
    be shared between threads.
    """

    def __init__(
        self, endpoint: str | None = None, timeout: float = 10.0, keys: str = "", token: str = ""
    ):
        self.endpoint = endpoint or places.endpoint()
        self.timeout = timeout
        self._keys = _keys(keys) if is_remote(self.endpoint) else None
        self._token = _token(token)
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context.instance()
        self._socket: zmq.Socket[bytes] | None = None
        self._numbers = itertools.count(1)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; a later call opens it again."""
        if self._socket is not None:
            self._socket.close(linger=0)
            self._socket = None

    # -- operations ------------------------------------------------------------------------------

    def ping(self) -> dict[str, Any]:
        """Return the daemon's version, protocol and pid."""
        return self._mapping("ping", {})

    def discover(self, query: Query) -> Selection:
        """Return the few artifacts that answer a query, or an abstention and its reason."""
        return Selection.from_dict(self._mapping("discover", query.to_dict(), _waiting(query)))

    def search(self, query: Query) -> Selection:
        """Return the ranked candidates of a query, without selection."""
        return Selection.from_dict(self._mapping("search", query.to_dict(), _waiting(query)))

    def explain(self, query: Query, item: str = "") -> dict[str, Any]:
        """Return what each stage of a query did, and what became of one artifact (CORPUS/ID)."""
        return self._mapping("explain", {**query.to_dict(), "item": item})

    def eval(
        self, cases: Sequence[Mapping[str, Any]], query: Query, baseline: bool = False
    ) -> dict[str, Any]:
        """Return how good the answers to cases {query, gold, ...} are, asked as `query` is.

        With `baseline`, also what plain BM25 would find.
        """
        args = {**query.to_dict(), "cases": list(cases), "baseline": baseline}
        return self._mapping("eval", args)

    def disclose(
        self, references: Sequence[str], level: str = "body", expand: str = "none"
    ) -> list[Disclosure]:
        """Return the payload of artifacts named CORPUS/ID, expanded as on a Query."""
        args = {"references": list(references), "level": level, "expand": expand}
        found = self._list("disclose", args)
        return [Disclosure.from_dict(each) for each in found]

    def records(self, reference: str) -> list[dict[str, Any]]:
        """Return the records of one artifact in plan order."""
        return self._list("records", {"reference": reference})

    def status(self, profile: bool = False) -> dict[str, Any]:
        """Return version, pid, uptime, generation, queue and the state of every corpus.

        With `profile`, also how long each stage of queries and jobs takes.
        """
        return self._mapping("status", {"profile": profile})

    def failures(self, corpus: str | None = None) -> list[dict[str, Any]]:
        """Return what could not be read, why, and since when."""
        return self._list("failures", {"corpus": corpus})

    def info(self, corpus: str) -> dict[str, Any]:
        """Return what is known of one corpus."""
        return self._mapping("info", {"corpus": corpus})

    def build(
        self, corpus: str | None = None, full: bool = False, prune: bool = False
    ) -> list[int]:
        """Ask for a whole look at a corpus, or at all; return the numbers of the jobs."""
        args = {"corpus": corpus, "full": full, "prune": prune}
        return [int(number) for number in self._list("build", args)]

    def progress(self, job: int) -> dict[str, Any]:
        """Return how far a job is."""
        return self._mapping("progress", {"job": job})

    def wait(self, generation: int, wait_ms: float = 1000.0) -> dict[str, Any]:
        """Wait until a generation is served; return the one that is, and whether it was reached."""
        args = {"generation": generation, "wait_ms": wait_ms}
        return self._mapping("wait", args, wait_ms / 1e3)

    def add(self, name: str, kind: str, roots: Sequence[str]) -> list[int]:
        """Write a corpus into the configuration and begin to index it; return the jobs."""
        args = {"name": name, "kind": kind, "roots": list(roots)}
        return [int(number) for number in self._list("add", args)]

    def rm(self, name: str) -> list[int]:
        """Take a corpus out of the configuration and forget it; return the jobs."""
        return [int(number) for number in self._list("rm", {"name": name})]

    def reload(self) -> list[int]:
        """Make the daemon read its configuration again; return the jobs."""
        return [int(number) for number in self._list("reload", {})]

    def events(self, topics: Sequence[str] = ()) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield (topic, data) of the daemon's events as they happen, of some topics or of all."""
        with self._context.socket(zmq.SUB) as socket:
            for topic in topics or ("",):
                socket.subscribe(topic)
            socket.connect(f"ipc://{self._events()}")
            while True:
                frames = socket.recv_multipart()
                yield frames[0].decode(), wire.unpack_event(frames[1])

    def _events(self) -> str:
        if self._keys is None:
            return events_path(self.endpoint)
        raise Unavailable("events are told on the daemon's own machine only", "irc status asks")

    # -- one call --------------------------------------------------------------------------------

    def _mapping(self, op: str, args: Mapping[str, Any], waiting: float = 0.0) -> dict[str, Any]:
        result = self.call(op, args, waiting)
        if not isinstance(result, dict):
            raise ProtocolError(f"the reply to {op} is not a map")
        return result

    def _list(self, op: str, args: Mapping[str, Any]) -> list[Any]:
        result = self.call(op, args)
        if not isinstance(result, list):
            raise ProtocolError(f"the reply to {op} is not a list")
        return result

    def call(self, op: str, args: Mapping[str, Any], waiting: float = 0.0) -> Any:
        """Run one operation by name and return its plain result.

        `waiting` is how many seconds longer than usual the daemon was asked to take. Raises the
        error the daemon sent; Unreachable or Timeout when no reply came in time.
        """
        if self._keys is None and not os.path.exists(self.endpoint):
            raise Unreachable(f"no daemon at {self.endpoint}", "irdaemon start --detach")
        allowed = self.timeout + waiting
        deadline = time.monotonic() + allowed
        number = next(self._numbers)
        data = wire.pack_request(wire.Request(number, op, args, 1000 * allowed, self._token))
        try:
            self._send(data, min(deadline, time.monotonic() + _CONNECT_S))
            return self._receive(number, deadline)
        except (Timeout, Unreachable):
            self.close()  # a late reply must not be taken for that of the next call
            raise

    def _send(self, data: bytes, deadline: float) -> None:
        socket = self._connected()
        socket.sndtimeo = _milliseconds(deadline)
        try:
            socket.send(data)
        except zmq.Again:
            raise Unreachable(f"nothing answers at {self.endpoint}", self._hint) from None

    @property
    def _hint(self) -> str:
        if self._keys is None:
            return "irdaemon start --detach"
        return "is it served there, and does the daemon know this key? (irdaemon keys, there)"

    def _receive(self, number: int, deadline: float) -> Any:
        socket = self._connected()
        while socket.poll(_milliseconds(deadline)):
            answered, result = wire.unpack_reply(socket.recv())
            if answered == number:
                return result
        raise Timeout(
            f"the daemon did not answer within {self.timeout:g} s", "irc status shows its load"
        )

    def _connected(self) -> zmq.Socket[bytes]:
        if self._socket is None:
            socket = self._context.socket(zmq.DEALER)
            socket.linger = 0
            # Without this a request to a dead socket would wait for a later daemon.
            socket.immediate = 1
            if self._keys is None:
                socket.connect(f"ipc://{self.endpoint}")
            else:
                _secure(socket, self._keys)
                socket.connect(self.endpoint)
            self._socket = socket
        return self._socket


def _keys(path: str) -> Keys:
    path = path or os.environ.get("IRDAEMON_KEYS", "")
    if not path:
        raise Unavailable(
            "a daemon is asked over TCP only with keys", "set IRDAEMON_KEYS to the file of yours"
        )
    keys = read_keys(path)
    if not keys.server:
        raise Unavailable(f"{path} has no server key: whose answers to trust", "add it there")
    return keys


def _token(path: str) -> str:
    path = path or os.environ.get("IRDAEMON_TOKEN", "")
    return read_private(path).strip() if path else ""


def _secure(socket: zmq.Socket[bytes], keys: Keys) -> None:
    socket.ipv6 = True
    socket.curve_serverkey = keys.server.encode()
    socket.curve_publickey = keys.public.encode()
    socket.curve_secretkey = keys.secret.encode()


def _waiting(query: Query) -> float:
    return query.wait_ms / 1e3 if query.fresh else 0.0


def _milliseconds(deadline: float) -> int:
    return max(1, int((deadline - time.monotonic()) * 1000))
