"""The operations of the protocol, one row each: arguments, result, and how they may be sent.

`Client` and `AsyncClient` have a method for each row; irdaemon.serve.ops adds by name what runs it,
who may ask for it and what it costs. A test holds the rows, both, `irc` and docs/protocol.md
together.
"""

from __future__ import annotations

from irclient.errors import ProtocolError

# Neither typing nor dataclasses, which take longer to import than a request takes: most commands
# live for one operation.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Generic, TypeVar

    from irclient import results
    from irclient.types import Disclosure, Selection

    T = TypeVar("T")
    Kind = type | tuple[type, ...]
else:
    T = None

    class Generic:
        """Stand in the place of the one that only a type checker needs."""

        def __class_getitem__(cls, item):
            return cls


class Op(Generic[T]):
    """One operation: its name, the types of its arguments, and the type of its result by name.

    The result is one of that type, or with `many` a list of them. A `repeatable` operation may be
    sent again where the reply was lost. With `waiting` the daemon may take longer than usual, by
    the argument `wait_ms`; where `fresh` is an argument, only with that.
    """

    __slots__ = ("args", "many", "name", "repeatable", "type", "waiting")

    def __init__(
        self,
        name: str,
        args: Mapping[str, Kind],
        type: str,
        many: bool = False,
        repeatable: bool = True,
        waiting: bool = False,
    ):
        self.name = name
        self.args = args
        self.type = type
        self.many = many
        self.repeatable = repeatable
        self.waiting = waiting

    def extra_s(self, args: Mapping[str, Any]) -> float:
        """Return how many seconds longer than usual a reply may take."""
        waits = self.waiting and args.get("fresh", True)
        return args["wait_ms"] / 1e3 if waits else 0.0

    def result(self, reply: Any) -> T:
        """Return what a reply holds. Raises ProtocolError for one of another form."""
        try:
            read = _reader(self.type)
            if not self.many:
                return read(reply)  # type: ignore[no-any-return]
            if not isinstance(reply, list):
                raise TypeError("it is not a list")
            return [read(each) for each in reply]  # type: ignore[return-value]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ProtocolError(f"the reply to {self.name} has another form: {error}") from error


_SCALARS: Mapping[str, Callable[[Any], Any]] = {"int": int, "str": str}


def _reader(name: str) -> Callable[[Any], Any]:
    if name in _SCALARS:
        return _SCALARS[name]
    if name in ("Selection", "Disclosure"):
        from irclient import types as home
    else:
        # 7 ms, which a process that lives for one query need not wait
        from irclient import results as home  # type: ignore[no-redef]
    read: Callable[[Any], Any] = getattr(home, name).from_dict
    return read


_NUMBER = (int, float)
_OPTIONAL_TEXT = (str, type(None))
# The fields of a Query, which the arguments of an operation on one hold as they are.
QUERY: Mapping[str, Kind] = {
    "text": str,
    "corpora": list,
    "k": int,
    "mode": str,
    "where": dict,
    "surfaces": list,
    "select": dict,
    "level": str,
    "fusion": str,
    "weights": dict,
    "expand": str,
    "rerank": bool,
    "fresh": bool,
    "wait_ms": _NUMBER,
    "budget_ms": _NUMBER,
    "rounds": (int, type(None)),
    "passages": int,
    "related": bool,
}
_CORPUS: Mapping[str, Kind] = {"corpus": _OPTIONAL_TEXT}

