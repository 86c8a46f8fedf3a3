"""The client: one method for each operation of the wire.

    with Client() as client:
        answer = client.discover(Query("fill a pdf form"))

A call sends one request on a kept connection and waits for its reply until the deadline. Where
nothing accepts a connection it gives up sooner. When the daemon goes away before it answered, the
request is sent once more to the one that comes after it, if to ask twice is as good as once.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import zmq

from irclient import calls, wire
from irclient.access import access
from irclient.calls import Call
from irclient.errors import LimitError, Lost, Unreachable
from irclient.link import CONNECT_S, Link, lost, nobody, silent, too_late
from irclient.types import Disclosure, Query, Selection

if TYPE_CHECKING:
    from irclient.subscription import Subscription

T = TypeVar("T")


class Client:
    """Talk to the daemon at `endpoint` (a socket path; the usual one by default).

    `tcp://HOST:PORT` needs a file of `keys` (else IRDAEMON_KEYS names it); `token` is the file of a
    token to ask with (else IRDAEMON_TOKEN). `timeout` is in seconds and holds for each call.
    Not to be shared between threads: a client for each costs little.
    """

    def __init__(
        self, endpoint: str | None = None, timeout: float = 10.0, keys: str = "", token: str = ""
    ):
        self._access = access(endpoint, keys, token)
        self.endpoint = self._access.endpoint
        self.timeout = timeout
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context.instance()
        self._link: Link | None = None
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
        if self._link is not None:
            self._link.close()
            self._link = None

    # -- operations ------------------------------------------------------------------------------

    def ping(self) -> dict[str, Any]:
        """Return the daemon's version, protocol and pid."""
        return self._run(calls.ping())

    def discover(self, query: Query, session: str = "") -> Selection:
        """Return the few artifacts that answer a query, or an abstention and its reason.

        Given a session, what that was shown before is left out; see `impressions`.
        """
        return self._run(calls.discover(query, session))

    def search(self, query: Query) -> Selection:
        """Return the ranked candidates of a query, without selection."""
        return self._run(calls.search(query))

    def explain(self, query: Query, item: str = "") -> dict[str, Any]:
        """Return what each stage of a query did, and what became of one artifact (CORPUS/ID)."""
        return self._run(calls.explain(query, item))

    def eval(
        self, cases: Sequence[Mapping[str, Any]], query: Query, baseline: bool = False
    ) -> dict[str, Any]:
        """Return how good the answers to cases {query, gold, ...} are, asked as `query` is.

        With `baseline`, also what plain BM25 would find.
        """
        return self._run(calls.evaluate(cases, query, baseline))

    def disclose(
        self, references: Sequence[str], level: str = "body", expand: str = "none"
    ) -> list[Disclosure]:
        """Return the payload of artifacts named CORPUS/ID, expanded as on a Query."""
        return self._run(calls.disclose(references, level, expand))

    def records(self, reference: str) -> list[dict[str, Any]]:
        """Return the records of one artifact in plan order."""
        return self._run(calls.records(reference))

    def artifacts(
        self, corpus: str | None = None, under: str = "", after: str = "", limit: int = 100
    ) -> list[dict[str, Any]]:
        """Return what is held, in the order of references (CORPUS/ID), beyond the one `after`.

        Each with corpus, artifact_id, name, pointer, indexed_at (Unix seconds); with `under`, only
        what lies at that path or below it. At most `limit` of them, 1 to 1,000.
        """
        return self._run(calls.artifacts(corpus, under, after, limit))

    def status(self, profile: bool = False) -> dict[str, Any]:
        """Return version, pid, uptime, generation, queue and the state of every corpus.

        With `profile`, also how long each stage of queries and jobs takes.
        """
        return self._run(calls.status(profile))

    def failures(self, corpus: str | None = None) -> list[dict[str, Any]]:
        """Return what could not be read, why, and since when."""
        return self._run(calls.failures(corpus))

    def secrets(self, corpus: str | None = None) -> list[dict[str, Any]]:
        """Return where secrets lie in what was indexed: corpus, path, line and kind."""
        return self._run(calls.secrets(corpus))

    def audit(self, corpus: str | None = None) -> list[dict[str, Any]]:
        """Return the artifacts whose text changed since it was last disclosed, with a diff."""
        return self._run(calls.audit(corpus))

    def info(self, corpus: str) -> dict[str, Any]:
        """Return what is known of one corpus."""
        return self._run(calls.info(corpus))

    def build(
        self, corpus: str | None = None, full: bool = False, prune: bool = False
    ) -> list[int]:
        """Ask for a whole look at a corpus, or at all; return the numbers of the jobs."""
        return self._run(calls.build(corpus, full, prune))

    def hint(self, path: str) -> list[int]:
        """Ask for a look at one path below a corpus' root; return the numbers of the jobs."""
        return self._run(calls.hint(path))

    def impressions(self, session: str, references: Sequence[str] = ()) -> list[dict[str, Any]]:
        """Note items (CORPUS/ID) as shown to a session; return all that it was shown, and when."""
        return self._run(calls.impressions(session, references))

    def progress(self, job: int) -> dict[str, Any]:
        """Return how far a job is."""
        return self._run(calls.progress(job))

    def wait(self, generation: int, wait_ms: float = 1000.0) -> dict[str, Any]:
        """Wait until a generation is served; return the one that is, and whether it was reached."""
        return self._run(calls.wait(generation, wait_ms))

    def add(self, name: str, kind: str, roots: Sequence[str]) -> list[int]:
        """Write a corpus into the configuration and begin to index it; return the jobs."""
        return self._run(calls.add(name, kind, roots))

    def rm(self, name: str) -> list[int]:
        """Take a corpus out of the configuration and forget it; return the jobs."""
        return self._run(calls.rm(name))

    def reload(self) -> list[int]:
        """Make the daemon read its configuration again; return the jobs."""
        return self._run(calls.reload())

    def events(self, topics: Sequence[str] = (), timeout: float | None = None) -> Subscription:
        """Return the daemon's events from now on, of some topics or of all.

        They end after `timeout` seconds without one; None: never. Raises Unreachable where there is
        no daemon.
        """
        # Not sooner: pyzmq's monitors bring all of asyncio, 25 ms that no other call needs.
        from irclient.subscription import Subscription

        return Subscription(self._context, self.endpoint, topics, timeout)

    # -- one call --------------------------------------------------------------------------------

    def call(self, op: str, args: Mapping[str, Any], waiting: float = 0.0) -> Any:
        """Run one operation by name and return its plain result; it is never sent again.

        `waiting` is how many seconds longer than usual the daemon was asked to take. Raises the
        error the daemon sent; Unreachable, Timeout or Lost when no reply came.
        """
        return self._run(calls.named(op, args, waiting))

    def _run(self, call: Call[T]) -> T:
        if not self._access.there:
            raise nobody(self.endpoint)
        allowed = self.timeout + call.waiting
        deadline = time.monotonic() + allowed
        number = next(self._numbers)
        request = wire.Request(number, call.op, call.args, 1000 * allowed, self._access.token)
        data = wire.pack_request(request)
        try:
            result = self._exchange(number, data, deadline)
        except Lost:
            if not call.repeatable:
                raise
            result = self._exchange(number, data, deadline)
        return call.answer(result)

    def _exchange(self, number: int, data: bytes, deadline: float) -> Any:
        link = self._connected()
        try:
            self._send(link, data, min(deadline, time.monotonic() + CONNECT_S))
            return self._receive(link, number, deadline, len(data))
        except (Unreachable, LimitError):
            self.close()  # a late reply must not be taken for that of the next call
            raise

    def _send(self, link: Link, data: bytes, deadline: float) -> None:
        link.socket.sndtimeo = _milliseconds(deadline)
        try:
            link.socket.send(data)
        except zmq.Again:
            raise silent(self.endpoint) from None

    def _receive(self, link: Link, number: int, deadline: float, size: int) -> Any:
        while ready := dict(link.poller.poll(_milliseconds(deadline))):
            if link.socket not in ready:
                raise lost(size)
            reply = wire.read_reply(link.socket.recv())
            if reply.id in (number, 0):  # 0: the daemon could not even read our number
                return reply.value()
        raise too_late(self.timeout)

    def _connected(self) -> Link:
        if self._link is not None and self._link.lost:
            self.close()
        if self._link is None:
            self._link = Link(self._context, self._access, zmq.Poller())
        return self._link


def _milliseconds(deadline: float) -> int:
    return max(1, int((deadline - time.monotonic()) * 1000))
