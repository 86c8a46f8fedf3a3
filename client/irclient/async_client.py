"""The client for asyncio: the operations of `Client`, as coroutines.

    async with AsyncClient() as client:
        answer = await client.discover(Query("fill a pdf form"))

Calls may run at the same time: they share one connection, and replies find their call by number. A
call that is cancelled or late leaves the others alone.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

import zmq.asyncio

from irclient import calls, wire
from irclient.access import access
from irclient.async_link import AsyncLink
from irclient.async_subscription import AsyncSubscription
from irclient.calls import Call
from irclient.errors import Lost
from irclient.link import CONNECT_S, nobody, silent, too_late
from irclient.types import Disclosure, Query, Selection

T = TypeVar("T")


class AsyncClient:
    """Talk to the daemon at `endpoint` (a socket path; the usual one by default).

    `tcp://HOST:PORT` needs a file of `keys` (else IRDAEMON_KEYS names it); `token` is the file of a
    token to ask with (else IRDAEMON_TOKEN). `timeout` is in seconds and holds for each call.
    It belongs to the event loop that it is first used in, and to that loop's thread.
    """

    def __init__(
        self, endpoint: str | None = None, timeout: float = 10.0, keys: str = "", token: str = ""
    ):
        self._access = access(endpoint, keys, token)
        self.endpoint = self._access.endpoint
        self.timeout = timeout
        self._context = zmq.asyncio.Context.instance()
        self._link: AsyncLink | None = None
        self._numbers = itertools.count(1)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection; calls under way are Unreachable, a later one opens it again."""
        if self._link is not None:
            link, self._link = self._link, None
            await link.close()

    # -- operations ------------------------------------------------------------------------------

    async def ping(self) -> dict[str, Any]:
        """Return the daemon's version, protocol and pid."""
        return await self._run(calls.ping())

    async def discover(self, query: Query, session: str = "") -> Selection:
        """Return the few artifacts that answer a query, or an abstention and its reason.

        Given a session, what that was shown before is left out; see `impressions`.
        """
        return await self._run(calls.discover(query, session))

    async def search(self, query: Query) -> Selection:
        """Return the ranked candidates of a query, without selection."""
        return await self._run(calls.search(query))

    async def explain(self, query: Query, item: str = "") -> dict[str, Any]:
        """Return what each stage of a query did, and what became of one artifact (CORPUS/ID)."""
        return await self._run(calls.explain(query, item))

    async def eval(
        self, cases: Sequence[Mapping[str, Any]], query: Query, baseline: bool = False
    ) -> dict[str, Any]:
        """Return how good the answers to cases {query, gold, ...} are, asked as `query` is.

        With `baseline`, also what plain BM25 would find.
        """
        return await self._run(calls.evaluate(cases, query, baseline))

    async def disclose(
        self, references: Sequence[str], level: str = "body", expand: str = "none"
    ) -> list[Disclosure]:
        """Return the payload of artifacts named CORPUS/ID, expanded as on a Query."""
        return await self._run(calls.disclose(references, level, expand))

    async def records(self, reference: str) -> list[dict[str, Any]]:
        """Return the records of one artifact in plan order."""
        return await self._run(calls.records(reference))

    async def artifacts(
        self, corpus: str | None = None, under: str = "", after: str = "", limit: int = 100
    ) -> list[dict[str, Any]]:
        """Return what is held, in the order of references (CORPUS/ID), beyond the one `after`.

        Each with corpus, artifact_id, name, pointer, indexed_at (Unix seconds); with `under`, only
        what lies at that path or below it. At most `limit` of them, 1 to 1,000.
        """
        return await self._run(calls.artifacts(corpus, under, after, limit))

    async def status(self, profile: bool = False) -> dict[str, Any]:
        """Return version, pid, uptime, generation, queue and the state of every corpus.

        With `profile`, also how long each stage of queries and jobs takes.
        """
        return await self._run(calls.status(profile))

    async def failures(self, corpus: str | None = None) -> list[dict[str, Any]]:
        """Return what could not be read, why, and since when."""
        return await self._run(calls.failures(corpus))

    async def secrets(self, corpus: str | None = None) -> list[dict[str, Any]]:
        """Return where secrets lie in what was indexed: corpus, path, line and kind."""
        return await self._run(calls.secrets(corpus))

    async def audit(self, corpus: str | None = None) -> list[dict[str, Any]]:
        """Return the artifacts whose text changed since it was last disclosed, with a diff."""
        return await self._run(calls.audit(corpus))

    async def info(self, corpus: str) -> dict[str, Any]:
        """Return what is known of one corpus."""
        return await self._run(calls.info(corpus))

    async def build(
        self, corpus: str | None = None, full: bool = False, prune: bool = False
    ) -> list[int]:
        """Ask for a whole look at a corpus, or at all; return the numbers of the jobs."""
        return await self._run(calls.build(corpus, full, prune))

    async def hint(self, path: str) -> list[int]:
        """Ask for a look at one path below a corpus' root; return the numbers of the jobs."""
        return await self._run(calls.hint(path))

    async def impressions(
        self, session: str, references: Sequence[str] = ()
    ) -> list[dict[str, Any]]:
        """Note items (CORPUS/ID) as shown to a session; return all that it was shown, and when."""
        return await self._run(calls.impressions(session, references))

    async def progress(self, job: int) -> dict[str, Any]:
        """Return how far a job is."""
        return await self._run(calls.progress(job))

    async def wait(self, generation: int, wait_ms: float = 1000.0) -> dict[str, Any]:
        """Wait until a generation is served; return the one that is, and whether it was reached."""
        return await self._run(calls.wait(generation, wait_ms))

    async def add(self, name: str, kind: str, roots: Sequence[str]) -> list[int]:
        """Write a corpus into the configuration and begin to index it; return the jobs."""
        return await self._run(calls.add(name, kind, roots))

    async def rm(self, name: str) -> list[int]:
        """Take a corpus out of the configuration and forget it; return the jobs."""
        return await self._run(calls.rm(name))

    async def reload(self) -> list[int]:
        """Make the daemon read its configuration again; return the jobs."""
        return await self._run(calls.reload())

    def events(self, topics: Sequence[str] = (), timeout: float | None = None) -> AsyncSubscription:
        """Return the daemon's events from now on, of some topics or of all.

        They end after `timeout` seconds without one; None: never. Raises Unreachable where there is
        no daemon.
        """
        return AsyncSubscription(self._context, self.endpoint, topics, timeout)

    # -- one call --------------------------------------------------------------------------------

    async def call(self, op: str, args: Mapping[str, Any], waiting: float = 0.0) -> Any:
        """Run one operation by name and return its plain result; it is never sent again.

        `waiting` is how many seconds longer than usual the daemon was asked to take. Raises the
        error the daemon sent; Unreachable, Timeout or Lost when no reply came.
        """
        return await self._run(calls.named(op, args, waiting))

    async def _run(self, call: Call[T]) -> T:
        if not self._access.there:
            raise nobody(self.endpoint)
        allowed = self.timeout + call.waiting
        deadline = asyncio.get_running_loop().time() + allowed
        number = next(self._numbers)
        request = wire.Request(number, call.op, call.args, 1000 * allowed, self._access.token)
        data = wire.pack_request(request)
        try:
            result = await self._exchange(number, data, deadline)
        except Lost:
            if not call.repeatable:
                raise
            result = await self._exchange(number, data, deadline)
        return call.answer(result)

    async def _exchange(self, number: int, data: bytes, deadline: float) -> Any:
        link = self._connected()
        asked = link.ask(number, data)
        try:
            now = asyncio.get_running_loop().time()
            await asyncio.wait((asked.reply,), timeout=min(CONNECT_S, deadline - now))
            if not asked.is_sent:
                raise silent(self.endpoint)
            now = asyncio.get_running_loop().time()
            await asyncio.wait((asked.reply,), timeout=deadline - now)
            if not asked.reply.done():
                raise too_late(self.timeout)
            return asked.reply.result().value()
        finally:
            link.forget(number)

    def _connected(self) -> AsyncLink:
        if self._link is None or self._link.ended:
            self._link = AsyncLink(self._context, self._access)
        return self._link
