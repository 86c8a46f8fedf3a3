"""One method for each operation, for every client that waits for its reply."""

from __future__ import annotations

from irclient import ops
from irclient.places import may_be_noted

TYPE_CHECKING = False  # typing itself takes 8 ms to import
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, TypeVar

    from irclient.ops import Op
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
    from irclient.types import Disclosure, Query, Selection

    T = TypeVar("T")


class Operations:
    """The operations of the daemon, as methods that `_run` them."""

    def _run(self, op: Op[T], args: Mapping[str, Any]) -> T:
        """Ask the daemon, and return what it replies."""
        raise NotImplementedError

    def ping(self) -> PingReply:
        """Return the daemon's version, protocol and pid."""
        return self._run(ops.PING, {})

    def discover(
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
        args = {**_asked(query), "session": session, "variant": variant}
        return self._run(ops.DISCOVER, {**args, "noted": noted and may_be_noted()})

    def search(self, query: Query | str | Mapping[str, Any], noted: bool = True) -> Selection:
        """Return the ranked candidates of a query, without selection; `noted` as of discover."""
        args = {**_asked(query), "noted": noted and may_be_noted()}
        return self._run(ops.SEARCH, args)

    def explain(self, query: Query | str | Mapping[str, Any], item: str = "") -> Explanation:
        """Return what each stage of a query did, and what became of one artifact (CORPUS/ID)."""
        return self._run(ops.EXPLAIN, {**_asked(query), "item": item})

    def eval(
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
        args = {**_asked(query), "cases": list(cases), "baseline": baseline}
        wanted = {"curve": curve, "grid": dict(grid or {})}
        return self._run(ops.EVAL, {**args, **wanted})

    def evaluation(self, corpus: str) -> Evaluation:
        """Return the last evaluation that was made of a corpus; raise NotFound without one."""
        return self._run(ops.EVALUATION, {"corpus": corpus})

    def calibrate(self, corpus: str, cases: Sequence[Mapping[str, Any]]) -> list[int]:
        """Have the floors of a corpus found anew by labelled cases; return the number of the job.

        They hold until the corpus has changed so much that it is calibrated anew.
        """
        return self._run(ops.CALIBRATE, {"corpus": corpus, "cases": list(cases)})

    def disclose(
        self, references: Sequence[str], level: str = "body", expand: str = "none"
    ) -> list[Disclosure]:
        """Return the payload of artifacts named CORPUS/ID, expanded as on a Query."""
        args = {"references": list(references), "level": level, "expand": expand}
        return self._run(ops.DISCLOSE, args)

    def records(self, reference: str) -> list[StoredRecord]:
        """Return the records of one artifact in plan order."""
        return self._run(ops.RECORDS, {"reference": reference})

    def artifacts(
        self, corpus: str | None = None, under: str = "", after: str = "", limit: int = 100
    ) -> list[IndexedArtifact]:
        """Return what is held, in the order of references (CORPUS/ID), beyond the one `after`.

        With `under`, only what lies at that path or below it. At most `limit`, 1 to 1,000.
        """
        args = {"corpus": corpus, "under": under, "after": after, "limit": limit}
        return self._run(ops.ARTIFACTS, args)

    def status(self, profile: bool = False) -> Status:
        """Return how the daemon and every corpus are.

        With `profile`, also how long each stage of queries and jobs takes.
        """
        return self._run(ops.STATUS, {"profile": profile})

    def failures(self, corpus: str | None = None) -> list[EntryFailure]:
        """Return what could not be read, why, and since when."""
        return self._run(ops.FAILURES, {"corpus": corpus})

    def secrets(self, corpus: str | None = None) -> list[SecretLocation]:
        """Return where secrets lie in what was indexed."""
        return self._run(ops.SECRETS, {"corpus": corpus})

    def audit(self, corpus: str | None = None) -> list[ChangedArtifact]:
        """Return the artifacts whose text changed since it was last disclosed, with a diff."""
        return self._run(ops.AUDIT, {"corpus": corpus})

    def coverage(self, corpus: str | None = None) -> list[CorpusCoverage]:
        """Return how much of what lies below the roots of a corpus, or of all, is indexed.

        The daemon walks their directories, which may take longer than the usual timeout.
        """
        return self._run(ops.COVERAGE, {"corpus": corpus})

    def info(self, corpus: str) -> CorpusInfo:
        """Return what is known of one corpus."""
        return self._run(ops.INFO, {"corpus": corpus})

    def build(
        self, corpus: str | None = None, full: bool = False, prune: bool = False
    ) -> list[int]:
        """Request a whole scan of a corpus, or of all; return the numbers of the jobs."""
        return self._run(ops.BUILD, {"corpus": corpus, "full": full, "prune": prune})

    def maintain(self, corpus: str | None = None, dry_run: bool = False) -> list[MaintenanceTask]:
        """Request the upkeep of a corpus, or of all, that is due; return all that was considered.

        With `dry_run` nothing is requested.
        """
        return self._run(ops.MAINTAIN, {"corpus": corpus, "dry_run": dry_run})

    def hint(self, path: str) -> list[int]:
        """Request a scan of one path below a corpus' root; return the numbers of the jobs."""
        return self._run(ops.HINT, {"path": path})

    def impressions(self, session: str, references: Sequence[str] = ()) -> list[ShownItem]:
        """Note items (CORPUS/ID) as shown to a session; return all that it was shown, and when."""
        args = {"session": session, "references": list(references)}
        return self._run(ops.IMPRESSIONS, args)

    def usage(self, item: str = "") -> UsageReport:
        """Return what was offered and used in the last 90 days, of one item (CORPUS/ID) or all."""
        return self._run(ops.USAGE, {"item": item})

    def uses(self, corpus: str) -> list[KnownUse]:
        """Return the uses that are known of a corpus' items, with the prompts that led to them."""
        return self._run(ops.USES, {"corpus": corpus})

    def usage_forget(self, item: str = "", session: str = "", everything: bool = False) -> int:
        """Have the log of use forget an item, a session (AGENT:ID) or everything; return how much.

        Raises QueryError unless just one is given.
        """
        args = {"item": item, "session": session, "everything": everything}
        return self._run(ops.USAGE_FORGET, args)

    def usage_import(
        self, uses: Sequence[Mapping[str, Any]], corpus: str | None = None
    ) -> list[int]:
        """Have uses from elsewhere learned from; return the numbers of the jobs, one a corpus.

        A use is {"prompt", "gold": [ids], "session", "at", "corpus"}; `corpus` is that of those
        without one.
        """
        return self._run(ops.USAGE_IMPORT, {"corpus": corpus, "uses": list(uses)})

    def usage_rollback(self, corpus: str | None = None) -> list[int]:
        """Have served what was learned before the last time; return the numbers of the jobs."""
        return self._run(ops.USAGE_ROLLBACK, {"corpus": corpus})

    def gaps(self, least: int = 2) -> GapReport:
        """Return what at least so many prompts needed and did not find, why, and a cure for it."""
        return self._run(ops.GAPS, {"least": least})

    def listing(self, context_tokens: int = 0) -> ListingReport:
        """Return which skills an agent's own listing has no room for; 0 tokens: the usual."""
        return self._run(ops.LISTING, {"context_tokens": context_tokens})

    def progress(self, job: int) -> JobProgress:
        """Return how far a job is."""
        return self._run(ops.PROGRESS, {"job": job})

    def wait(self, generation: int, wait_ms: float = 1000.0) -> WaitResult:
        """Wait until a generation is served; return the one that is, and whether it was reached."""
        return self._run(ops.WAIT, {"generation": generation, "wait_ms": wait_ms})

    def add(self, name: str, kind: str, roots: Sequence[str]) -> list[int]:
        """Write a corpus into the configuration and begin to index it; return the jobs."""
        return self._run(ops.ADD, {"name": name, "kind": kind, "roots": list(roots)})

    def preview(self, name: str, kind: str, roots: Sequence[str]) -> CorpusPreview:
        """Say what a corpus would hold if it were added; nothing is changed."""
        args = {"name": name, "kind": kind, "roots": list(roots)}
        return self._run(ops.PREVIEW, args)

    def rm(self, name: str) -> list[int]:
        """Take a corpus out of the configuration and forget it; return the jobs."""
        return self._run(ops.RM, {"name": name})

    def reload(self) -> list[int]:
        """Make the daemon read its configuration again; return the jobs."""
        return self._run(ops.RELOAD, {})

    def discover_in(
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
        return self._run(ops.DISCOVER_IN, args)

    def register_docs(self, docs: Sequence[str | Mapping[str, Any]]) -> str:
        """Have documents kept for as long as this connection lives; return their handle."""
        return self._run(ops.REGISTER_DOCS, {"docs": list(docs)})

    def drop_docs(self, handle: str) -> int:
        """Have registered documents forgotten; return how many there were."""
        return self._run(ops.DROP_DOCS, {"handle": handle})

    def doc_add(
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
        return self._run(ops.DOC_ADD, args)

    def doc_update(
        self, path: str, content: str, if_digest: str = "", wait_ms: float = 5000.0
    ) -> WrittenDocument:
        """Write a managed document anew, as a whole, and wait until that can be found.

        With `if_digest`, the SHA-256 of what it is thought to hold, raises Conflict where it holds
        something else.
        """
        args = {"path": path, "content": content, "if_digest": if_digest, "wait_ms": wait_ms}
        return self._run(ops.DOC_UPDATE, args)

    def doc_remove(
        self, path: str, delete_file: bool = False, wait_ms: float = 5000.0
    ) -> WrittenDocument:
        """Take a managed document out of the index; with `delete_file` into the trash as well."""
        args = {"path": path, "delete_file": delete_file, "wait_ms": wait_ms}
        return self._run(ops.DOC_REMOVE, args)

    def doc_index(
        self, directory: str, recursive: bool = True, pattern: str = "", dry_run: bool = False
    ) -> IndexedDirectory:
        """Have a new directory's documents indexed; with `dry_run` only say what that would be.

        `recursive`: those below its directories too; `pattern`: a glob of which. Only below what
        the configuration lists as roots under [documents].
        """
        args = {"directory": directory, "recursive": recursive, "pattern": pattern}
        return self._run(ops.DOC_INDEX, {**args, "dry_run": dry_run})


def _asked(query: Query | str | Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a query as the arguments that ask it; plain data needs no type of ours."""
    if isinstance(query, dict):
        return {"fresh": False, "wait_ms": 1000.0, **query}
    from irclient.types import as_query

    return as_query(query).to_dict()