PING: Op[results.PingReply] = Op("ping", {}, "PingReply")
# Whether the daemon may note the answer, and in which wording it is shown.
_NOTED: Mapping[str, Kind] = {"noted": bool, "variant": str}
DISCOVER: Op[Selection] = Op(
    "discover", {**QUERY, "session": str, **_NOTED}, "Selection", waiting=True
)
SEARCH: Op[Selection] = Op("search", {**QUERY, "noted": bool}, "Selection", waiting=True)
EXPLAIN: Op[results.Explanation] = Op("explain", {**QUERY, "item": str}, "Explanation")
EVAL: Op[results.Evaluation] = Op(
    "eval",
    {**QUERY, "cases": list, "baseline": bool, "curve": bool, "grid": dict},
    "Evaluation",
)
EVALUATION: Op[results.Evaluation] = Op("evaluation", {"corpus": str}, "Evaluation")
CALIBRATE: Op[list[int]] = Op(
    "calibrate", {"corpus": str, "cases": list}, "int", many=True, repeatable=False
)
DISCLOSE: Op[list[Disclosure]] = Op(
    "disclose", {"references": list, "level": str, "expand": str}, "Disclosure", many=True
)
RECORDS: Op[list[results.StoredRecord]] = Op(
    "records", {"reference": str}, "StoredRecord", many=True
)
ARTIFACTS: Op[list[results.IndexedArtifact]] = Op(
    "artifacts",
    {**_CORPUS, "under": str, "after": str, "limit": int},
    "IndexedArtifact",
    many=True,
)
STATUS: Op[results.Status] = Op("status", {"profile": bool}, "Status")
FAILURES: Op[list[results.EntryFailure]] = Op("failures", _CORPUS, "EntryFailure", many=True)
SECRETS: Op[list[results.SecretLocation]] = Op("secrets", _CORPUS, "SecretLocation", many=True)
AUDIT: Op[list[results.ChangedArtifact]] = Op("audit", _CORPUS, "ChangedArtifact", many=True)
COVERAGE: Op[list[results.CorpusCoverage]] = Op("coverage", _CORPUS, "CorpusCoverage", many=True)
INFO: Op[results.CorpusInfo] = Op("info", {"corpus": str}, "CorpusInfo")
BUILD: Op[list[int]] = Op(
    "build", {**_CORPUS, "full": bool, "prune": bool}, "int", many=True, repeatable=False
)
MAINTAIN: Op[list[results.MaintenanceTask]] = Op(
    "maintain", {**_CORPUS, "dry_run": bool}, "MaintenanceTask", many=True, repeatable=False
)
HINT: Op[list[int]] = Op("hint", {"path": str}, "int", many=True, repeatable=False)
IMPRESSIONS: Op[list[results.ShownItem]] = Op(
    "impressions", {"session": str, "references": list}, "ShownItem", many=True
)
USAGE: Op[results.UsageReport] = Op("usage", {"item": str}, "UsageReport")
USAGE_FORGET: Op[int] = Op(
    "usage_forget", {"item": str, "session": str, "everything": bool}, "int", repeatable=False
)
USES: Op[list[results.KnownUse]] = Op("uses", {"corpus": str}, "KnownUse", many=True)
USAGE_IMPORT: Op[list[int]] = Op(
    "usage_import", {**_CORPUS, "uses": list}, "int", many=True, repeatable=False
)
USAGE_ROLLBACK: Op[list[int]] = Op("usage_rollback", _CORPUS, "int", many=True, repeatable=False)
GAPS: Op[results.GapReport] = Op("gaps", {"least": int}, "GapReport")
LISTING: Op[results.ListingReport] = Op("listing", {"context_tokens": int}, "ListingReport")
# Another daemon's job of that number is another job.
PROGRESS: Op[results.JobProgress] = Op("progress", {"job": int}, "JobProgress", repeatable=False)
ADD: Op[list[int]] = Op(
    "add", {"name": str, "kind": str, "roots": list}, "int", many=True, repeatable=False
)
PREVIEW: Op[results.CorpusPreview] = Op(
    "preview", {"name": str, "kind": str, "roots": list}, "CorpusPreview"
)
RM: Op[list[int]] = Op("rm", {"name": str}, "int", many=True, repeatable=False)
RELOAD: Op[list[int]] = Op("reload", {}, "int", many=True, repeatable=False)
WAIT: Op[results.WaitResult] = Op(
    "wait", {"generation": int, "wait_ms": _NUMBER}, "WaitResult", waiting=True
)
DISCOVER_IN: Op[list[results.FoundDocument]] = Op(
    "discover_in",
    {"docs": (list, str), "query": str, "top_k": int, "contract": str},
    "FoundDocument",
    many=True,
)
# What a lost connection had registered is gone with it.
REGISTER_DOCS: Op[str] = Op("register_docs", {"docs": list}, "str")
DROP_DOCS: Op[int] = Op("drop_docs", {"handle": str}, "int", repeatable=False)
DOC_ADD: Op[results.WrittenDocument] = Op(
    "doc_add",
    {
        "title": str,
        "content": str,
        "directory": str,
        "source": str,
        "tags": list,
        "wait_ms": _NUMBER,
    },
    "WrittenDocument",
    repeatable=False,
    waiting=True,
)
DOC_UPDATE: Op[results.WrittenDocument] = Op(
    "doc_update",
    {"path": str, "content": str, "if_digest": str, "wait_ms": _NUMBER},
    "WrittenDocument",
    repeatable=False,
    waiting=True,
)
DOC_REMOVE: Op[results.WrittenDocument] = Op(
    "doc_remove",
    {"path": str, "delete_file": bool, "wait_ms": _NUMBER},
    "WrittenDocument",
    repeatable=False,
    waiting=True,
)
DOC_INDEX: Op[results.IndexedDirectory] = Op(
    "doc_index",
    {"directory": str, "recursive": bool, "pattern": str, "dry_run": bool},
    "IndexedDirectory",
    repeatable=False,
)

OPS: Mapping[str, Op[Any]] = {
    op.name: op
    for op in (
        *(PING, DISCOVER, SEARCH, EXPLAIN, EVAL, EVALUATION, CALIBRATE, DISCLOSE, RECORDS),
        *(ARTIFACTS, STATUS, FAILURES, SECRETS, AUDIT, COVERAGE, INFO, BUILD, MAINTAIN, HINT),
        *(IMPRESSIONS, USAGE, USES, USAGE_FORGET, USAGE_IMPORT, USAGE_ROLLBACK, GAPS, LISTING),
        *(PROGRESS, ADD, PREVIEW, RM, RELOAD, WAIT),
        *(DISCOVER_IN, REGISTER_DOCS, DROP_DOCS, DOC_ADD, DOC_UPDATE, DOC_REMOVE, DOC_INDEX),
    )
}
