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
from typing import TYPE_CHECKING, Any, TypeVar

import zmq.asyncio

from irclient import ops, wire
from irclient.access import access
from irclient.async_link import AsyncLink
from irclient.async_subscription import AsyncSubscription
from irclient.errors import Lost
from irclient.fast.replies import CONNECT_S, no_connection, no_daemon, too_late
from irclient.ops import Op
from irclient.places import may_be_noted
from irclient.types import Disclosure, Query, Selection, as_query

if TYPE_CHECKING:
    from irclient.results import (
        ChangedArtifact,
        CorpusCoverage,
        CorpusInfo,
        CorpusPreview,
        EntryFailure,
        Evaluation,
        Explanation,
        FoundDocument,
        GapReport,
        IndexedArtifact,
        IndexedDirectory,
        JobProgress,
        KnownUse,
        ListingReport,
        MaintenanceTask,
        PingReply,
        SecretLocation,
        ShownItem,
        Status,
        StoredRecord,
        UsageReport,
        WaitResult,
        WrittenDocument,
    )

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

    async def ping(self) -> PingReply:
        """Return the daemon's version, protocol and pid."""
        return await self._run(ops.PING, {})

    async def discover(
        self,
        query: Query | str | Mapping[str, Any],
        session: str = "",
        noted: bool = True,
        variant: str = "",
    ) -> Selection:
        """Return the few artifacts that answer a query or a text, or an abstention and its reason.

        Given a session, what that was shown before is left out; see `impressions`. Unless `noted`,
        or where `may_be_noted` forbids it, the answer leaves no trace in the log of use, which else
        keeps in which `variant` of wording it is shown.
        """
        args = {**as_query(query).to_dict(), "session": session, "variant": variant}
        return await self._run(ops.DISCOVER, {**args, "noted": noted and may_be_noted()})

    async def search(self, query: Query | str | Mapping[str, Any], noted: bool = True) -> Selection:
        """Return the ranked candidates of a query, without selection; `noted` as of discover."""
        args = {**as_query(query).to_dict(), "noted": noted and may_be_noted()}
        return await self._run(ops.SEARCH, args)

    async def explain(self, query: Query | str | Mapping[str, Any], item: str = "") -> Explanation:
        """Return what each stage of a query did, and what became of one artifact (CORPUS/ID)."""
        return await self._run(ops.EXPLAIN, {**as_query(query).to_dict(), "item": item})

    async def eval(
        self,
        cases: Sequence[Mapping[str, Any]],
        query: Query | str | Mapping[str, Any],
        baseline: bool = False,
        curve: bool = False,
        grid: Mapping[str, Sequence[Any]] | None = None,
    ) -> Evaluation:
        """Return how good the answers to cases {query, gold, ...} are, asked as `query` is.

        With `baseline`, also what plain BM25 would find; with `curve`, how often the gold is first
        in smaller catalogues. `grid` has lists of `max_k`, `rel` and `min_score` to try.
        """
        args = {**as_query(query).to_dict(), "cases": list(cases), "baseline": baseline}
        wanted = {"curve": curve, "grid": dict(grid or {})}
        return await self._run(ops.EVAL, {**args, **wanted})

    async def evaluation(self, corpus: str) -> Evaluation:
        """Return the last evaluation that was made of a corpus; raise NotFound without one."""
        return await self._run(ops.EVALUATION, {"corpus": corpus})

    async def calibrate(self, corpus: str, cases: Sequence[Mapping[str, Any]]) -> list[int]:
        """Have the floors of a corpus found anew by labelled cases; return the number of the job.

        They hold until the corpus has changed so much that it is calibrated anew.
        """
        return await self._run(ops.CALIBRATE, {"corpus": corpus, "cases": list(cases)})

    async def disclose(
        self, references: Sequence[str], level: str = "body", expand: str = "none"
    ) -> list[Disclosure]:
        """Return the payload of artifacts named CORPUS/ID, expanded as on a Query."""
        args = {"references": list(references), "level": level, "expand": expand}
        return await self._run(ops.DISCLOSE, args)

    async def records(self, reference: str) -> list[StoredRecord]:
        """Return the records of one artifact in plan order."""
        return await self._run(ops.RECORDS, {"reference": reference})

    async def artifacts(
        self, corpus: str | None = None, under: str = "", after: str = "", limit: int = 100
    ) -> list[IndexedArtifact]:
        """Return what is held, in the order of references (CORPUS/ID), beyond the one `after`.

        With `under`, only what lies at that path or below it. At most `limit`, 1 to 1,000.
        """
        args = {"corpus": corpus, "under": under, "after": after, "limit": limit}
        return await self._run(ops.ARTIFACTS, args)

    async def status(self, profile: bool = False) -> Status:
        """Return how the daemon and every corpus are.

        With `profile`, also how long each stage of queries and jobs takes.
        """
        return await self._run(ops.STATUS, {"profile": profile})

    async def failures(self, corpus: str | None = None) -> list[EntryFailure]:
        """Return what could not be read, why, and since when."""
        return await self._run(ops.FAILURES, {"corpus": corpus})

    async def secrets(self, corpus: str | None = None) -> list[SecretLocation]:
        """Return where secrets lie in what was indexed."""
        return await self._run(ops.SECRETS, {"corpus": corpus})

    async def audit(self, corpus: str | None = None) -> list[ChangedArtifact]:
        """Return the artifacts whose text changed since it was last disclosed, with a diff."""
        return await self._run(ops.AUDIT, {"corpus": corpus})

    async def coverage(self, corpus: str | None = None) -> list[CorpusCoverage]:
        """Return how much of what lies below the roots of a corpus, or of all, is indexed.

        The daemon walks their directories, which may take longer than the usual timeout.
        """
        return await self._run(ops.COVERAGE, {"corpus": corpus})

    async def info(self, corpus: str) -> CorpusInfo:
        """Return what is known of one corpus."""
        return await self._run(ops.INFO, {"corpus": corpus})

    async def build(
        self, corpus: str | None = None, full: bool = False, prune: bool = False
    ) -> list[int]:
        """Request a whole scan of a corpus, or of all; return the numbers of the jobs."""
        return await self._run(ops.BUILD, {"corpus": corpus, "full": full, "prune": prune})

    async def maintain(
        self, corpus: str | None = None, dry_run: bool = False
    ) -> list[MaintenanceTask]:
        """Request the upkeep of a corpus, or of all, that is due; return all that was considered.

        With `dry_run` nothing is requested.
        """
        return await self._run(ops.MAINTAIN, {"corpus": corpus, "dry_run": dry_run})

    async def hint(self, path: str) -> list[int]:
        """Request a scan of one path below a corpus' root; return the numbers of the jobs."""
        return await self._run(ops.HINT, {"path": path})

    async def impressions(self, session: str, references: Sequence[str] = ()) -> list[ShownItem]:
        """Note items (CORPUS/ID) as shown to a session; return all that it was shown, and when."""
        args = {"session": session, "references": list(references)}
        return await self._run(ops.IMPRESSIONS, args)

    async def usage(self, item: str = "") -> UsageReport:
        """Return what was offered and used in the last 90 days, of one item (CORPUS/ID) or all."""
        return await self._run(ops.USAGE, {"item": item})

    async def uses(self, corpus: str) -> list[KnownUse]:
        """Return the uses that are known of a corpus' items, with the prompts that led to them."""
        return await self._run(ops.USES, {"corpus": corpus})

    async def usage_forget(
        self, item: str = "", session: str = "", everything: bool = False
    ) -> int:
        """Have the log of use forget an item, a session (AGENT:ID) or everything; return how much.

        Raises QueryError unless just one is given.
        """
        args = {"item": item, "session": session, "everything": everything}
        return await self._run(ops.USAGE_FORGET, args)

    async def usage_import(
        self, uses: Sequence[Mapping[str, Any]], corpus: str | None = None
    ) -> list[int]:
        """Have uses from elsewhere learned from; return the numbers of the jobs, one a corpus.

        A use is {"prompt", "gold": [ids], "session", "at", "corpus"}; `corpus` is that of those
        without one.
        """
        return await self._run(ops.USAGE_IMPORT, {"corpus": corpus, "uses": list(uses)})

    async def usage_rollback(self, corpus: str | None = None) -> list[int]:
        """Have served what was learned before the last time; return the numbers of the jobs."""
        return await self._run(ops.USAGE_ROLLBACK, {"corpus": corpus})

    async def gaps(self, least: int = 2) -> GapReport:
        """Return what at least so many prompts needed and did not find, why, and a cure for it."""
        return await self._run(ops.GAPS, {"least": least})

    async def listing(self, context_tokens: int = 0) -> ListingReport:
        """Return which skills an agent's own listing has no room for; 0 tokens: the usual."""
        return await self._run(ops.LISTING, {"context_tokens": context_tokens})

    async def progress(self, job: int) -> JobProgress:
        """Return how far a job is."""
        return await self._run(ops.PROGRESS, {"job": job})

    async def wait(self, generation: int, wait_ms: float = 1000.0) -> WaitResult:
        """Wait until a generation is served; return the one that is, and whether it was reached."""
        return await self._run(ops.WAIT, {"generation": generation, "wait_ms": wait_ms})

    async def add(self, name: str, kind: str, roots: Sequence[str]) -> list[int]:
        """Write a corpus into the configuration and begin to index it; return the jobs."""
        return await self._run(ops.ADD, {"name": name, "kind": kind, "roots": list(roots)})

    async def preview(self, name: str, kind: str, roots: Sequence[str]) -> CorpusPreview:
        """Say what a corpus would hold if it were added; nothing is changed."""
        args = {"name": name, "kind": kind, "roots": list(roots)}
        return await self._run(ops.PREVIEW, args)

    async def rm(self, name: str) -> list[int]:
        """Take a corpus out of the configuration and forget it; return the jobs."""
        return await self._run(ops.RM, {"name": name})

    async def reload(self) -> list[int]:
        """Make the daemon read its configuration again; return the jobs."""
        return await self._run(ops.RELOAD, {})

    async def discover_in(
        self,
        docs: Sequence[str | Mapping[str, Any]] | str,
        query: str,
        top_k: int = 4,
        contract: str = "bm25",
    ) -> list[FoundDocument]:
        """Return the best of some documents: texts, {text, meta} maps, or a handle of such.

        `contract` is `bm25`, exact and by words only, or `full`, as corpora are searched.
        """
        given = docs if isinstance(docs, str) else list(docs)
        args = {"docs": given, "query": query, "top_k": top_k, "contract": contract}
        return await self._run(ops.DISCOVER_IN, args)

    async def register_docs(self, docs: Sequence[str | Mapping[str, Any]]) -> str:
        """Have documents kept for as long as this connection lives; return their handle."""
        return await self._run(ops.REGISTER_DOCS, {"docs": list(docs)})

    async def drop_docs(self, handle: str) -> int:
        """Have registered documents forgotten; return how many there were."""
        return await self._run(ops.DROP_DOCS, {"handle": handle})

    async def doc_add(
        self,
        title: str,
        content: str,
        directory: str = "",
        source: str = "",
        tags: Sequence[str] = (),
        wait_ms: float = 5000.0,
    ) -> WrittenDocument:
        """Write a document into the managed directory, or into a `directory` below it.

        `source` says where the content comes from. Waits until the document can be found.
        """
        args = {"title": title, "content": content, "directory": directory, "wait_ms": wait_ms}
        args |= {"source": source, "tags": list(tags)}
        return await self._run(ops.DOC_ADD, args)

    async def doc_update(
        self, path: str, content: str, if_digest: str = "", wait_ms: float = 5000.0
    ) -> WrittenDocument:
        """Write a managed document anew, as a whole, and wait until that can be found.

        With `if_digest`, the SHA-256 of what it is thought to hold, raises Conflict where it holds
        something else.
        """
        args = {"path": path, "content": content, "if_digest": if_digest, "wait_ms": wait_ms}
        return await self._run(ops.DOC_UPDATE, args)

    async def doc_remove(
        self, path: str, delete_file: bool = False, wait_ms: float = 5000.0
    ) -> WrittenDocument:
        """Take a managed document out of the index; with `delete_file` into the trash as well."""
        args = {"path": path, "delete_file": delete_file, "wait_ms": wait_ms}
        return await self._run(ops.DOC_REMOVE, args)

    async def doc_index(
        self, directory: str, recursive: bool = True, pattern: str = "", dry_run: bool = False
    ) -> IndexedDirectory:
        """Have a new directory's documents indexed; with `dry_run` only say what that would be.

        `recursive`: those below its directories too; `pattern`: a glob of which. Only below what
        the configuration lists as roots under [documents].
        """
        args = {"directory": directory, "recursive": recursive, "pattern": pattern}
        return await self._run(ops.DOC_INDEX, {**args, "dry_run": dry_run})

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
        return await self._ask(ops.Op(op, {}, "", repeatable=False), args, waiting)

    async def _run(self, op: Op[T], args: Mapping[str, Any]) -> T:
        return op.result(await self._ask(op, args, op.extra_s(args)))

    async def _ask(self, op: Op[Any], args: Mapping[str, Any], extra_s: float) -> Any:
        if not self._access.exists:
            raise no_daemon(self.endpoint)
        allowed = self.timeout + extra_s
        deadline = asyncio.get_running_loop().time() + allowed
        number = next(self._numbers)
        request = wire.Request(number, op.name, args, 1000 * allowed, self._access.token)
        data = wire.pack_request(request)
        try:
            return await self._exchange(number, data, deadline)
        except Lost:
            if not op.repeatable:
                raise
            return await self._exchange(number, data, deadline)

    async def _exchange(self, number: int, data: bytes, deadline: float) -> Any:
        link = self._connected()
        call = link.send(number, data)
        try:
            now = asyncio.get_running_loop().time()
            await asyncio.wait((call.reply,), timeout=min(CONNECT_S, deadline - now))
            if not call.is_sent:
                raise no_connection(self.endpoint)
            now = asyncio.get_running_loop().time()
            await asyncio.wait((call.reply,), timeout=deadline - now)
            if not call.reply.done():
                raise too_late(self.timeout)
            return call.reply.result().value()
        finally:
            link.forget(number)

    def _connected(self) -> AsyncLink:
        if self._link is None or self._link.ended:
            self._link = AsyncLink(self._context, self._access)
        return self._link
