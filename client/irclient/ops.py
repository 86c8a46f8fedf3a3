"""The operations of the protocol, one row each: arguments, result, and how they may be sent.

`Client` and `AsyncClient` have a method for each row; irdaemon.serve.ops adds by name what runs it,
who may ask for it and what it costs. A test holds the rows, both, `irc` and docs/protocol.md
together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from irclient import results
from irclient.errors import ProtocolError
from irclient.types import Disclosure, Selection

T = TypeVar("T")
Kind = type | tuple[type, ...]


@dataclass(frozen=True, slots=True)
class Op(Generic[T]):
    """One operation: its name, the types of its arguments, and what makes a result of its reply.

    A `repeatable` one may be sent again where the reply was lost. With `waiting` the daemon may
    take longer than usual, by the argument `wait_ms`; where `fresh` is an argument, only with that.
    """

    name: str
    args: Mapping[str, Kind]
    read: Callable[[Any], T]
    repeatable: bool = True
    waiting: bool = False

    def extra_s(self, args: Mapping[str, Any]) -> float:
        """Return how many seconds longer than usual a reply may take."""
        waits = self.waiting and args.get("fresh", True)
        return args["wait_ms"] / 1e3 if waits else 0.0

    def result(self, reply: Any) -> T:
        """Return what a reply holds. Raises ProtocolError for one of another form."""
        try:
            return self.read(reply)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ProtocolError(f"the reply to {self.name} has another form: {error}") from error


def _numbers(reply: Any) -> list[int]:
    return [int(number) for number in _checked(reply, list)]


def _one(read: Callable[[Mapping[str, Any]], T]) -> Callable[[Any], T]:
    return lambda reply: read(_checked(reply, dict))


def _many(read: Callable[[Mapping[str, Any]], T]) -> Callable[[Any], list[T]]:
    return lambda reply: [read(each) for each in _checked(reply, list)]


def _checked(reply: Any, kind: type) -> Any:
    if not isinstance(reply, kind):
        raise TypeError(f"it is not a {'map' if kind is dict else 'list'}")
    return reply


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
}
_CORPUS: Mapping[str, Kind] = {"corpus": _OPTIONAL_TEXT}

PING = Op("ping", {}, _one(results.PingReply.from_dict))
DISCOVER = Op("discover", {**QUERY, "session": str}, _one(Selection.from_dict), waiting=True)
SEARCH = Op("search", QUERY, _one(Selection.from_dict), waiting=True)
EXPLAIN = Op("explain", {**QUERY, "item": str}, _one(results.Explanation.from_dict))
EVAL = Op("eval", {**QUERY, "cases": list, "baseline": bool}, _one(results.Evaluation.from_dict))
DISCLOSE = Op(
    "disclose", {"references": list, "level": str, "expand": str}, _many(Disclosure.from_dict)
)
RECORDS = Op("records", {"reference": str}, _many(results.StoredRecord.from_dict))
ARTIFACTS = Op(
    "artifacts",
    {**_CORPUS, "under": str, "after": str, "limit": int},
    _many(results.IndexedArtifact.from_dict),
)
STATUS = Op("status", {"profile": bool}, _one(results.Status.from_dict))
FAILURES = Op("failures", _CORPUS, _many(results.EntryFailure.from_dict))
SECRETS = Op("secrets", _CORPUS, _many(results.SecretLocation.from_dict))
AUDIT = Op("audit", _CORPUS, _many(results.ChangedArtifact.from_dict))
INFO = Op("info", {"corpus": str}, _one(results.CorpusInfo.from_dict))
BUILD = Op("build", {**_CORPUS, "full": bool, "prune": bool}, _numbers, repeatable=False)
HINT = Op("hint", {"path": str}, _numbers, repeatable=False)
OFFERED = Op("offered", {"session": str, "references": list}, _many(results.ShownItem.from_dict))
# Another daemon's job of that number is another job.
PROGRESS = Op("progress", {"job": int}, _one(results.JobProgress.from_dict), repeatable=False)
ADD = Op("add", {"name": str, "kind": str, "roots": list}, _numbers, repeatable=False)
RM = Op("rm", {"name": str}, _numbers, repeatable=False)
RELOAD = Op("reload", {}, _numbers, repeatable=False)
WAIT = Op(
    "wait",
    {"generation": int, "wait_ms": _NUMBER},
    _one(results.WaitResult.from_dict),
    waiting=True,
)

OPS: Mapping[str, Op[Any]] = {
    op.name: op
    for op in (
        *(PING, DISCOVER, SEARCH, EXPLAIN, EVAL, DISCLOSE, RECORDS, ARTIFACTS, STATUS, FAILURES),
        *(SECRETS, AUDIT, INFO, BUILD, HINT, OFFERED, PROGRESS, ADD, RM, RELOAD, WAIT),
    )
}
